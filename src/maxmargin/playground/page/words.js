// Words by language, and the elements of the page. Only textContent: what comes from outside is never markup.

let dictionary = {};
let tongue = "en";
const formats = {};

/** @param {any} all words by language and key @param {string} language */
export function useWords(all, language) {
  dictionary = all;
  tongue = all[language] ? language : "en";
}

export const language = () => tongue;

/** The sentence called key, with {names} filled in. */
export function say(key, values = {}) {
  const text = dictionary[tongue]?.[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => `${values[name] ?? ""}`);
}

export const known = key => Boolean(dictionary[tongue]?.[key]);

/** A number with few digits, as the language writes it. */
export function figure(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0"; // also for -0
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e6)) {
    const [base, power] = value.toExponential(1).split("e");
    return `${figure(Number(base), 2)}e${Number(power)}`;
  }
  const key = `${tongue} ${digits}`; // making a format takes as long as using it a hundred times
  formats[key] ??= new Intl.NumberFormat(tongue, { maximumSignificantDigits: digits, useGrouping: false });
  return formats[key].format(value);
}

/** An element: attributes, listeners (onclick) and children; a child that is text stays text. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") { node.dataset.say = value; node.textContent = say(value); }
    else if (name === "label") { node.dataset.label = value; node.setAttribute("aria-label", say(value)); }
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
}

/** Text that is there already is not laid out again. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Say everything below root again, after the language changed. */
export function retell(root) {
  for (const node of root.querySelectorAll("[data-say]")) node.textContent = say(node.dataset.say);
  for (const node of root.querySelectorAll("[data-label]")) node.setAttribute("aria-label", say(node.dataset.label));
}
