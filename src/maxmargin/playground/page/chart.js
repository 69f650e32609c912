// Primal, dual and gap over the steps, on a scale that is logarithmic away from zero.
import { el, figure, say } from "./words.js";

const NS = "http://www.w3.org/2000/svg";
const W = 420, H = 170, LEFT = 46, BOTTOM = 22;

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, `${value}`);
  node.append(...children);
  return node;
}

/** @param {any} watched a reply with at, primal, dual, gap (or loss) */
export function chart(watched, jump) {
  const d = watched.data;
  const names = ["primal", "dual", "gap", "loss"].filter(name => d[name] && [...d[name]].some(Number.isFinite));
  const values = names.flatMap(name => [...d[name]]).filter(Number.isFinite);
  const last = name => { const list = d[name] ? [...d[name]].filter(Number.isFinite) : []; return list[list.length - 1] ?? 0; };
  const unit = Math.max(1e-6, 1e-4 * Math.max(Math.abs(last("dual")), Math.abs(last("primal")), 1e-3));
  const bend = v => Math.asinh(v / unit);
  const low = Math.min(0, ...values.map(bend)), high = Math.max(...values.map(bend), low + 1e-9);
  const steps = watched.steps;
  const x = k => LEFT + (steps > 1 ? k / (steps - 1) : 0.5) * (W - LEFT - 8);
  const y = v => 8 + (high - bend(v)) / (high - low) * (H - BOTTOM - 8);
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "mm-chart", role: "img", "aria-label": say("chart") });
  for (const v of ticks(values)) {
    picture.append(
      svg("line", { x1: LEFT, x2: W - 8, y1: y(v), y2: y(v), class: "tick" }),
      Object.assign(svg("text", { x: LEFT - 5, y: y(v) + 3.5, class: "number" }), { textContent: figure(v, 2) }));
  }
  for (const name of names) {
    let path = "", down = false;
    d[name].forEach((v, k) => {
      if (!Number.isFinite(v)) { down = false; return; }
      path += `${down ? "L" : "M"}${x(d.at[k]).toFixed(1)} ${y(v).toFixed(1)}`;
      down = true;
    });
    picture.append(svg("path", { d: path, class: `curve ${name}` }));
  }
  picture.append(Object.assign(svg("text", { x: W - 8, y: H - 5, class: "steps" }), { textContent: say("steps_axis", { n: steps - 1 }) }));
  picture.addEventListener("click", event => {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width * W - LEFT) / (W - LEFT - 8);
    jump(Math.round(Math.min(1, Math.max(0, at)) * (steps - 1)));
  });
  const legend = el("div", { class: "mm-legend" }, names.map(name => el("span", { class: name, text: name })));
  const cursor = el("div", { class: "cursor" }); // a separate layer: the curves are not redrawn when it moves
  const show = k => { cursor.style.transform = `translateX(${100 * x(k) / W}%)`; };
  show(0);
  return { node: el("div", {}, el("div", { class: "mm-curves" }, picture, cursor), legend), show };
}

function ticks(values) {
  const large = Math.max(...values.map(Math.abs), 1e-9), power = Math.floor(Math.log10(large));
  const found = [0, 10 ** power, 10 ** (power - 1), 10 ** (power - 2)];
  return Math.min(...values) < 0 ? [...found, -(10 ** power)] : found;
}
