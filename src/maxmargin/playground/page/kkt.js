// The conditions of every row: the text twin of the picture.
import { KIND_NAMES } from "./plane.js";
import { el, figure, say, write } from "./words.js";

const MOST = 200, SEEN = 20; // rows of the table; rows that its window may show
const BROKEN = 1e-3;

/**
 * @param {any} place @param {any} shown @param {any} state @param {(row: number) => void} select
 * @param {boolean} moving the rest of the rows follows when nothing moves
 */
export function conditionTable(place, shown, state, select, moving = false) {
  const d = shown?.data;
  if (!d?.row) { place.replaceChildren(); return; }
  const full = Boolean(d.condition);
  const names = full ? ["alpha", "mu", "y_f", "slack"] : ["y_f"];
  const n = Math.min(MOST, d.row.length);
  const heads = ["row", ...names.map(name => (name === "y_f" ? state.yfName : name)), ...(full ? ["condition"] : [])];
  const key = `${heads} ${n}`;
  if (place.firstChild === null || place.mmKey !== key) { // else its rows are written over: half the time
    place.mmKey = key;
    place.mmRows = Array.from({ length: n }, () => {
      const head = el("th", { scope: "row" }), mark = el("span"), text = document.createTextNode("");
      const cells = names.map(() => el("td"));
      const line = el("tr", { onclick: () => select(Number(line.dataset.row)) }, head, cells, full ? el("td", { class: "condition" }, mark, text) : null);
      return { line, head, cells, mark, text };
    });
    place.mmSummary = el("p", { class: "quiet", id: "mm-broken" });
    place.mmMore = el("p", { class: "quiet" });
    place.mmFirst = 0;
    const box = el("div", { class: "mm-scroll", tabindex: "0", label: "conditions",
      onscroll: () => { place.mmFirst = Math.floor(box.scrollTop / box.scrollHeight * n) - 2; } });
    place.replaceChildren(place.mmSummary, box, place.mmMore);
    box.append(el("table", { class: "mm-kkt mm-even" }, el("thead", {}, el("tr", {}, heads.map(name => el("th", { scope: "col", text: `column_${name}` })))), el("tbody", {}, place.mmRows.map(row => row.line))));
  }
  const chosen = new Set(shown.chosen ?? []);
  const [from, to] = moving ? [place.mmFirst, place.mmFirst + SEEN] : [0, n];
  let broken = 0;
  for (let k = 0; k < d.row.length; k++) {
    const wrong = full ? d.violation[k] > BROKEN : d.y_f[k] <= 0;
    broken += wrong ? 1 : 0;
    if (k >= n || k < from || k >= to) continue;
    const i = d.row[k], row = place.mmRows[k];
    row.line.dataset.row = `${i}`;
    row.line.className = `${i === state.selected ? "selected " : ""}${chosen.has(i) ? "chosen" : ""}`;
    write(row.head, `${i + 1}`);
    names.forEach((name, j) => write(row.cells[j], figure(d[name][k])));
    if (!full) continue;
    row.mark.className = wrong ? "broken" : "kept";
    write(row.mark, wrong ? "✗" : "✓");
    row.text.data = ` ${shown.conditions[d.condition[k]]}`;
  }
  write(place.mmSummary, say(full ? "conditions_summary" : "mistakes_summary", { broken, n: d.row.length }));
  write(place.mmMore, d.row.length > n ? say("more_rows", { n: d.row.length - n }) : "");
}

/** One row in words. @returns {Node[]} */
export function rowStory(shown, state) {
  const i = state.selected, k = shown?.place?.[i] ?? -1, d = shown?.data;
  if (i < 0 || k < 0) return [el("p", { class: "quiet", text: "select_a_row" })];
  if (!d.condition) return [el("p", {}, say("row_online", { row: i + 1, y_f: figure(d.y_f[k]) }))];
  const kind = KIND_NAMES[d.kind[k]];
  const facts = [["alpha", d.alpha[k]], ["mu", d.mu[k]], [state.yfName, d.y_f[k]], ["slack", d.slack[k]]];
  const wrong = d.violation[k] > BROKEN;
  return [
    el("dl", { class: "mm-facts" }, facts.map(([name, value]) => el("div", {}, el("dt", { text: `column_${name}` }), el("dd", {}, figure(value))))),
    el("p", {}, el("strong", {}, say("row_is", { row: i + 1 })), ` ${say(wrong ? "row_not_yet" : `${state.family}_${kind}`)}`),
    el("p", { class: wrong ? "broken" : "kept" }, `${shown.conditions[d.condition[k]]} ${say(wrong ? "is_broken" : "is_kept", { by: figure(d.violation[k], 2) })}`),
  ];
}
