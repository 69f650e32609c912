// The plane: regions, boundary, margins, points with rings by kind. Draws what it is given and reports gestures.
import { contours, hull } from "./contour.js";

export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const TINTS = [[86, 180, 233], [230, 159, 0], [0, 158, 115], [204, 121, 167]];
export const KIND_NAMES = ["outside", "inactive", "free", "inside", "bounded", "misclassified"];
const GREY = [128, 128, 128];
const GLOW = "#f0a500";

export class Plane {
  /** @param {HTMLCanvasElement} canvas @param {any} state shared with the page @param {any} on gestures */
  constructor(canvas, state, on) {
    this.canvas = canvas;
    this.state = state;
    this.on = on;
    this.brush = document.createElement("canvas");
    this.half = document.createElement("canvas"); // the colours of the regions
    this.scale = document.createElement("canvas"); // its axes, which change with the view only
    this.marks = new Map(); // pictures of points: drawing paths for each takes ten times as long
    this.dragged = -1;
    canvas.addEventListener("pointerdown", event => this.press(event));
    canvas.addEventListener("pointermove", event => this.hover(event));
    // Moves as they come: other ones are held back until the next frame.
    canvas.addEventListener("onpointerrawupdate" in window ? "pointerrawupdate" : "pointermove", event => this.move(event));
    canvas.addEventListener("pointerup", event => this.release(event));
    canvas.addEventListener("pointercancel", () => { this.dragged = -1; });
    canvas.addEventListener("contextmenu", event => { event.preventDefault(); this.erase(event); });
    canvas.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.fit()).observe(canvas);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.fit());
  }

  fit() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.round(this.canvas.clientWidth * ratio), height = Math.round(this.canvas.clientHeight * ratio);
    if (width && height && (width !== this.canvas.width || height !== this.canvas.height)) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.ratio = ratio;
    const style = getComputedStyle(this.canvas); // here, not in every frame: it lays the page out
    this.ink = style.getPropertyValue("--ink").trim() || "#10202f";
    this.paper = style.getPropertyValue("--paper").trim() || "#ffffff";
    this.marks.clear();
    this.fieldOf = this.axesOf = null;
    this.draw();
  }

  // -- gestures ----------------------------------------------------------------------------------------------

  px(x) { const v = this.state.view; return (x - v.x0) / (v.x1 - v.x0) * this.canvas.width; }
  py(y) { const v = this.state.view; return (v.y1 - y) / (v.y1 - v.y0) * this.canvas.height; }

  at(event) {
    const box = this.canvas.getBoundingClientRect(), v = this.state.view;
    const x = v.x0 + (event.clientX - box.left) / box.width * (v.x1 - v.x0);
    const y = v.y1 - (event.clientY - box.top) / box.height * (v.y1 - v.y0);
    return [x, y];
  }

  near(event, reach = 14) {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best = -1, least = (reach * scale) ** 2;
    this.state.points.forEach((p, i) => {
      const d = (this.px(p[0]) - x) ** 2 + (this.py(p[1]) - y) ** 2;
      if (d < least) { least = d; best = i; }
    });
    return best;
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.focus();
    const hit = this.near(event);
    if (hit >= 0) {
      this.canvas.setPointerCapture(event.pointerId);
      this.dragged = hit;
      this.on.select(hit);
    } else if (!this.state.locked) {
      this.on.add(this.at(event));
      this.canvas.setPointerCapture(event.pointerId);
      this.dragged = this.state.points.length - 1;
    } else this.on.select(-1);
  }

  hover(event) {
    const idle = this.state.locked ? "default" : "crosshair";
    this.canvas.style.cursor = this.dragged >= 0 ? "grabbing" : this.near(event) >= 0 ? "grab" : idle;
  }

  move(event) {
    if (this.dragged >= 0 && !this.state.locked) this.on.move(this.dragged, this.at(event), event.timeStamp);
  }

  release(event) {
    if (this.dragged >= 0) this.canvas.releasePointerCapture(event.pointerId);
    this.dragged = -1;
  }

  erase(event) {
    const hit = this.near(event);
    if (hit >= 0 && !this.state.locked) this.on.remove(hit);
  }

  key(event) {
    const { points, selected, view } = this.state;
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const way = ways[event.key];
    if (way && event.shiftKey && selected >= 0 && !this.state.locked) {
      const step = (view.x1 - view.x0) / 80;
      const [x, y] = points[selected];
      this.on.move(selected, [x + way[0] * step, y + way[1] * step], event.timeStamp);
    } else if (way && points.length) {
      this.on.select((selected + (way[0] + way[1] > 0 ? 1 : -1) + points.length) % points.length);
    } else if (event.key === "Enter" && !this.state.locked) {
      this.on.add([(view.x0 + view.x1) / 2, (view.y0 + view.y1) / 2]);
    } else if ((event.key === "Delete" || event.key === "Backspace") && selected >= 0 && !this.state.locked) {
      this.on.remove(selected);
    } else return;
    event.preventDefault();
  }

  // -- drawing -----------------------------------------------------------------------------------------------

  /** Paint now, while the frame is not due yet; what changes after that is painted once more, with the frame. */
  draw() {
    this.stale = Boolean(this.due);
    if (this.due) return;
    this.paint();
    this.due = requestAnimationFrame(() => {
      this.due = undefined;
      if (this.stale) this.paint();
      this.on.drawn?.();
    });
  }

  paint() {
    const { canvas, state } = this, { shown } = state, pen = pencil(canvas), curved = shown?.data.f && !state.regression;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    if (curved) this.field(pen, shown);
    else {
      pen.fillStyle = this.paper;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      if (shown?.data.f) this.tube(pen, shown);
    }
    this.axes(pen);
    if (shown) this.under(pen, shown);
    state.points.forEach((p, i) => this.point(pen, p, i, shown));
  }

  field(pen, shown) {
    if (this.fieldOf !== shown) {
      this.fieldOf = shown;
      this.tint(shown);
      this.paths = this.levels(shown);
    }
    pen.imageSmoothingEnabled = false; // smooth at half the size, then every pixel four times: no eye sees it
    pen.drawImage(this.half, 0, 0, this.canvas.width, this.canvas.height);
    pen.save();
    pen.strokeStyle = this.ink;
    for (const [path, dash, width] of this.paths) {
      pen.setLineDash(dash);
      pen.lineWidth = width;
      pen.stroke(path);
    }
    pen.restore();
  }

  /** The colours of the regions, at half the size of the plane. */
  tint(shown) {
    const { nx, ny } = shown.view, f = shown.data.f, region = shown.data.region;
    const image = new ImageData(nx, ny), out = image.data;
    const sides = this.sides(shown), paper = [1, 3, 5].map(k => parseInt(this.paper.slice(k, k + 2), 16));
    for (let j = 0; j < ny; j++) {
      for (let i = 0; i < nx; i++) {
        const k = j * nx + i, o = 4 * ((ny - 1 - j) * nx + i), v = f[k];
        const code = region ? region[k] : v >= 0 ? sides[1] : sides[0];
        const tint = code < 0 ? GREY : TINTS[code % 4];
        const strength = Number.isNaN(v) ? 0 : (region ? 70 : code < 0 ? 26 : 34 + 74 * Math.min(1, Math.abs(v))) / 255;
        for (let c = 0; c < 3; c++) out[o + c] = paper[c] + strength * (tint[c] - paper[c]);
        out[o + 3] = 255; // mixed here: a picture without transparency is stretched in half the time
      }
    }
    resize(this.brush, nx, ny);
    pencil(this.brush).putImageData(image, 0, 0);
    const width = Math.ceil(this.canvas.width / 2), height = Math.ceil(this.canvas.height / 2), w = width / (nx - 1), h = height / (ny - 1);
    resize(this.half, width, height);
    pencil(this.half).drawImage(this.brush, -w / 2, -h / 2, width + w, height + h);
  }

  /** The lines f = 0 and f = -1, 1, with their dashes and widths: one pixel is drawn ten times as fast as more. */
  levels(shown) {
    const { nx, ny } = shown.view, { width, height } = this.canvas, sx = width / (nx - 1), sy = height / (ny - 1);
    const path = level => {
      const made = new Path2D();
      for (const points of contours(shown.data.f, nx, ny, level))
        points.forEach(([i, j], k) => made[k ? "lineTo" : "moveTo"](i * sx, height - j * sy));
      return made;
    };
    const dash = [7 * this.ratio, 5 * this.ratio];
    const margins = this.state.detector ? [] : [-1, 1].map(level => [path(level), dash, this.ratio]);
    return [[path(0), [], 2.4 * this.ratio], ...margins];
  }

  /** The classes of f < 0 and f > 0; -1 for "the rest" and for outliers. */
  sides(shown) {
    if (this.state.detector) return [-1, 0];
    if (shown.pairs?.length) return shown.pairs[shown.pair].map(c => (c === null ? -1 : c));
    const classes = [...new Set(this.state.points.map(p => p[2]))].sort();
    return [classes[0] ?? 0, classes[1] ?? 1];
  }

  tube(pen, shown) {
    const { x0, x1, nx } = shown.view, f = shown.data.f, e = shown.epsilon ?? 0;
    const x = i => this.px(x0 + i / (nx - 1) * (x1 - x0));
    const trace = shift => f.forEach((v, i) => pen[i ? "lineTo" : "moveTo"](x(i), this.py(v + shift)));
    pen.save();
    pen.fillStyle = "rgba(86,180,233,.22)";
    pen.beginPath();
    trace(e);
    for (let i = nx - 1; i >= 0; i--) pen.lineTo(x(i), this.py(f[i] - e));
    pen.fill();
    pen.strokeStyle = this.ink;
    for (const [shift, dash, width] of [[0, [], 2.4], [e, [7, 5], 1.3], [-e, [7, 5], 1.3]]) {
      pen.setLineDash(dash.map(d => d * this.ratio));
      pen.lineWidth = width * this.ratio;
      pen.beginPath();
      trace(shift);
      pen.stroke();
    }
    pen.restore();
  }

  /** Text takes longer than the rest: it is written once for a view. */
  axes(pen) {
    const { width, height } = this.canvas;
    if (this.axesOf !== this.state.view) {
      this.axesOf = this.state.view;
      this.scale.width = width;
      this.scale.height = height;
      this.writeAxes(this.scale.getContext("2d", { willReadFrequently: true }));
    }
    const left = 100 * this.ratio, low = 24 * this.ratio; // where its marks are
    pen.drawImage(this.scale, 0, 0, left, height - low, 0, 0, left, height - low);
    pen.drawImage(this.scale, 0, height - low, width, low, 0, height - low, width, low);
  }

  writeAxes(pen) {
    const v = this.state.view;
    pen.save();
    pen.fillStyle = pen.strokeStyle = this.ink;
    pen.globalAlpha = 0.45;
    pen.font = `${11 * this.ratio}px system-ui, sans-serif`;
    const spacing = length => {
      const step = Math.pow(10, Math.floor(Math.log10(length / 2)));
      return length / step < 4 ? step / 2 : length / step > 12 ? 2 * step : step;
    };
    const wide = spacing(v.x1 - v.x0), high = spacing(v.y1 - v.y0);
    pen.textAlign = "center";
    for (let x = Math.ceil(v.x0 / wide) * wide; x < v.x1; x += wide) {
      const at = this.px(x);
      if (at < 20 * this.ratio || at > this.canvas.width - 20 * this.ratio) continue;
      pen.fillRect(at, this.canvas.height - 5 * this.ratio, this.ratio, 5 * this.ratio);
      pen.fillText(`${+x.toPrecision(6)}`, at, this.canvas.height - 8 * this.ratio);
    }
    pen.textAlign = "left";
    for (let y = Math.ceil(v.y0 / high) * high; y < v.y1; y += high) {
      const at = this.py(y);
      if (at < 14 * this.ratio || at > this.canvas.height - 22 * this.ratio) continue;
      pen.fillRect(0, at, 5 * this.ratio, this.ratio);
      pen.fillText(`${+y.toPrecision(6)}`, 8 * this.ratio, at + 4 * this.ratio);
    }
    pen.restore();
  }

  /** Slacks, and the nearest points of the two hulls of the hard margin. */
  under(pen, shown) {
    const { points, settings } = this.state, d = shown.data;
    if (!d.slack) return;
    pen.save();
    pen.strokeStyle = "#b3261e";
    pen.lineWidth = 1.2 * this.ratio;
    pen.globalAlpha = 0.75;
    const straight = settings.kernel === "linear" && !this.state.detector && !this.state.regression;
    const w = straight ? slope(shown) : null;
    d.row.forEach((row, k) => {
      if (!(d.slack[k] > 1e-3) || !points[row]) return;
      const [x, y] = points[row];
      let to = null;
      if (this.state.regression) to = [x, y - Math.sign(d.y_f[k]) * d.slack[k]];
      else if (w) {
        const t = d.y[k] * d.slack[k] / (w[0] ** 2 + w[1] ** 2);
        to = [x + t * w[0], y + t * w[1]];
      }
      if (!to || !to.every(Number.isFinite)) return;
      pen.beginPath();
      pen.moveTo(this.px(x), this.py(y));
      pen.lineTo(this.px(to[0]), this.py(to[1]));
      pen.stroke();
    });
    pen.restore();
    if (settings.machine === "HardMarginSVC" && settings.kernel === "linear" && d.alpha) this.hulls(pen, d);
  }

  hulls(pen, d) {
    const sums = { "1": [0, 0, 0], "-1": [0, 0, 0] }, sides = { "1": [], "-1": [] };
    d.row.forEach((row, k) => {
      const p = this.state.points[row];
      if (!p) return;
      const sum = sums[d.y[k]], a = d.alpha[k];
      sum[0] += a * p[0]; sum[1] += a * p[1]; sum[2] += a;
      sides[d.y[k]].push(p);
    });
    pen.save();
    pen.strokeStyle = this.ink;
    pen.lineWidth = this.ratio;
    pen.globalAlpha = 0.5;
    for (const side of Object.values(sides)) {
      pen.beginPath();
      hull(side).forEach((p, k) => pen[k ? "lineTo" : "moveTo"](this.px(p[0]), this.py(p[1])));
      pen.closePath();
      pen.stroke();
    }
    const ends = Object.values(sums).filter(s => s[2] > 0).map(s => [this.px(s[0] / s[2]), this.py(s[1] / s[2])]);
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = GLOW;
    pen.lineWidth = 3 * this.ratio;
    pen.beginPath();
    ends.forEach((p, k) => pen[k ? "lineTo" : "moveTo"](p[0], p[1]));
    pen.stroke();
    for (const p of ends) { pen.beginPath(); pen.arc(p[0], p[1], 4 * this.ratio, 0, 7); pen.fill(); }
    pen.restore();
  }

  point(pen, p, i, shown) {
    const x = this.px(p[0]), y = this.py(p[1]), r = this.state.points.length > 400 ? 3.4 : 5;
    const k = shown?.place?.[i] ?? -1, glows = shown?.chosen?.includes(i), d = shown?.data;
    const frame = (colour, width, draw) => {
      pen.save();
      pen.translate(x, y);
      pen.scale(this.ratio, this.ratio);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      draw();
      pen.restore();
    };
    if (glows) frame(GLOW, 4, () => { pen.beginPath(); pen.arc(0, 0, r + 9, 0, 7); pen.stroke(); });
    const kind = k >= 0 ? KIND_NAMES[d.kind?.[k]] : "", alpha = k >= 0 ? d.alpha?.[k] ?? 0 : 0;
    const ring = alpha > 0 ? Math.ceil(8 * alpha / (shown.largest || 1)) : 0;
    const code = this.state.regression || this.state.detector ? 0 : p[2];
    const mark = this.mark(code % 4, r, ring, kind);
    pen.drawImage(mark, Math.round(x - mark.width / 2), Math.round(y - mark.height / 2));
    if (i === this.state.selected) frame(this.ink, 2.2, () => pen.strokeRect(-r - 6, -r - 6, 2 * r + 12, 2 * r + 12));
  }

  /** A point with its ring: as wide as the multiplier (0 to 8 eighths of the largest), dashed at the bound. */
  mark(code, r, ring, kind) {
    const free = kind === "free", wrong = kind === "misclassified", key = `${code} ${r} ${ring} ${free} ${wrong}`;
    const known = this.marks.get(key);
    if (known) return known;
    const made = document.createElement("canvas"), pen = made.getContext("2d", { willReadFrequently: true });
    made.width = made.height = 2 * Math.ceil((r + 7) * this.ratio);
    pen.translate(made.width / 2, made.height / 2);
    pen.scale(this.ratio, this.ratio);
    if (ring) {
      pen.strokeStyle = this.ink;
      pen.lineWidth = 1.2 + 2.2 * ring / 8;
      if (!free) pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.arc(0, 0, r + 4, 0, 7);
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.fillStyle = COLOURS[code];
    pen.strokeStyle = this.paper;
    pen.lineWidth = 1.2;
    pen.beginPath();
    shape(pen, code, r);
    pen.fill();
    pen.stroke();
    if (wrong) {
      pen.lineWidth = 1.6;
      pen.beginPath(); pen.moveTo(-2.4, -2.4); pen.lineTo(2.4, 2.4); pen.moveTo(-2.4, 2.4); pen.lineTo(2.4, -2.4); pen.stroke();
    }
    this.marks.set(key, made);
    return made;
  }
}

/** Pictures of a few hundred small marks are drawn faster in memory than by a graphics card. */
const pencil = canvas => canvas.getContext("2d", { alpha: false, willReadFrequently: true });

function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** w of a linear f, from three corners of its grid. */
function slope(shown) {
  const { x0, x1, y0, y1, nx, ny } = shown.view, f = shown.data.f;
  return [(f[nx - 1] - f[0]) / (x1 - x0), (f[(ny - 1) * nx] - f[0]) / (y1 - y0)];
}

/** The mark of a class: circle, square, triangle, diamond. */
export function shape(pen, code, r) {
  if (code % 4 === 0) pen.arc(0, 0, r, 0, 2 * Math.PI);
  else if (code % 4 === 1) pen.rect(-r * 0.9, -r * 0.9, 1.8 * r, 1.8 * r);
  else {
    const corners = code % 4 === 2 ? [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]] : [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
    corners.forEach(([a, b], k) => pen[k ? "lineTo" : "moveTo"](a * r, b * r));
    pen.closePath();
  }
}
