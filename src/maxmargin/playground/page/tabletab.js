// The analyst's tab: columns, tuning as it happens, threshold, explanation, files.
import { saveFile } from "./app.js";
import { el, figure, language, say } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

export class TablePanel {
  constructor(page) {
    this.page = page;
    this.cells = new Map();
    this.node = el("div", { class: "mm-table" });
    this.costs = { fp: 1, fn: 1 };
    this.row = 0;
    this.tell();
  }

  get about() { return this.page.ready.table; }

  panel(name, ...parts) {
    return el("section", { class: "mm-panel", "data-panel": name }, el("h2", { text: `panel_${name}` }), ...parts);
  }

  tell() {
    const file = el("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", id: "mm-open-table", onchange: () => this.read(file) });
    const open = el("p", {}, el("label", { for: "mm-open-table", text: "open_table" }), " ", file);
    if (!this.about) { this.node.replaceChildren(this.panel("columns", el("p", { text: "no_table" }), open)); return; }
    this.columns = this.panel("columns", ...this.columnParts(), open);
    this.heatPlace = el("div", {});
    this.progress = el("p", { class: "quiet", role: "status", id: "mm-tuning" });
    this.cancel = el("button", { type: "button", id: "mm-cancel", text: "cancel", disabled: !this.running, onclick: () => this.page.cancel() });
    this.start = el("button", { type: "button", id: "mm-tune", class: "mm-primary", text: "tune", disabled: Boolean(this.running), onclick: () => this.tune() });
    this.thresholdPlace = el("div", {});
    this.explainPlace = el("div", {});
    const take = name => el("button", { type: "button", id: `mm-file-${name}`, text: `file_${name}`, onclick: () => this.take(name) });
    this.lines = el("pre", { class: "mm-lines", hidden: true, tabindex: "0" });
    this.node.replaceChildren(this.columns, this.panel("tuning", el("div", { class: "mm-bar" }, this.start, this.cancel), this.progress, this.heatPlace),
      this.panel("threshold", this.thresholdPlace), this.panel("explain", this.explainPlace),
      this.panel("files", el("div", { class: "mm-bar" }, take("lines"), take("model"), take("report")), this.lines));
    this.tellProgress();
    this.tellHeat();
    this.tellThreshold();
    this.tellExplanation();
  }

  columnParts() {
    const { about } = this;
    const target = el("select", { id: "mm-target", onchange: () => this.reopen(target.value) }, about.targets.map(name => el("option", { value: name }, name)));
    target.value = about.target;
    const pick = id => el("select", { id }, about.numbers.map(name => el("option", { value: name }, name)));
    const x = pick("mm-x"), y = pick("mm-y");
    if (about.numbers.length > 1) y.value = about.numbers[1];
    const plane = (id, label, message) => el("button", { type: "button", id, text: label, onclick: () => this.toPlane(message()) });
    const done = ({ note, kind, gaps }) => [note?.[language()] ?? say(`done_${kind}`), gaps && kind === "number" ? say("done_gaps", { n: gaps }) : ""].filter(Boolean).join("; ");
    const lines = about.columns.map(column => el("tr", {}, el("th", { scope: "row" }, column.name), el("td", { text: `kind_${column.kind}` }), el("td", { class: "condition" }, done(column))));
    return [
      el("p", {}, `${about.name}: ${about.rows} × ${about.targets.length}`),
      el("div", { class: "mm-setting" }, el("label", { for: "mm-target", text: "target" }), target),
      ...about.notes.map(note => el("p", { class: "quiet" }, note[language()])),
      el("div", { class: "mm-scroll", tabindex: "0", label: "panel_columns" }, el("table", { class: "mm-kkt mm-columns" }, el("thead", {}, el("tr", {}, ["name", "kind", "note"].map(name => el("th", { scope: "col", text: `column_${name}` })))),
        el("tbody", {}, lines))),
      ...(about.numbers.length > 1 ? [el("div", { class: "mm-bar" }, x, y, plane("mm-to-plane", "to_plane", () => ({ x: x.value, y: y.value })), plane("mm-components", "to_components", () => ({})))] : []),
    ];
  }

  async read(file) {
    const chosen = file.files[0];
    if (!chosen) return;
    const content = await textOf(chosen);
    file.value = ""; // the same file, corrected, can be opened again
    if (content === null) this.page.status.textContent = say("not_unicode", { name: chosen.name });
    else this.received(await this.page.talk.ask({ do: "table", name: chosen.name, content }));
  }

  async reopen(target) { this.received(await this.page.talk.ask({ do: "table", target })); }

  received(reply) {
    if (reply.do === "error") { this.page.refused(reply); return; }
    this.page.ready.table = reply.table;
    this.cells.clear();
    this.result = this.model = this.explained = this.running = null;
    this.tell();
  }

  async toPlane(columns) {
    const reply = await this.page.talk.ask({ do: "file", what: "points", ...columns });
    if (reply.do === "error") { this.page.refused(reply); return; }
    const { settings } = this.page.state;
    if (!this.about.classes.length) settings.machine = "SVR";
    else if (settings.machine.endsWith("SVR")) settings.machine = "SVC";
    this.page.show("plane");
    this.page.replace(reply.points);
  }

  // -- tuning ------------------------------------------------------------------------------------------------

  async tune() {
    this.cells.clear();
    this.result = this.model = this.explained = null;
    this.running = { done: 0, total: 0 };
    this.began = performance.now();
    this.tell();
    const reply = await this.page.talk.ask({ do: "tune", folds: 10 });
    this.running = null;
    this.lasted = performance.now() - this.began;
    if (reply.do === "error") this.page.refused(reply);
    else this.result = reply;
    this.tell();
  }

  pushed(reply) {
    if (reply.do !== "cells") return;
    for (const cell of reply.cells) this.cells.set(`${cell.params.C} ${cell.params.gamma}`, cell);
    this.running = { done: reply.done, total: reply.total };
    if (this.cells.size && !this.firstCell) this.firstCell = performance.now() - this.began;
    this.tellProgress();
    this.tellHeat();
  }

  tellProgress() {
    const { result } = this;
    const written = params => Object.entries(params).map(([name, value]) => `${name} = ${figure(value, 3)}`).join(", ");
    if (this.running) this.progress.textContent = say("tuning_progress", this.running);
    else if (result) this.progress.textContent = say(result.interrupted ? "tuned_cancelled" : "tuned", { best: written(result.best), measure: result.measure[language()], error: figure(result.error, 3), n: result.n_cells });
  }

  tellHeat() {
    if (!this.cells.size) { this.heatPlace.replaceChildren(); return; }
    const { C, gamma } = this.about.grid, errors = [...this.cells.values()].map(cell => cell.error).filter(v => v !== null);
    const low = Math.min(...errors), high = Math.max(...errors, low + 1e-12);
    const same = (a, b) => a && b && a.C === b.C && a.gamma === b.gamma;
    const map = el("div", { class: "mm-heat", role: "group", label: "panel_tuning" });
    map.style.gridTemplateColumns = `auto repeat(${C.length}, minmax(3.2rem, 1fr))`;
    map.append(el("span", {}, "γ \\ C"), ...C.map(c => el("span", {}, figure(c, 3))));
    for (const g of [...gamma].reverse()) {
      map.append(el("span", {}, figure(g, 3)));
      for (const c of C) {
        const cell = this.cells.get(`${c} ${g}`), params = { C: c, gamma: g };
        const button = el("button", { type: "button", disabled: !cell || !this.result, "data-cell": `${c} ${g}`, "aria-pressed": `${same(this.model?.params, params)}`,
          class: `${same(this.result?.best, params) ? "best " : ""}${same(this.result?.one_se, params) ? "one-se" : ""}`, onclick: () => this.pick(params) }, cell ? figure(cell.error, 3) : "·");
        if (cell && cell.error !== null) button.style.background = heatColour((cell.error - low) / (high - low));
        map.append(button);
      }
    }
    this.heatPlace.replaceChildren(map, el("p", { class: "quiet", text: "legend_cells" }));
  }

  async pick(params) {
    const reply = await this.page.talk.ask({ do: "model", params });
    if (reply.do === "error") { this.page.refused(reply); return; }
    this.model = reply;
    this.cut = 0;
    this.tellHeat();
    this.tellThreshold();
    this.page.status.textContent = say("cell_model", { params: `C = ${figure(params.C, 3)}, γ = ${figure(params.gamma, 3)}`, measure: this.result.measure[language()], error: figure(reply.error, 3), test: figure(reply.test, 3) });
    this.explain(0);
  }

  // -- threshold ---------------------------------------------------------------------------------------------

  tellThreshold() {
    const score = this.model?.data.score;
    if (!score) { this.thresholdPlace.replaceChildren(el("p", { class: "quiet", text: this.about.classes.length === 2 ? "pick_cell" : "two_classes" })); return; }
    const low = Math.min(...score), high = Math.max(...score);
    const range = el("input", { type: "range", id: "mm-threshold", min: low - 0.01, max: high + 0.01, step: (high - low) / 400, value: this.cut,
      oninput: () => { this.cut = Number(range.value); this.tellConfusion(); } });
    const money = (id, name) => {
      const input = el("input", { type: "number", id: `mm-cost-${id}`, min: 0, step: "any", value: this.costs[id], oninput: () => { this.costs[id] = Math.max(0, Number(input.value) || 0); this.tellConfusion(); } });
      return el("div", { class: "mm-setting" }, el("label", { for: `mm-cost-${id}`, text: name }), input);
    };
    this.cutShown = el("output", { for: "mm-threshold" });
    this.confusion = el("div", {});
    const { svg, dot } = roc(score, this.model.data.truth);
    this.dot = dot;
    this.thresholdPlace.replaceChildren(el("p", { class: "quiet" }, say("held_out", { n: score.length })), el("div", { class: "mm-settings" },
      el("div", { class: "mm-setting" }, el("label", { for: "mm-threshold", text: "threshold" }), range, this.cutShown), money("fp", "cost_false_positive"), money("fn", "cost_false_negative")),
      this.confusion, svg);
    this.tellConfusion();
  }

  tellConfusion() {
    const { score, truth } = this.model.data, [no, yes] = this.model.classes;
    let tp = 0, fp = 0, fn = 0, tn = 0;
    for (let k = 0; k < score.length; k++) {
      const said = score[k] > this.cut;
      if (truth[k]) said ? tp++ : fn++;
      else said ? fp++ : tn++;
    }
    this.cutShown.textContent = figure(this.cut, 3);
    this.dot.setAttribute("cx", `${20 + 170 * fp / Math.max(1, fp + tn)}`);
    this.dot.setAttribute("cy", `${180 - 170 * tp / Math.max(1, tp + fn)}`);
    const facts = [["sensitivity", tp / (tp + fn)], ["specificity", tn / (tn + fp)], ["precision", tp / (tp + fp)], ["cost", this.costs.fp * fp + this.costs.fn * fn]];
    const line = (name, a, b) => el("tr", {}, el("th", { scope: "row" }, `${say("actual")} ${name}`), el("td", {}, `${a}`), el("td", {}, `${b}`));
    this.confusion.replaceChildren(el("table", { class: "mm-kkt mm-confusion", id: "mm-confusion" }, el("thead", {}, el("tr", {}, el("td"), [no, yes].map(name => el("th", { scope: "col" }, `${say("predicted")} ${name}`)))),
      el("tbody", {}, line(no, tn, fp), line(yes, fn, tp))),
      el("dl", { class: "mm-facts" }, facts.map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", { id: `mm-${name}` }, figure(value, 3))))));
  }

  // -- explanation and files ---------------------------------------------------------------------------------

  async explain(row) {
    const reply = await this.page.talk.ask({ do: "explain", row });
    if (reply.do === "error") { this.page.refused(reply); return; }
    this.explained = reply;
    this.tellExplanation();
  }

  tellExplanation() {
    const found = this.explained;
    if (!found) { this.explainPlace.replaceChildren(el("p", { class: "quiet", text: "pick_cell" })); return; }
    const list = el("select", { id: "mm-explain", onchange: () => this.explain(Number(list.value)) },
      this.model.rows.map((row, k) => el("option", { value: k }, `${k + 1}: ${row.slice(0, 4).join(", ").slice(0, 50)}`)));
    list.value = `${found.row}`;
    const most = Math.max(...found.terms.map(([, term]) => Math.abs(term)), 1e-300);
    const bars = found.terms.flatMap(([row, term]) => [el("span", {}, `${say("explain_row")} ${row + 1}`),
      el("progress", { max: 1, value: Math.abs(term) / most, class: term < 0 ? "minus" : "plus", "aria-label": figure(term, 3) }), el("span", {}, `${term > 0 ? "+" : ""}${figure(term, 3)}`)]);
    this.explainPlace.replaceChildren(el("div", { class: "mm-setting" }, el("label", { for: "mm-explain", text: "explain_row" }), list),
      el("p", {}, el("strong", {}, say("explain_prediction", { prediction: found.prediction })), ` ${say("explain_sum", { f: figure(found.decision, 3), n: found.n_terms })}`), el("div", { class: "mm-bars" }, bars));
  }

  async take(what) {
    const reply = await this.page.talk.ask({ do: "file", what, language: language() });
    if (reply.do === "error") { this.page.refused(reply); return; }
    if (what !== "lines") { saveFile(reply.name, reply.type, reply.body); return; }
    this.lines.textContent = new TextDecoder().decode(reply.body);
    this.lines.hidden = false;
    navigator.clipboard?.writeText(this.lines.textContent).then(() => { this.page.status.textContent = say("copied"); }, () => {});
  }
}

/** @param {File} file @returns {Promise<string | null>} its text; null unless it is UTF-8, or UTF-16 with a mark */
async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer()), mark = bytes[0] << 8 | bytes[1];
  const code = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
  try { return new TextDecoder(code, { fatal: true }).decode(bytes); } catch { return null; }
}

function heatColour(t) {
  const mix = (a, b) => Math.round(a + (b - a) * Math.min(1, Math.max(0, t)));
  return `rgb(${mix(120, 255)}, ${mix(200, 236)}, ${mix(235, 214)})`;
}

/** The ROC curve of scores, and the point of the present threshold. */
function roc(score, truth) {
  const order = [...score.keys()].sort((a, b) => score[b] - score[a]);
  const positives = truth.reduce((sum, v) => sum + v, 0), negatives = truth.length - positives;
  let tp = 0, fp = 0, path = "M20 180";
  order.forEach((k, i) => {
    if (truth[k]) tp++; else fp++;
    if (i + 1 === order.length || score[order[i + 1]] !== score[k]) path += `L${20 + 170 * fp / Math.max(1, negatives)} ${180 - 170 * tp / Math.max(1, positives)}`;
  });
  const make = (tag, attributes, text = "") => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, `${value}`);
    node.textContent = text;
    return node;
  };
  const svg = make("svg", { viewBox: "0 0 200 200", class: "mm-roc", role: "img", "aria-label": "ROC" });
  const dot = make("circle", { r: 5 });
  svg.append(make("line", { x1: 20, y1: 180, x2: 190, y2: 10 }), make("path", { d: path }), dot, make("text", { x: 105, y: 195 }, say("false_positive_rate")),
    make("text", { x: 12, y: 95, transform: "rotate(-90 12 95)" }, say("true_positive_rate")));
  return { svg, dot };
}
