// What the page tells, and its frames: blocks of base64, inflated one after the other, the first frames first.
// The format is described in encode.py. Names and texts are strangers': they enter the page as textContent alone.

const ORDER = 3, NEIGHBOURS = 4, SAME = 8;

const byId = (name) => document.getElementById(name);
const pageData = JSON.parse(byId("page-data").textContent);
const whole = new Intl.NumberFormat("en");

/** A new element with a class and a text. */
function made(kind, className = "", text = "") {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

/** What people call a frame. */
const labelOf = (place) => pageData.labels?.[place] ?? whole.format(pageData.frames[place]);

/** Lists of marked faces of a body: intersecting, near, known. */
const MARKS = ["marked", "near", "quiet"];

/** A name for a table: of long ones both ends, since they often differ in a number at the end. */
const brief = (name) => (name.length > 64 ? `${name.slice(0, 36)}…${name.slice(-24)}` : name);

/** 1, 2 or 5 times a power of ten: the next that is not smaller. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}

/** The bytes of a block, as soon as all of it is there; the page is still being read, perhaps. */
async function block(name) {
  for (;;) {
    const found = byId(name);
    const read = document.readyState !== "loading";
    if (found && (read || found.nextElementSibling)) {
      const text = atob(found.textContent), bytes = new Uint8Array(text.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
      found.remove();
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    }
    if (read) throw new Error(`${name} is missing: the file is not complete`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** Integers that are told by how they differ from the one before, four planes of bytes. */
function integers(bytes, at, count) {
  const values = new Uint32Array(count);
  for (let i = 0, last = 0; i < count; i++) {
    const j = at + i;
    const code = bytes[j] | (bytes[j + count] << 8) | (bytes[j + 2 * count] << 16) | (bytes[j + 3 * count] << 24);
    last = (last + ((code >>> 1) ^ -(code & 1))) | 0;
    values[i] = last;
  }
  return values;
}

/** Positions (n × 3), in units of the grid. */
function positions(bytes, at, count, mode, before, earlier) {
  const grid = new Int16Array(3 * count), order = mode & ORDER;
  for (let axis = 0; axis < 3; axis++) {
    let sum = 0;
    for (let i = 0, low = at + axis * count, high = low + 3 * count, k = axis; i < count; i++, k += 3) {
      const code = bytes[low + i] | (bytes[high + i] << 8);
      let value = (code >>> 1) ^ -(code & 1);
      if (mode & NEIGHBOURS) sum = value = sum + value;
      if (order === 1) value += before[k];
      else if (order === 2) value += 2 * before[k] - earlier[k];
      grid[k] = value;
    }
  }
  return grid;
}

/** All frames that are read so far: {place, pieces}, of each body {grid, zero, step, faces, marked, near, quiet, first}. */
class Frames {
  constructor() {
    this.list = [];
    this.past = pageData.bodies.map(() => []);
  }

  /** Read a chunk. */
  read(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset), bodies = this.past.length;
    for (let at = 0; at < bytes.length;) {
      const place = view.getInt32(at, true), head = at + 4, places = head + 24 * bodies, pieces = [];
      at = places + 32 * bodies;
      for (let body = 0; body < bodies; body++) {
        const [mode, vertices, faces, ...counts] = [0, 4, 8, 12, 16, 20].map((k) => view.getInt32(head + 24 * body + k, true));
        const [x, y, z, step] = [0, 8, 16, 24].map((k) => view.getFloat64(places + 32 * body + k, true));
        const [before, earlier] = this.past[body];
        const piece = { zero: [x, y, z], step, faces: before?.faces, first: !before || (before.first && faces < 0) };
        if (faces >= 0) {
          piece.faces = integers(bytes, at, 3 * faces);
          at += 12 * faces;
        }
        piece.grid = mode & SAME ? before.grid : positions(bytes, at, vertices, mode, before?.grid, earlier?.grid);
        at += mode & SAME ? 0 : 6 * vertices;
        MARKS.forEach((name, k) => {
          piece[name] = counts[k] < 0 ? before?.[name] ?? new Uint32Array(0) : integers(bytes, at, counts[k]);
          at += 4 * Math.max(counts[k], 0);
        });
        pieces.push(piece);
        this.past[body] = [piece, before];
      }
      this.list.push({ place, pieces });
    }
  }

  /** The positions at a time between two frames, where vertices move on straight lines; these faces of two bodies are marked. Null, if the
   * view lacks one of the frames. */
  between({ before, after, share }, { first, second, marked }) {
    const [one, other] = [before, after].map((place) => this.list.find((frame) => frame.place === place));
    if (!one || !other) return null;
    const pieces = one.pieces.map((piece, body) => {
      const next = other.pieces[body], faces = [[first, 0], [second, 1]].filter(([each]) => each === body).flatMap(([, k]) => marked[k] ?? []);
      const marks = { marked: Uint32Array.from(new Set(faces)), near: new Uint32Array(0), quiet: new Uint32Array(0) };
      if (piece.faces !== next.faces || piece.grid.length !== next.grid.length) return { ...piece, ...marks };
      const step = Math.max(piece.step, next.step) || 1, a = ((1 - share) * piece.step) / step, b = (share * next.step) / step;
      const zero = piece.zero.map((value, axis) => (1 - share) * value + share * next.zero[axis]);
      return { ...piece, ...marks, zero, step, grid: piece.grid.map((value, k) => Math.round(a * value + b * next.grid[k])) };
    });
    return { place: before, pieces };
  }

  /** The frame that is nearest to a place among those that are read; of two the earlier. */
  nearest(place) {
    const list = this.list;
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].place < place) low = middle + 1;
      else high = middle;
    }
    if (low === list.length) return list[low - 1];
    return low && place - list[low - 1].place <= list[low].place - place ? list[low - 1] : list[low];
  }
}

/** The hierarchy of a body: which vertices each volume of a level has. Read when it is first asked for. */
class Hierarchy {
  constructor(body) {
    this.body = body;
    this.levels = [];
  }

  async load() {
    const counts = pageData.bodies[this.body].levels, bytes = await block(`hierarchy-${this.body}`);
    const total = pageData.bodies[this.body].order;
    this.order = integers(bytes, 0, total);
    this.ranges = [];
    for (let level = 0, at = 4 * total; level < counts.length; at += 8 * counts[level], level++) {
      this.ranges.push(integers(bytes, at, 2 * counts[level]));
    }
  }

  /** {members, begins}: volume v of a level has the vertices members[begins[v]] … members[begins[v + 1] − 1], each once. */
  level(level, piece) {
    if (this.levels[level]) return this.levels[level];
    const ranges = this.ranges[level], count = ranges.length / 2, begins = new Uint32Array(count + 1);
    const seen = new Int32Array(piece.grid.length / 3).fill(-1), members = new Uint32Array(piece.faces.length);
    let used = 0;
    for (let volume = 0; volume < count; volume++) {
      for (let k = ranges[volume]; k < ranges[count + volume]; k++) {
        for (let corner = 3 * this.order[k], end = corner + 3; corner < end; corner++) {
          const vertex = piece.faces[corner];
          if (seen[vertex] !== volume) members[used++] = vertex;
          seen[vertex] = volume;
        }
      }
      begins[volume + 1] = used;
    }
    return (this.levels[level] = { members: members.slice(0, used), begins });
  }
}

/** Polygons, materials and bones of the faces of a body, and the numbers of its vertices in the file. Read when they are first asked for. */
class Details {
  constructor(body) {
    this.body = body;
  }

  async load() {
    const lengths = pageData.bodies[this.body].details, total = lengths.reduce((a, b) => a + b, 0);
    const bytes = total ? await block(`details-${this.body}`) : null;
    let at = 0;
    const read = (count) => {
      const values = count ? new Int32Array(integers(bytes, at, count).buffer) : null;
      at += 4 * count;
      return values;
    };
    [this.polygons, this.materials, this.bones, this.vertices] = lengths.map(read);
    return this;
  }

  /** What is known of a face: [name, value] each. */
  of(face, piece) {
    const { name, materials, bones, ids } = pageData.bodies[this.body], corners = [0, 1, 2].map((k) => piece.faces[3 * face + k]);
    const found = [["body", name], ["face", String(face)]];
    if (piece.first && this.polygons) found.push(["polygon", String(this.polygons[face])]);
    if (piece.first && this.materials) found.push(["material", materials[this.materials[face]] ?? "none"]);
    if (piece.first && this.bones) found.push(["bone", bones[this.bones[face]] ?? "none"]);
    if (ids !== "unknown" && piece.first) {
      found.push(["vertices", corners.map((vertex) => (this.vertices ? this.vertices[vertex] : vertex)).join(", ")]);
    }
    return found;
  }
}

/** Boxes of a level around this frame's positions: low and high corners, in units of the grid, written into `low` and `high`. */
function boxes({ members, begins }, grid, low, high) {
  for (let volume = 0, k = 0; volume + 1 < begins.length; volume++, k += 3) {
    let x0 = 32767, y0 = 32767, z0 = 32767, x1 = -32768, y1 = -32768, z1 = -32768;
    for (let i = begins[volume]; i < begins[volume + 1]; i++) {
      const at = 3 * members[i], x = grid[at], y = grid[at + 1], z = grid[at + 2];
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
      if (z < z0) z0 = z;
      if (z > z1) z1 = z;
    }
    low[k] = x0; low[k + 1] = y0; low[k + 2] = z0;
    high[k] = x1; high[k + 1] = y1; high[k + 2] = z1;
  }
}
