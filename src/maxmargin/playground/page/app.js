// The page: its state, its panels, and what happens when something changes.
import { Talk } from "./wire.js";
import { el, figure, known, language, retell, say, useWords, write } from "./words.js";
import { dataset, DATASETS, viewOf } from "./datasets.js";
import { COLOURS, Plane } from "./plane.js";
import { isOnline, settingsPanel, usedSettings } from "./controls.js";
import { conditionTable, rowStory } from "./kkt.js";
import { StepPanel } from "./stepping.js";
import { LessonPanel } from "./lesson.js";
import { TablePanel } from "./tabletab.js";

const GRID = { nx: 80, ny: 60 };
const REST = 300; // milliseconds after which the hand rests
const CALM = 100; // milliseconds between two sets of numbers: faster ones cannot be read, and cost a layout each
const SOON = 40; // milliseconds within which a fit is expected: it draws the moved point with its boundary

/** @param {HTMLElement} root @param {any} host sends messages; its `hear` is set here */
export function mount(root, host) {
  const page = new Page(root, host);
  return {
    begin: wanted => page.begin(wanted),
    closed: () => page.closed(),
    reopened: () => page.reopened(),
    page,
  };
}

class Page {
  constructor(root, host) {
    this.root = root;
    this.talk = new Talk(host, reply => this.table?.pushed(reply));
    host.hear = reply => this.talk.hear(reply);
    this.cancel = () => host.send({ do: "cancel" });
    this.timings = [];
    this.state = {
      points: dataset("clouds"), view: { ...viewOf([]), ...GRID }, selected: -1, brush: 0, locked: false, shown: null,
      settings: { machine: "SVC", kernel: "rbf", expression: "2*RBF(gamma=1) + Linear()", gamma: 1, degree: 3, coef0: 1,
        C: 1, nu: 0.3, epsilon: 0.3, solver: "smo" },
      pair: 0, tab: "plane",
    };
  }

  async begin(wanted) {
    this.ready = await this.talk.ask({ do: "hello" });
    const chosen = this.ready.language ?? (wanted?.startsWith("es") ? "es" : "en");
    useWords(this.ready.words, chosen);
    this.build();
    this.changeLanguage(chosen);
    this.startFrom(this.ready.start);
    this.settings.show();
    if (this.ready.lesson) this.lesson.open(this.ready.lesson);
    else this.restart();
    if (this.ready.table) this.show("table");
  }

  startFrom(start) {
    if (start?.settings) Object.assign(this.state.settings, start.settings);
    if (start?.points) {
      this.state.points = start.points;
      this.state.view = { ...viewOf(start.points), ...GRID };
    }
  }

  closed() {
    if (this.status) this.status.textContent = say("closed");
    this.root.classList.add("mm-closed");
  }

  /** The socket is open again: the other side has forgotten everything, this side nothing. */
  async reopened() {
    this.root.classList.remove("mm-closed");
    this.talk.forget();
    this.steps.drop();
    const { table } = await this.talk.ask({ do: "hello" });
    if (this.ready.table || table) this.table.received({ do: "table", table });
    this.restart();
  }

  // -- the frame ---------------------------------------------------------------------------------------------

  build() {
    const { state } = this;
    this.settings = settingsPanel(this.ready, state, name => this.changed(name));
    this.canvas = el("canvas", { class: "mm-plane", tabindex: "0", role: "application", label: "plane_help" });
    this.plane = new Plane(this.canvas, state, this.gestures());
    this.certificate = el("div", { class: "mm-certificate" });
    this.conditions = el("div", {});
    this.story = el("div", {});
    this.status = el("p", { class: "mm-status", role: "status", "aria-live": "polite" });
    this.steps = new StepPanel(this);
    this.lesson = new LessonPanel(this);
    this.table = new TablePanel(this);
    const panel = (name, ...parts) => el("section", { class: "mm-panel", "data-panel": name }, el("h2", { text: `panel_${name}` }), ...parts);
    this.side = el("div", { class: "mm-side" }, panel("machine", this.settings.panel), panel("solver", this.steps.choice),
      panel("certificate", this.certificate), panel("chart", this.steps.chartPlace), panel("row", this.story));
    this.left = el("div", { class: "mm-left" }, this.lesson.node, this.dataBar(), el("div", { class: "mm-planes" }, this.canvas, this.steps.second),
      this.steps.bar, panel("conditions", this.conditions));
    this.root.replaceChildren(this.header(), el("main", { class: "mm-main" }, this.left, this.side), this.table.node, this.status);
    this.root.addEventListener("keydown", event => this.steps.key(event));
    this.show(state.tab);
  }

  header() {
    const tabs = ["plane", "steps", "table"].map(name =>
      el("button", { type: "button", role: "tab", id: `mm-tab-${name}`, text: `tab_${name}`, onclick: () => this.show(name) }));
    this.tabs = el("nav", { role: "tablist", class: "mm-tabs" }, tabs);
    this.tabs.addEventListener("keydown", event => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!way) return;
      const next = tabs[(tabs.indexOf(/** @type {any} */ (document.activeElement)) + way + 3) % 3];
      next.focus();
      next.click();
    });
    this.tongues = el("div", { class: "mm-tongues", role: "group", label: "language" }, ["en", "es"].map(code =>
      el("button", { type: "button", lang: code, "data-language": code, onclick: () => this.changeLanguage(code) }, code)));
    const large = el("button", { type: "button", label: "large", onclick: () => {
      this.root.classList.toggle("mm-large");
      if (this.root.classList.contains("mm-large")) this.root.requestFullscreen?.().catch(() => {});
      else if (document.fullscreenElement) document.exitFullscreen();
      this.plane.fit();
    } }, "A+");
    const item = (name, act) => el("button", { type: "button", id: `mm-export-${name}`, text: `export_${name}`, onclick: act });
    this.lines = el("pre", { class: "mm-lines", hidden: true, tabindex: "0" });
    const menu = el("details", { class: "mm-menu", "data-panel": "export" }, el("summary", { text: "export" }), el("div", {},
      item("lines", () => this.copyLines()), item("points", () => this.download("points")),
      item("lesson", () => this.lesson.save()), item("picture", () => this.savePicture())));
    return el("header", { class: "mm-header" }, el("strong", { class: "mm-brand" }, "maxmargin"), this.tabs, el("span", { class: "mm-gap" }),
      this.lesson.menu, menu, this.tongues, large, this.lines);
  }

  dataBar() {
    const classes = COLOURS.map((colour, k) => el("button", { type: "button", class: `mm-brush mm-class-${k}`, "aria-pressed": k === 0 ? "true" : "false",
      "data-brush": k, title: `${k + 1}`, onclick: () => this.paint(k) }, `${k + 1}`));
    this.brushes = classes;
    const list = el("select", { id: "mm-data", onchange: () => { if (list.value) this.load(list.value); } },
      el("option", { value: "", text: "choose_data" }), Object.keys(DATASETS).map(name => el("option", { value: name, text: `data_${name}` })));
    this.data = list;
    this.pairs = el("select", { hidden: true, label: "pair", onchange: () => { this.state.pair = Number(this.pairs.value); this.steps.drop(); this.restart(); } });
    const clear = el("button", { type: "button", id: "mm-clear", text: "clear", onclick: () => { this.state.points = []; this.state.selected = -1; this.edited(); } });
    return el("div", { class: "mm-bar", "data-panel": "data", role: "toolbar", label: "panel_data" }, el("label", { for: "mm-data", class: "mm-hidden", text: "choose_data" }),
      list, el("span", { class: "mm-brushes", role: "group", label: "brush" }, classes), clear, this.pairs);
  }

  show(tab) {
    this.state.tab = tab;
    this.root.dataset.tab = tab;
    for (const button of this.tabs.children) {
      const mine = button.id === `mm-tab-${tab}`;
      button.setAttribute("aria-selected", `${mine}`);
      button.tabIndex = mine ? 0 : -1;
    }
    if (tab === "plane" && this.steps.watched) { this.steps.drop(); this.restart(); }
    this.status.textContent = "";
    if (tab !== "table") this.tellStatus();
    this.plane.fit();
  }

  changeLanguage(code) {
    useWords(this.ready.words, code);
    document.documentElement.lang = code;
    for (const button of this.tongues.children) button.setAttribute("aria-pressed", `${button.dataset.language === code}`);
    retell(this.root);
    this.settings.show();
    this.lesson.tell();
    this.steps.tell();
    this.table.tell();
    this.tellAll();
  }

  // -- changes -----------------------------------------------------------------------------------------------

  gestures() {
    const { state } = this;
    return {
      drawn: () => {
        const since = this.waiting;
        this.waiting = undefined;
        if (since !== undefined) setTimeout(() => this.timings.push(performance.now() - since)); // after the frame is made
      },
      select: i => { state.selected = i; this.plane.draw(); this.tellRows(); },
      add: ([x, y]) => {
        if (state.points.length >= this.ready.limits.points) return;
        state.points.push([x, y, state.brush]);
        state.selected = state.points.length - 1;
        this.edited();
      },
      move: (i, [x, y], since) => {
        const { x0, x1, y0, y1 } = state.view;
        state.points[i][0] = Math.min(x1, Math.max(x0, x));
        state.points[i][1] = Math.min(y1, Math.max(y0, y));
        this.edited(since);
      },
      remove: i => { state.points.splice(i, 1); state.selected = Math.min(i, state.points.length - 1); this.edited(); },
    };
  }

  paint(k) {
    this.state.brush = k;
    this.brushes.forEach((button, j) => button.setAttribute("aria-pressed", `${j === k}`));
    if (this.state.selected >= 0 && document.activeElement === this.canvas) {
      this.state.points[this.state.selected][2] = k;
      this.edited();
    }
  }

  load(name) {
    const { settings } = this.state;
    if (name === "curve") Object.assign(settings, { machine: "SVR", kernel: "rbf" });
    else if (name === "spread") Object.assign(settings, { machine: "OneClassSVM", kernel: "rbf", nu: 0.1 });
    else if (settings.machine.endsWith("SVR")) settings.machine = "SVC";
    this.replace(dataset(name), name === "spread");
    this.data.value = name; // arrow keys continue from here
  }

  /** Other points: what was chosen about the old ones is forgotten. */
  replace(points, detects = false) {
    const { state } = this, { settings } = state;
    Object.assign(state, { points, view: { ...viewOf(points), ...GRID }, selected: -1, pair: 0 });
    if (!detects && ["OneClassSVM", "SVDD"].includes(settings.machine)) settings.machine = "SVC";
    this.settings.show();
    this.edited();
  }

  /** The points changed: the fit that was watched is out of date. */
  edited(since = performance.now()) {
    this.steps.drop();
    this.data.value = ""; // these are other points: the same ones can be chosen again
    this.late ??= setTimeout(() => { this.late = undefined; this.plane.draw(); }, SOON);
    this.since ??= since;
    this.restart();
  }

  changed(name) {
    const { settings } = this.state;
    if (name === "machine") {
      this.state.pair = 0;
      if (isOnline(settings)) settings.kernel = "linear";
      if (settings.machine === "HardMarginSVC" && settings.kernel === "rbf") settings.kernel = "linear";
    }
    this.settings.show();
    this.steps.drop();
    this.since ??= performance.now();
    this.restart();
  }

  get sent() {
    const used = usedSettings(this.state.settings), all = this.state.settings;
    const kept = { machine: all.machine };
    for (const name of used) kept[name] = all[name];
    return kept;
  }

  request(extra = {}) {
    const { points, view, pair } = this.state;
    return { points: points.map(p => [+p[0].toPrecision(9), +p[1].toPrecision(9), p[2]]), settings: this.sent, view, pair, ...extra };
  }

  /** Fit again, live. */
  restart(patient = false) {
    const { machine } = this.state.settings;
    this.state.regression = machine.endsWith("SVR");
    this.state.detector = machine === "OneClassSVM" || machine === "SVDD";
    this.state.family = this.state.regression ? "regression" : this.state.detector ? "detector" : "classifier";
    this.state.yfName = this.state.regression ? "residual" : this.state.detector ? "f" : "y_f";
    clearTimeout(this.resting);
    let asked;
    this.talk.wish("fit", () => {
      asked = this.since;
      this.since = undefined;
      return { do: "fit", ...this.request(patient ? { patient } : {}) };
    }, reply => this.fitted(reply, patient, asked));
  }

  fitted(reply, patient, asked) {
    if (this.steps.watched) return;
    if (reply.do === "error") { this.refused(reply); return; }
    this.settings.complain(null);
    this.take(reply);
    this.waiting ??= asked;
    this.resting = setTimeout(() => {
      this.tellRows();
      this.tellStatus();
      if (reply.status === "time_limit" && !patient) this.restart(true);
    }, this.timings.length ? REST / 2 : 0);
  }

  /** Show a state: a fit or a step. */
  take(reply) {
    const { state } = this, rows = reply.data.row ?? [];
    const [nx, ny] = reply.grid;
    reply.view = { ...state.view, nx, ny };
    reply.place = new Array(state.points.length).fill(-1);
    rows.forEach((row, k) => { reply.place[row] = k; });
    reply.largest = reply.data.alpha ? Math.max(...reply.data.alpha.filter(Number.isFinite), 1e-300) : 1;
    if (reply.pairs === undefined) { reply.pairs = state.shown?.pairs; reply.pair = state.shown?.pair; }
    state.shown = reply;
    clearTimeout(this.late);
    this.late = undefined;
    this.plane.draw();
    this.tellSoon();
  }

  tellSoon() {
    if (this.calm) { this.untold = true; return; }
    this.tellCertificate();
    this.untold = false;
    this.calm = setTimeout(() => { this.calm = undefined; if (this.untold) this.tellSoon(); }, CALM);
  }

  refused(error) {
    const sentence = known(error.key ?? "") ? say(error.key) : error.sentence;
    if (error.field === "expression") this.settings.complain(error);
    if (["no_points", "one_class_only"].includes(error.key)) { this.state.shown = null; this.plane.draw(); this.tellAll(); }
    this.status.textContent = sentence;
  }

  // -- telling -----------------------------------------------------------------------------------------------

  tellAll() { this.tellCertificate(); this.tellRows(); this.tellStatus(); }

  tellRows(moving = false) {
    const select = i => { this.state.selected = i; this.plane.draw(); this.tellRows(); };
    conditionTable(this.conditions, this.state.shown, this.state, select, moving);
    this.story.replaceChildren(...rowStory(this.state.shown, this.state));
  }

  tellCertificate() {
    const shown = this.state.shown;
    const watching = Boolean(this.steps?.watched);
    if (!shown) { this.certificate.replaceChildren(); this.certificate.dataset.key = ""; return; }
    const done = shown.kkt !== undefined && shown.kkt !== null && shown.kkt <= (shown.tol ?? 1e-3) * 1.000001;
    const facts = [["primal", shown.primal], ["dual", shown.dual], ["gap", shown.gap], ["kkt", shown.kkt], ["b", shown.b]];
    if (shown.margin) facts.push(["margin", shown.margin]);
    if (shown.n_support !== undefined) facts.push(["n_support", shown.n_support]);
    if (typeof shown.epsilon === "number") facts.push(["epsilon", shown.epsilon]);
    if (typeof shown.mistakes === "number") facts.push(["mistakes", shown.mistakes]);
    if (typeof this.steps?.watched?.bound === "number") facts.push(["bound", this.steps.watched.bound]);
    const named = facts.filter(([, v]) => typeof v === "number"), key = named.map(([name]) => name).join();
    if (this.certificate.dataset.key !== key) { // else its numbers are written over
      this.certificate.dataset.key = key;
      this.certificate.replaceChildren(el("dl", { class: "mm-facts" }, named.map(([name]) => el("div", {}, el("dt", { text: `fact_${name}` }), el("dd", { id: `mm-fact-${name}` })))),
        el("span", { class: "mm-badge" }));
    }
    const values = this.certificate.querySelectorAll("dd"), badge = this.certificate.lastChild;
    named.forEach(([, value], k) => write(values[k], figure(value)));
    badge.hidden = isOnline(this.state.settings);
    badge.className = `mm-badge ${done ? "kept" : "broken"}`;
    write(badge, say(done ? "optimal" : watching ? "on_the_way" : "not_optimal"));
    const list = shown.pairs ?? [];
    this.pairs.hidden = !list.length;
    if (this.pairs.options.length !== list.length || this.pairs.dataset.told !== language())
      this.pairs.replaceChildren(...list.map(([a, b], k) => el("option", { value: k }, say("pair_of", { a: a === null ? say("rest") : a + 1, b: b + 1 }))));
    this.pairs.dataset.told = language();
    this.pairs.value = `${shown.pair ?? 0}`;
  }

  tellStatus() {
    const shown = this.state.shown;
    if (!shown || !this.status || this.state.tab === "table") return;
    if (this.steps.watched) { this.status.textContent = this.steps.sentence(); return; }
    const key = isOnline(this.state.settings) ? "status_online" : `status_${shown.status}`;
    this.status.textContent = say(key, { gap: figure(shown.gap, 2), n: shown.n_support ?? "", points: this.state.points.length, mistakes: shown.mistakes ?? "" });
  }

  // -- export ------------------------------------------------------------------------------------------------

  async copyLines() {
    const reply = await this.talk.ask({ do: "export", what: "lines", ...this.request() });
    if (reply.do === "error") { this.refused(reply); return; }
    const text = new TextDecoder().decode(reply.body);
    this.lines.textContent = text;
    this.lines.hidden = !this.lines.hidden;
    navigator.clipboard?.writeText(text).then(() => { this.status.textContent = say("copied"); }, () => {});
  }

  async download(what, message = this.request()) {
    const reply = await this.talk.ask({ do: "export", what, ...message });
    if (reply.do === "error") this.refused(reply);
    else saveFile(reply.name, reply.type, reply.body);
  }

  savePicture() {
    this.canvas.toBlob(blob => { if (blob) saveBlob("maxmargin.png", blob); });
  }
}

export function saveFile(name, type, body) {
  saveBlob(name, new Blob([body], { type }));
}

function saveBlob(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
