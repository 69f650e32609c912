// Level lines of a grid as whole polylines, so that dashes run on from cell to cell.

/**
 * @param {Float32Array} f values, row by row @param {number} nx @param {number} ny @param {number} level
 * @returns {number[][][]} polylines in units of the grid
 */
export function contours(f, nx, ny, level) {
  const links = new Map(); // edge -> the edges that share a cell with it
  const places = new Map();
  const place = (key, i, j, di, dj) => {
    if (places.has(key)) return key;
    const a = f[j * nx + i] - level, b = f[(j + dj) * nx + i + di] - level;
    const t = a === b ? 0.5 : a / (a - b);
    places.set(key, [i + di * t, j + dj * t]);
    return key;
  };
  const join = (a, b) => {
    for (const [from, to] of [[a, b], [b, a]]) {
      const list = links.get(from);
      if (list) list.push(to); else links.set(from, [to]);
    }
  };
  for (let j = 0; j < ny - 1; j++) {
    for (let i = 0; i < nx - 1; i++) {
      const k = j * nx + i;
      const a = f[k] >= level, b = f[k + 1] >= level, c = f[k + nx + 1] >= level, d = f[k + nx] >= level;
      if (a === b && b === c && c === d) continue;
      const edges = [];
      if (a !== b) edges.push(place(2 * k, i, j, 1, 0));
      if (b !== c) edges.push(place(2 * (k + 1) + 1, i + 1, j, 0, 1));
      if (c !== d) edges.push(place(2 * (k + nx), i, j + 1, 1, 0));
      if (d !== a) edges.push(place(2 * k + 1, i, j, 0, 1));
      if (edges.length === 2) join(edges[0], edges[1]);
      else {
        const centre = (f[k] + f[k + 1] + f[k + nx] + f[k + nx + 1]) / 4 >= level;
        if (centre === a) { join(edges[0], edges[1]); join(edges[2], edges[3]); }
        else { join(edges[0], edges[3]); join(edges[1], edges[2]); }
      }
    }
  }
  return chains(links, places);
}

function chains(links, places) {
  const done = new Set();
  const lines = [];
  const walk = start => {
    const line = [];
    let here = start;
    while (here !== undefined && !done.has(here)) {
      done.add(here);
      line.push(places.get(here));
      here = links.get(here).find(next => !done.has(next));
    }
    return line;
  };
  for (const [key, next] of links) if (next.length === 1 && !done.has(key)) lines.push(walk(key));
  for (const key of links.keys()) {
    if (done.has(key)) continue;
    const line = walk(key);
    line.push(line[0]); // a ring
    lines.push(line);
  }
  return lines;
}

/** The corners of the convex hull of points [x, y], in order. */
export function hull(points) {
  const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  const half = list => {
    const kept = [];
    for (const p of list) {
      while (kept.length > 1 && turn(kept[kept.length - 2], kept[kept.length - 1], p) <= 0) kept.pop();
      kept.push(p);
    }
    kept.pop();
    return kept;
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
