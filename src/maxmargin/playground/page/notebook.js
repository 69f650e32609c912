// The page in a notebook: messages go through the widget's model.
import { mount } from "./app.js";
import { unpack } from "./wire.js";

export function renderWidget({ model, el: place }) {
  const root = document.createElement("div");
  root.className = "mm-page mm-notebook";
  root.dataset.lmSuppressShortcuts = "true"; // keys of JupyterLab: arrows belong to the plane here
  root.addEventListener("keydown", event => event.stopPropagation());
  place.append(root);
  const host = { send: message => model.send(message), hear: _ => {} };
  const app = mount(root, host);
  const heard = (content, buffers) => {
    const view = buffers[0];
    const bytes = view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view;
    host.hear(unpack(bytes));
  };
  model.on("msg:custom", heard);
  app.begin(navigator.language);
  return () => model.off("msg:custom", heard);
}
