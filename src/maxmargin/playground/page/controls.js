// The settings of a machine: choices, sliders and the kernel's text.
import { el, figure, language, write } from "./words.js";

const POWERS = { C: [-3, 5], gamma: [-3, 3] }; // sliders of powers of ten
const PLAIN = { nu: [0.02, 1, 0.01], epsilon: [0, 1.5, 0.01], degree: [1, 8, 1] };
const USED = {
  SVC: ["kernel", "C"], HardMarginSVC: ["kernel"], NuSVC: ["kernel", "nu"], SVR: ["kernel", "C", "epsilon"],
  NuSVR: ["kernel", "C", "nu"], OneClassSVM: ["kernel", "nu"], SVDD: ["kernel", "C"], Perceptron: [], Pegasos: ["C"],
};
const OF_KERNEL = { linear: [], rbf: ["gamma"], poly: ["gamma", "degree"], laplacian: ["gamma"], expression: ["expression"] };

export function usedSettings(settings) {
  const own = USED[settings.machine];
  return own.includes("kernel") ? [...own, ...OF_KERNEL[settings.kernel]] : own;
}

export const isOnline = settings => !USED[settings.machine].includes("kernel");

/** @param {any} ready @param {any} state @param {(name: string) => void} changed */
export function settingsPanel(ready, state, changed) {
  const rows = {};
  const line = (name, ...parts) => (rows[name] = el("div", { class: "mm-setting", "data-setting": name }, ...parts));
  const pick = (name, options) => {
    const list = el("select", { id: `mm-${name}`, onchange: () => { state.settings[name] = list.value; changed(name); } },
      options.map(option => el("option", { value: option, text: `${name}_${option}` })));
    return line(name, el("label", { for: `mm-${name}`, text: `label_${name}` }), list);
  };
  const slide = name => {
    const [low, high, step] = POWERS[name] ? [...POWERS[name], 0.05] : PLAIN[name];
    const shown = el("output", { for: `mm-${name}` });
    const range = el("input", { id: `mm-${name}`, type: "range", min: low, max: high, step, oninput: () => {
      const value = Number(range.value);
      state.settings[name] = POWERS[name] ? Number((10 ** value).toPrecision(3)) : value;
      changed(name);
    } });
    return line(name, el("label", { for: `mm-${name}`, text: `label_${name}` }), range, shown);
  };
  const text = el("input", { id: "mm-expression", type: "text", spellcheck: "false", autocomplete: "off",
    oninput: () => { state.settings.expression = text.value; changed("expression"); } });
  const problem = el("p", { class: "mm-problem", role: "alert", hidden: true });
  line("expression", el("label", { for: "mm-expression", text: "label_expression" }), text, problem);
  const panel = el("div", { class: "mm-settings" }, pick("machine", ready.machines), pick("kernel", ready.kernels),
    rows.expression, slide("gamma"), slide("degree"), slide("C"), slide("nu"), slide("epsilon"));

  const show = () => {
    const used = usedSettings(state.settings);
    for (const [name, row] of Object.entries(rows)) {
      row.hidden = name !== "machine" && !used.includes(name);
      const input = row.querySelector("select, input"), value = state.settings[name];
      if (input.type === "range") {
        const place = POWERS[name] ? Math.log10(value) : value;
        if (!(Math.abs(Number(input.value) - place) < Number(input.step) / 2)) input.value = `${place}`; // where it is, it stays: no layout
        write(row.querySelector("output"), figure(value, 3));
      } else if (document.activeElement !== input || input.value !== value) input.value = value;
    }
  };
  /** Say what is wrong with a setting, below the kernel's text and with its column marked. */
  const complain = error => {
    problem.hidden = !error;
    text.classList.toggle("wrong", Boolean(error));
    if (!error) return;
    const column = error.column ?? 0, source = state.settings.expression;
    const mark = column ? [el("code", {}, source.slice(0, column - 1), el("mark", {}, source.slice(column - 1, column) || "␣"), source.slice(column)), " "] : [];
    problem.replaceChildren(...mark, error.sentence);
    problem.lang = language() === "en" ? "" : "en";
  };
  return { panel, show, complain };
}
