// Watching a solver: forwards, backwards, playing, jumping; and a second solver beside the first.
import { chart } from "./chart.js";
import { Plane } from "./plane.js";
import { isOnline } from "./controls.js";
import { el, figure, say } from "./words.js";

export class StepPanel {
  constructor(page) {
    this.page = page;
    this.watched = null;
    this.other = null;
    this.k = 0;
    const solvers = page.ready.solvers;
    const list = id => el("select", { id }, solvers.map(name => el("option", { value: name, text: `solver_${name}` })));
    this.solver = list("mm-solver");
    this.solver.value = "smo";
    this.rival = list("mm-rival");
    this.rival.prepend(el("option", { value: "", text: "no_rival" }));
    this.rival.value = "";
    for (const one of [this.solver, this.rival]) one.addEventListener("change", () => { if (this.watched) this.watch(); });
    this.button = el("button", { type: "button", id: "mm-watch", class: "mm-primary", text: "watch", onclick: () => this.watch() });
    this.choice = el("div", { class: "mm-settings" },
      el("div", { class: "mm-setting" }, el("label", { for: "mm-solver", text: "label_solver" }), this.solver),
      el("div", { class: "mm-setting" }, el("label", { for: "mm-rival", text: "label_rival" }), this.rival), this.button,
      this.race = el("div", {}));
    this.chartPlace = el("div", {}, el("p", { class: "quiet", text: "press_watch" }));
    const button = (name, sign, act) => el("button", { type: "button", id: `mm-${name}`, label: name, onclick: act }, sign);
    this.range = el("input", { type: "range", id: "mm-step", min: 0, max: 0, value: 0, label: "step", oninput: () => this.go(Number(this.range.value)) });
    this.count = el("output", { for: "mm-step", class: "mm-count" });
    this.player = button("play", "▶", () => this.play());
    this.bar = el("div", { class: "mm-steps", role: "toolbar", label: "panel_steps", hidden: true }, button("first", "«", () => this.go(0)),
      button("back", "‹", () => this.go(this.k - 1)), this.player, button("forward", "›", () => this.go(this.k + 1)),
      button("last", "»", () => this.go(Infinity)), this.range, this.count);
    this.second = el("canvas", { class: "mm-plane mm-second", hidden: true, label: "second_plane" });
    this.mirror = Object.create(page.state, { shown: { value: null, writable: true }, locked: { value: true } });
    this.rivalPlane = new Plane(this.second, this.mirror, { select() {}, add() {}, move() {}, remove() {} });
  }

  async watch() {
    this.stop();
    const { page } = this;
    const online = isOnline(page.state.settings);
    const wanted = (solver, slot) => {
      const message = page.request({ slot });
      if (!online) message.settings.solver = solver;
      return page.talk.ask({ do: "watch", ...message });
    };
    const mine = await wanted(this.solver.value, 0);
    if (mine.do === "error") { page.refused(mine); return; }
    this.watched = mine;
    this.other = null;
    if (this.rival.value && !online) {
      const rival = await wanted(this.rival.value, 1);
      if (rival.do === "error") page.refused(rival);
      else this.other = rival;
    }
    this.second.hidden = !this.other;
    page.root.classList.toggle("mm-two", Boolean(this.other));
    this.bar.hidden = false;
    this.range.max = `${Math.max(mine.steps, this.other?.steps ?? 0) - 1}`;
    this.tell();
    page.status.textContent = ""; // what it said of the fit is not true of a step
    this.go(0);
    page.plane.fit();
    this.rivalPlane.fit();
  }

  /** Forget what was watched. */
  drop() {
    if (!this.watched) return;
    this.stop();
    this.watched = this.other = null;
    this.bar.hidden = true;
    this.second.hidden = true;
    this.page.root.classList.remove("mm-two");
    this.tell();
  }

  get last() { return Number(this.range.max); }

  go(k) {
    if (!this.watched) return;
    this.k = Math.max(0, Math.min(this.last, k));
    this.range.value = `${this.k}`;
    this.count.textContent = `${this.k} / ${this.last}`;
    this.drawn?.show(Math.min(this.k, this.watched.steps - 1));
    const since = performance.now();
    const { talk, state } = this.page;
    talk.wish("step", () => ({ do: "step", k: Math.min(this.k, this.watched.steps - 1), view: state.view }), reply => {
      if (!this.watched || reply.do === "error") return;
      reply.pairs = this.watched.pairs;
      reply.pair = this.watched.pair;
      this.page.take(reply);
      this.page.waiting ??= since;
      this.page.tellRows(true);
      this.rest();
    });
    if (this.other) talk.wish("rival", () => ({ do: "step", k: Math.min(this.k, this.other.steps - 1), view: state.view, slot: 1 }), reply => {
      if (!this.other || reply.do === "error") return;
      const mine = state.shown;
      this.page.take.call({ state: this.mirror, plane: this.rivalPlane, tellSoon() {} }, reply);
      if (mine) state.shown = mine;
      this.tellRace(reply);
    });
  }

  rest() {
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => { this.page.tellRows(); this.page.tellStatus(); }, this.timer ? 1200 : 150);
  }

  play() {
    if (this.timer) { this.stop(); return; }
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) { this.go(this.k + 1); return; }
    if (this.k >= this.last) this.go(0);
    this.player.textContent = "❚❚";
    this.player.setAttribute("aria-pressed", "true");
    const stride = Math.max(1, Math.round(this.last / 120));
    this.timer = setInterval(() => {
      if (this.k >= this.last) this.stop();
      else if (!this.page.talk.flying) this.go(this.k + stride);
    }, Math.max(60, Math.min(400, 9000 / (this.last + 1))));
  }

  stop() {
    const played = this.timer;
    clearInterval(played);
    this.timer = null;
    if (played) this.rest(); // say where it stands
    this.player.textContent = "▶";
    this.player.setAttribute("aria-pressed", "false");
  }

  key(event) {
    if (!this.watched || event.ctrlKey || event.altKey || event.metaKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY)$/.test(event.target.tagName);
    if (event.key === "[") this.go(this.k - 1);
    else if (event.key === "]") this.go(this.k + 1);
    else if (event.key === " " && !typing) this.play();
    else return;
    event.preventDefault();
  }

  /** What the last step did, in one sentence. */
  sentence() {
    const shown = this.page.state.shown, rows = (shown?.chosen ?? []).map(i => i + 1);
    if (!shown || shown.k === undefined) return "";
    const values = { k: shown.number, rows: rows.join(", "), n: shown.n_chosen, gap: figure(shown.gap, 2), kkt: figure(shown.kkt, 2), mistakes: shown.mistakes };
    if (isOnline(this.page.state.settings)) return say("step_online", values);
    if (!shown.k) return say("step_start", values);
    return say(rows.length && rows.length <= 6 ? "step_rows" : "step_many", values);
  }

  tell() {
    this.drawn = null;
    if (!this.watched) {
      this.chartPlace.replaceChildren(el("p", { class: "quiet", text: "press_watch" }));
      this.race.replaceChildren();
      return;
    }
    this.drawn = chart(this.watched, k => this.go(k));
    this.drawn.show(Math.min(this.k, this.watched.steps - 1));
    this.chartPlace.replaceChildren(this.drawn.node);
    this.tellRace(null);
  }

  tellRace(reply) {
    if (!this.other) { this.race.replaceChildren(); return; }
    const gap = [this.page.state.shown?.gap, reply?.gap];
    const columns = [[this.solver.value, this.watched, gap[0]], [this.rival.value, this.other, gap[1]]];
    const line = (name, pick) => el("tr", {}, el("th", { scope: "row", text: name }), columns.map(column => el("td", {}, pick(column))));
    this.race.replaceChildren(el("table", { class: "mm-kkt mm-race" }, el("thead", {}, el("tr", {}, el("td"), columns.map(([solver]) =>
      el("th", { scope: "col", text: `solver_${solver}` })))), el("tbody", {}, line("race_steps", c => `${(c[1].all_steps ?? c[1].steps) - 1}`),
      line("race_values", c => `${c[1].kernel_values ?? "–"}`), line("race_gap", c => figure(c[1].gap, 2)), line("race_now", c => figure(c[2], 2)))));
  }
}
