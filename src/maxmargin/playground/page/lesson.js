// Lessons: text beside the plane, with points, settings and hidden panels; opened from a list or a file, and saved.
import { saveFile } from "./app.js";
import { viewOf } from "./datasets.js";
import { el, language, say } from "./words.js";

export class LessonPanel {
  constructor(page) {
    this.page = page;
    this.lesson = null;
    this.node = el("article", { class: "mm-lesson", hidden: true });
    const list = el("select", { id: "mm-lessons", label: "lessons", onchange: () => { if (list.value) this.fetch(list.value); } });
    this.list = list;
    const file = el("input", { type: "file", accept: ".json,application/json", id: "mm-open", label: "open_lesson", onchange: () => this.read(file) });
    this.menu = el("span", { class: "mm-lessons", "data-panel": "lessons" }, list, el("label", { class: "mm-file", for: "mm-open", text: "open_lesson" }), file);
    this.tell();
  }

  async fetch(name) {
    const reply = await this.page.talk.ask({ do: "lesson", name });
    if (reply.do === "error") this.page.refused(reply);
    else this.open(reply.lesson);
  }

  async read(file) {
    const chosen = file.files[0];
    if (!chosen) return;
    let lesson = null;
    try { lesson = JSON.parse(await chosen.text()); } catch { /* said below */ }
    file.value = "";
    this.list.value = "";
    const reply = await this.page.talk.ask({ do: "lesson", lesson: lesson ?? 0 });
    if (reply.do === "error") this.page.refused(reply);
    else this.open(reply.lesson);
  }

  /** @param {any} lesson checked by the other side */
  open(lesson) {
    const { page } = this, { state } = page;
    this.lesson = lesson;
    state.points = lesson.points.map(p => [...p]);
    Object.assign(state.settings, lesson.settings);
    state.view = { ...(lesson.view ?? viewOf(state.points)), nx: 80, ny: 60 };
    state.selected = lesson.selected ?? -1;
    state.pair = 0;
    page.steps.drop();
    page.data.value = "";
    page.steps.solver.value = lesson.settings.solver ?? "smo";
    page.steps.rival.value = lesson.rival ?? "";
    const hidden = new Set(lesson.hidden ?? []);
    for (const panel of page.root.querySelectorAll("[data-panel]")) panel.classList.toggle("mm-off", hidden.has(panel.dataset.panel));
    this.tell();
    page.settings.show();
    page.show(lesson.tab ?? "plane");
    page.restart();
    if (lesson.watch) page.steps.watch();
  }

  tell() {
    const lessons = this.page.ready.lessons ?? [], code = language();
    const chosen = this.list.value;
    this.list.replaceChildren(el("option", { value: "" }, say("lessons")), ...lessons.map((one, k) => el("option", { value: one.name }, `${k + 1}. ${one.title[code] ?? one.title.en}`)));
    this.list.value = chosen;
    const { lesson } = this;
    this.node.hidden = !lesson;
    if (!lesson) return;
    const pick = both => (typeof both === "string" ? both : both?.[code] ?? both?.en ?? "");
    const paragraphs = pick(lesson.text).split(/\n\s*\n/).filter(Boolean).map(paragraph => {
      const items = paragraph.split("\n").filter(line => line.startsWith("- "));
      return items.length > 1 ? el("ul", {}, items.map(line => el("li", {}, line.slice(2)))) : el("p", {}, paragraph.replace(/\s*\n\s*/g, " "));
    });
    this.node.replaceChildren(el("button", { type: "button", class: "mm-close", label: "close_lesson", onclick: () => this.close() }, "×"),
      el("h1", {}, pick(lesson.title)), ...paragraphs);
  }

  close() {
    this.lesson = null;
    for (const panel of this.page.root.querySelectorAll(".mm-off")) panel.classList.remove("mm-off");
    this.tell();
    this.page.plane.fit();
  }

  /** The present points and settings as a file, with the text of the open lesson. */
  save() {
    const { state, steps } = this.page;
    const { nx, ny, ...view } = state.view;
    const lesson = {
      maxmargin_lesson: 1, title: this.lesson?.title ?? say("new_lesson"), text: this.lesson?.text ?? say("new_lesson_text"),
      points: state.points.map(p => [+p[0].toPrecision(6), +p[1].toPrecision(6), p[2]]), settings: { ...this.page.sent, solver: steps.solver.value },
      view, tab: state.tab === "table" ? "plane" : state.tab, hidden: this.lesson?.hidden ?? [],
    };
    if (steps.rival.value) lesson.rival = steps.rival.value;
    saveFile("lesson.json", "application/json", new TextEncoder().encode(JSON.stringify(lesson, null, 1)));
  }
}
