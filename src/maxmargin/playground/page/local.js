// The page in a browser tab: a socket to the server that sent it.
import { mount } from "./app.js";
import { unpack } from "./wire.js";

const TRIES = 5, PAUSE = 2000; // milliseconds: a computer that wakes up finds its server again

function openPage() {
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  const token = sessionStorage.getItem("token") ?? "";
  const host = { send: message => socket.send(JSON.stringify(message)), hear: _ => {}, away: true };
  const app = mount(root, host);
  /** @type {WebSocket} */
  let socket;
  let lost = 0, begun = false;
  const connect = () => {
    socket = new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(token)}`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = event => host.hear(unpack(event.data));
    socket.onopen = () => {
      host.away = false;
      lost = 0;
      if (begun) app.reopened();
      else app.begin(navigator.language);
      begun = true;
    };
    socket.onclose = () => {
      host.away = true;
      app.closed();
      if (begun && lost++ < TRIES) setTimeout(connect, PAUSE);
    };
  };
  connect();
  return app.page; // for the console
}

window["mmPage"] = openPage();
