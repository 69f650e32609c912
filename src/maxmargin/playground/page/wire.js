// Replies as bytes: length of the header, header as JSON, arrays as float32, body.

/**
 * @param {ArrayBuffer} buffer
 * @returns {any} the header with its arrays as Float32Array and its body as bytes
 */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = 4 + length;
  const data = {};
  for (const [name, offset, count] of header.arrays)
    data[name] = new Float32Array(buffer.slice(start + offset, start + offset + 4 * count));
  const [place, size] = header.body;
  return { ...header, data, body: size ? buffer.slice(start + place, start + place + size) : null };
}

/** One request in flight; of several wishes with the same name only the latest is sent. */
export class Talk {
  /** @param {{send: (message: object) => void, away?: boolean}} host @param {(reply: any) => void} pushed */
  constructor(host, pushed) {
    this.host = host;
    this.pushed = pushed;
    this.number = 0;
    this.flying = null;
    this.queue = [];
    this.wishes = new Map();
  }

  /** Questions asked before will not be answered. */
  forget() {
    this.flying = null;
    this.queue = [];
    this.wishes.clear();
  }

  ask(message) {
    return new Promise(answer => { this.queue.push({ make: () => message, heard: answer }); this.next(); });
  }

  wish(name, make, heard) {
    this.wishes.delete(name);
    this.wishes.set(name, { make, heard });
    this.next();
  }

  next() {
    if (this.flying || this.host.away) return;
    let job = this.queue.shift();
    if (!job && this.wishes.size) {
      const [name, first] = this.wishes.entries().next().value;
      this.wishes.delete(name);
      job = first;
    }
    if (!job) return;
    this.flying = { ...job, id: ++this.number };
    this.host.send({ ...job.make(), id: this.number });
  }

  hear(reply) {
    if (!this.flying || reply.id !== this.flying.id) {
      if (reply.id === undefined || reply.id === null) this.pushed(reply);
      return;
    }
    const { heard } = this.flying;
    this.flying = null;
    this.next(); // the other side works while this one draws
    heard(reply);
  }
}
