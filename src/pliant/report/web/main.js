// Joins everything: the place in time, who wants to know of it, keys and buttons.

const PLAY = "M4 2.5v11L13 8z", PAUSE = "M4 3h3v10H4zM9 3h3v10H9z";

/** A view, or null and a message that says why there is none. */
function opened() {
  const canvas = byId("scene");
  const tell = (text) => {
    canvas.remove();
    for (const each of document.querySelectorAll(".legend, .tools, #volumes, #all-clear, #progress")) each.hidden = true;
    Object.assign(byId("message"), { hidden: false, textContent: text });
    return null;
  };
  if (!pageData.shown.length) return tell(pageData.absent);
  const missing = (what) => tell(`This browser has no ${what}, so there is no 3D view. Charts and tables work.`);
  if (typeof DecompressionStream === "undefined") return missing("DecompressionStream");
  const context = canvas.getContext("webgl2", { antialias: true, alpha: true, powerPreference: "high-performance" });
  return context ? new Viewer(canvas, context) : missing("WebGL 2");
}

class Page {
  constructor() {
    this.place = 0;
    this.playing = false;
    this.frames = new Frames();
    this.tellHead();
    this.viewer = opened();
    this.charts = [new PairsChart(byId("pairs"), (place) => this.jump(place))];
    this.bodies = new BodiesTable(this.viewer);
    if (pageData.bodies.length > 1) {
      byId("by-body").hidden = false;
      this.charts.push(new HeatChart(byId("heat"), (place) => this.jump(place)));
    }
    const rows = pageData.events.length ? eventsTable((event) => this.open(event)) : null;
    if (!rows) {
      contactsTable((place, _first, _second, _pairs, x, y, z, radius) => {
        this.jump(place);
        this.viewer?.focus([x, y, z], radius);
      });
    }
    framesTable(this.charts[0].totals, (place) => this.jump(place));
    for (const each of this.charts) each.draw();
    this.wire();
    this.go(0);
    if (rows && pageData.verdict?.kind === "collisions") rows[0].click();
    this.ready = this.viewer ? this.load() : Promise.resolve();
  }

  tellHead() {
    byId("title").textContent = pageData.title;
    for (const [name, value] of pageData.facts) {
      const pair = made("div");
      pair.append(made("dt", "", name), made("dd", "", value));
      byId("facts").append(pair);
    }
    const { verdict } = pageData;
    if (verdict) {
      byId("verdict").hidden = false;
      byId("verdict").classList.add(verdict.kind);
      byId("verdict-title").textContent = verdict.title;
      byId("verdict-notes").append(...verdict.notes.map((text) => made("li", "", text)));
    }
    byId("notes").append(...pageData.notes.map((text) => made("li", "", text)));
  }

  /** Go to the worst frame of an event, or to its time between two frames, look at it, and show its bodies alone. */
  open(event) {
    this.jump(event.place, event.between && event);
    this.isolate([event.first, event.second]);
    this.viewer?.focus(event.centre, 1.5 * event.radius);
  }

  /** Show these bodies alone; null: all. */
  isolate(bodies) {
    if (!this.viewer) return;
    this.bodies.isolate(bodies);
    byId("all").hidden = !bodies || pageData.bodies.every((_, body) => bodies.includes(body));
  }

  /** Tell of the face under a point of the screen. */
  async tellFace(x, y) {
    const found = this.viewer.pick(x, y), panel = byId("face");
    const asked = (this.asked = (this.asked ?? 0) + 1);
    if (!found) return (panel.hidden = true);
    const { piece } = this.viewer.shown[found.body];
    this.details ??= [];
    this.details[found.body] ??= new Details(found.body).load();
    const rows = (await this.details[found.body]).of(found.face, piece);
    if (asked !== this.asked) return;
    panel.replaceChildren(...rows.flatMap(([name, value]) => [made("dt", "", name), made("dd", "", value)]));
    panel.hidden = false;
  }

  /** Read all frames; the page is in use meanwhile. */
  async load() {
    try {
      for (let chunk = 0; chunk < pageData.chunks; chunk++) {
        this.frames.read(await block(`frames-${chunk}`));
        byId("progress").value = (chunk + 1) / pageData.chunks;
        this.go(this.place);
      }
      byId("progress").hidden = true;
    } catch (error) {
      Object.assign(byId("message"), { hidden: false, textContent: `The frames cannot be read: ${error.message}` });
    }
  }

  /** Where playing and single steps go: frames that the view has, or all, if there is none. */
  get stops() {
    return this.viewer ? this.frames.list.length : pageData.frames.length;
  }

  placeOf(stop) {
    return this.viewer ? this.frames.list[stop].place : stop;
  }

  /** The last stop that is not after a place; −1 if there is none. */
  stopAt(place) {
    let low = 0, high = this.stops;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.placeOf(middle) <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** By the user: stop playing and go there; or to the time of an event between two frames, near that place. */
  jump(place, moment = null) {
    this.play(false);
    this.moment = moment;
    this.go(place);
  }

  go(place) {
    if (!pageData.frames.length) return;
    const start = performance.now();
    this.place = Math.min(pageData.frames.length - 1, Math.max(0, place));
    const between = this.viewer && this.moment && this.frames.between(this.moment.between, this.moment);
    const frame = between || (this.viewer && this.stops ? this.frames.nearest(this.place) : null);
    if (frame) this.viewer.show(frame);
    for (const each of this.charts) each.mark(this.place);
    this.bodies.count(this.place, frame);
    byId("scrub").value = this.place;
    byId("now").textContent = `frame ${pageData.labels?.[this.place] ?? pageData.frames[this.place]} · ${(pageData.frames[this.place] / pageData.rate).toFixed(2)} s`;
    const other = frame && frame.place !== this.place;
    const passing = between && `the view shows the way ${this.moment.frames}`;
    byId("drawn").textContent = passing || (other ? `the view shows frame ${labelOf(frame.place)}, the nearest it has` : "");
    this.tellLevel();
    this.cost = performance.now() - start;
  }

  step(count) {
    const now = this.stopAt(this.place), between = now >= 0 && this.placeOf(now) < this.place && count < 0;
    const stop = Math.min(this.stops - 1, Math.max(0, now + count + (between ? 1 : 0)));
    if (this.stops) this.jump(this.placeOf(stop));
  }

  play(on) {
    if (on === this.playing || !this.stops) return;
    this.playing = on;
    byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
    byId("sign").setAttribute("d", on ? PAUSE : PLAY);
    if (!on) return;
    this.moment = null;
    const last = this.placeOf(Math.max(0, this.stops - 1));
    if (this.place >= last && !byId("loop").checked) this.go(0);
    this.time = pageData.frames[this.place];
    this.clock = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  /** Frames by the clock: a slow machine leaves some out, and the animation keeps its pace. */
  tick(now) {
    if (!this.playing) return;
    const { frames } = pageData, end = this.stops - 1;
    this.time += (Math.max(0, now - this.clock) / 1000) * pageData.rate * Number(byId("speed").value);
    this.clock = Math.max(now, this.clock);
    if (end >= 0) {
      const first = frames[this.placeOf(0)], last = frames[this.placeOf(end)];
      const length = last - first + (end ? (last - first) / end : 1); // the last frame is shown as long as others
      if (this.time >= first + length) {
        if (!byId("loop").checked) {
          this.go(this.placeOf(end));
          return this.play(false);
        }
        this.time = first + ((this.time - first) % length);
      }
      let low = 0, high = end + 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (frames[this.placeOf(middle)] <= this.time) low = middle + 1;
        else high = middle;
      }
      const place = this.placeOf(Math.max(0, low - 1));
      if (place !== this.place) this.go(place);
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  /** Level 0 is off; 1 are the children of the root. */
  async setLevel(level) {
    byId("level").value = level;
    const needed = this.viewer.shown.filter((each) => each.hierarchy && !each.hierarchy.ranges);
    this.hierarchies ??= level ? Promise.all(needed.map((each) => each.hierarchy.load())) : null;
    await this.hierarchies;
    this.viewer.setLevel(Number(byId("level").value));
    this.tellLevel();
  }

  tellLevel() {
    if (!this.viewer) return;
    const { level, shown } = this.viewer, count = shown.reduce((sum, each) => sum + (each.visible ? each.count ?? 0 : 0), 0);
    const text = `${whole.format(count)} boxes, axis-aligned, around the faces that each volume of the tree encloses at this level, ` +
      "where they are in this frame. Branches that end above count with their leaves.";
    byId("level-name").textContent = level ? `level ${level}` : "off";
    const off = "Move the slider to see boxes around what the volumes of the trees enclose, level by level from the root down.";
    byId("level-text").textContent = level ? text : off;
  }

  wire() {
    const on = (name, kind, act) => byId(name).addEventListener(kind, (event) => act(event.target));
    const scrub = byId("scrub"), most = Math.max(0, ...pageData.bodies.map(({ levels }) => levels.length - 1));
    scrub.max = Math.max(0, pageData.frames.length - 1);
    on("scrub", "input", ({ value }) => {
      const frame = this.viewer && this.stops ? this.frames.nearest(Number(value)) : null;
      this.jump(frame ? frame.place : Number(value));
    });
    on("play", "click", () => this.play(!this.playing));
    on("first", "click", () => this.step(-Infinity));
    on("last", "click", () => this.step(Infinity));
    on("back", "click", () => this.step(-1));
    on("forward", "click", () => this.step(1));
    document.addEventListener("keydown", (event) => this.key(event));
    if (!this.viewer) return;
    byId("volumes").hidden = !most;
    Object.assign(byId("level"), { max: most });
    byId("all-clear").hidden = pageData.bodies.length < 2;
    byId("up").value = pageData.up || "z";
    on("bodies", "change", () => this.tellLevel());
    on("level", "input", ({ value }) => this.setLevel(Number(value)));
    on("up", "change", ({ value }) => this.viewer.setUp(value));
    on("reset", "click", () => this.viewer.reset());
    on("all", "click", () => this.isolate(null));
    on("quiet", "change", ({ checked }) => {
      this.viewer.quiet = checked;
      byId("known-legend").hidden = !checked;
      for (const each of this.viewer.shown) if (each.piece) each.mark();
      this.viewer.invalidate();
    });
    byId("quiet-label").hidden = !quiet.length;
    byId("near-legend").hidden = !pageData.counts.some(({ name }) => name === "near");
    const canvas = byId("scene");
    let pressed = null;
    canvas.addEventListener("pointerdown", (event) => (pressed = event.button ? null : [event.clientX, event.clientY]));
    canvas.addEventListener("pointerup", (event) => {
      const [x, y] = pressed ?? [Infinity, Infinity];
      if (Math.hypot(event.clientX - x, event.clientY - y) < 4) this.tellFace(event.clientX, event.clientY);
      pressed = null;
    });
    on("grid", "change", ({ checked }) => {
      this.viewer.floor.visible = checked;
      byId("squares").hidden = !checked;
      this.viewer.invalidate();
    });
    on("hidden", "change", ({ checked }) => {
      this.viewer.through = checked;
      for (const each of this.viewer.shown) if (each.piece) each.mark();
      this.viewer.invalidate();
    });
    on("clear", "change", ({ checked }) => {
      for (const box of document.querySelectorAll("#bodies .clear")) if (box.checked !== checked) box.click();
    });
  }

  key(event) {
    const kind = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || kind === "SELECT") return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (steps[event.key] && event.target.id !== "level") this.step(steps[event.key]);
    else if (event.key === " " && kind !== "BUTTON" && event.target.type !== "checkbox") this.play(!this.playing);
    else return;
    event.preventDefault();
  }
}

window.report = new Page();
