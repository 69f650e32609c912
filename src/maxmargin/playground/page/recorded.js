// A lesson without Python: the states were recorded, and this host plays them.
import { mount } from "./app.js";
import { unpack } from "./wire.js";

/** @param {HTMLElement} root @param {any} recording replies as text: ready, fitted, watched and steps, and those of a rival */
export function playRecording(root, recording) {
  const decode = text => unpack(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
  const answer = message => {
    if (message.do === "hello") return decode(recording.ready);
    if (message.do === "fit") return decode(recording.fitted);
    const solver = message.slot ? recording.rival : recording;
    if (message.do === "watch" && solver) return decode(solver.watched);
    if (message.do === "step") return { ...decode(solver.steps[message.k]), k: message.k };
    return { do: "error", sentence: "", key: "recording", arrays: [], data: {} };
  };
  const host = {
    hear: _ => {},
    send: message => setTimeout(() => host.hear({ ...answer(message), id: message.id }), 0),
  };
  const app = mount(root, host);
  app.page.state.locked = true;
  root.classList.add("mm-recorded");
  app.begin(navigator.language);
  return app;
}
