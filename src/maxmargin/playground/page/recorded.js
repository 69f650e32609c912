// A lesson without Python: the states were recorded, and this host plays them.
import { mount } from "./app.js";
import { unpack } from "./wire.js";

/** @param {HTMLElement} root @param {{ready: string, fitted: string, watched: string, steps: string[]}} recording */
export function playRecording(root, recording) {
  const decode = text => unpack(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
  const answer = message => {
    if (message.do === "hello") return decode(recording.ready);
    if (message.do === "fit") return decode(recording.fitted);
    if (message.do === "watch" && recording.watched && !message.slot) return decode(recording.watched);
    if (message.do === "step") return { ...decode(recording.steps[message.k]), k: message.k };
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
