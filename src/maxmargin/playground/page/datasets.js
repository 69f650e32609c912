// Points to start from; the same numbers every time.

function dice(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function bell(next) {
  return Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

function cloud(next, n, x, y, s, c) {
  return Array.from({ length: n }, () => [x + s * bell(next), y + s * bell(next), c]);
}

export const DATASETS = {
  clouds: next => [...cloud(next, 20, -1.3, -0.6, 0.85, 0), ...cloud(next, 20, 1.3, 0.7, 0.85, 1)],
  separable: next => [...cloud(next, 14, -1.8, -0.9, 0.5, 0), ...cloud(next, 14, 1.7, 0.9, 0.5, 1)],
  moons: next => Array.from({ length: 50 }, (_, k) => {
    const t = Math.PI * (k >> 1) / 24, up = k % 2;
    const p = up ? [1 - Math.cos(t), 0.5 - Math.sin(t)] : [Math.cos(t), Math.sin(t)];
    return [1.5 * (p[0] - 0.5) + 0.22 * bell(next), 1.5 * (p[1] - 0.25) + 0.22 * bell(next), up];
  }),
  rings: next => Array.from({ length: 56 }, (_, k) => {
    const t = 2 * Math.PI * next(), r = (k % 2 ? 2.1 : 0.8) + 0.2 * bell(next);
    return [r * Math.cos(t), r * Math.sin(t), k % 2];
  }),
  xor: next => [[-1.4, -1.1, 0], [1.4, 1.1, 0], [-1.4, 1.1, 1], [1.4, -1.1, 1]].flatMap(([x, y, c]) => cloud(next, 12, x, y, 0.5, c)),
  three: next => [[-1.8, -0.9, 0], [1.8, -0.7, 1], [0, 1.4, 2]].flatMap(([x, y, c]) => cloud(next, 14, x, y, 0.6, c)),
  curve: next => Array.from({ length: 40 }, (_, k) => {
    const x = -3.4 + 6.8 * k / 39;
    return [x, 1.5 * Math.sin(1.2 * x) + 0.25 * bell(next), 0];
  }),
  spread: next => [...cloud(next, 34, -0.8, 0, 0.6, 0), ...cloud(next, 14, 1.6, 0.6, 0.35, 0), [-3.2, 2.2, 0], [3.2, -2.1, 0]],
};

/** @param {string} name @returns {number[][]} */
export function dataset(name) {
  return DATASETS[name](dice(7)).map(p => [+p[0].toFixed(3), +p[1].toFixed(3), p[2]]);
}

/** The part of the plane around the points, with room and square units. */
export function viewOf(points) {
  const usual = { x0: -4, x1: 4, y0: -3, y1: 3 };
  if (!points.length) return usual;
  const xs = points.map(p => p[0]), ys = points.map(p => p[1]);
  const inside = (list, low, high) => list.every(v => v >= low && v <= high);
  if (inside(xs, -4, 4) && inside(ys, -3, 3) && Math.max(...xs) - Math.min(...xs) > 1.5) return usual;
  const cx = (Math.min(...xs) + Math.max(...xs)) / 2, cy = (Math.min(...ys) + Math.max(...ys)) / 2;
  const half = Math.max((Math.max(...xs) - Math.min(...xs)) / 8, (Math.max(...ys) - Math.min(...ys)) / 6, 1e-6) * 4.6;
  return { x0: cx - half, x1: cx + half, y0: cy - 0.75 * half, y1: cy + 0.75 * half };
}
