// Charts that share their time axis with the scrubber: pairs in each frame, stacked, and a strip for each body. A marker that moves is an
// element above the canvas, so that nothing is drawn again while the animation plays.

const RIGHT = 8, ROW = 15, MOST_STRIPS = 60;

// Kinds of pairs: those that are drawn, and those that do not count.
const loud = pageData.counts.filter((each) => !each.quiet), quiet = pageData.counts.filter((each) => each.quiet);

/** Steps of an axis of whole numbers from 0, about as many as asked for. */
const niceStep = (most, about) => roundUp(Math.max(most / about, 1));

/** A number for an axis. */
const short = (value) =>
  (value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${+(value / 1e3).toFixed(1)}k` : whole.format(value));

/** A chart whose columns are frames. Subclasses have `paint(context, width)`, a height, and `tell(place, y)` for the tip. */
class Chart {
  constructor(element, jump) {
    this.element = element;
    [this.canvas, this.marker, this.tip] = element.children;
    this.place = 0;
    const at = (event) => this.placeAt(event.clientX - element.getBoundingClientRect().left);
    element.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      element.setPointerCapture(event.pointerId);
      jump(at(event));
    });
    element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) jump(at(event));
      this.hover(event, at(event));
    });
    element.addEventListener("pointerleave", () => (this.tip.hidden = true));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(element);
  }

  get columns() {
    return Math.max(1, pageData.frames.length);
  }

  /** The middle of a frame's column. */
  x(place) {
    return this.left + ((place + 0.5) / this.columns) * (this.width - this.left - RIGHT);
  }

  placeAt(x) {
    const place = Math.floor(((x - this.left) / (this.width - this.left - RIGHT)) * this.columns);
    return Math.min(this.columns - 1, Math.max(0, place));
  }

  hover(event, place) {
    const box = this.element.getBoundingClientRect(), text = this.tell(place, event.clientY - box.top);
    this.tip.hidden = !text;
    this.tip.textContent = text;
    const before = this.x(place) > this.width / 2, x = Math.round(this.x(place) + (before ? -10 : 10));
    const y = this.tipTop(event.clientY - box.top);
    this.tip.style.transform = `translate(${x}px, ${y}px) translateX(${before ? -100 : 0}%)`;
  }

  tipTop() {
    return 0;
  }

  mark(place) {
    this.place = place;
    if (this.width) this.marker.style.transform = `translateX(${Math.round(this.x(place))}px)`;
  }

  draw() {
    this.width = this.element.clientWidth;
    this.left = pageData.bodies.length > 1 && this.width > 700 ? 112 : 56; // names of bodies, or numbers alone
    const ratio = devicePixelRatio || 1, height = this.height;
    if (!this.width) return;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    this.colour = (name) => style.getPropertyValue(name).trim();
    context.scale(ratio, ratio);
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    this.paint(context, this.width, height);
    this.mark(this.place);
  }

  /** The frame to draw for a point of the screen where several share it: the one with the most. [from, to) are places. */
  *bars(total) {
    const span = this.width - this.left - RIGHT, each = span / this.columns;
    if (each >= 1) {
      const gap = each > 4 ? 1 : 0;
      for (let place = 0; place < this.columns; place++) yield [place, this.left + place * each, each - gap];
      return;
    }
    for (let x = 0; x < Math.floor(span); x++) {
      const from = Math.floor(x / each), to = Math.min(this.columns, Math.max(from + 1, Math.floor((x + 1) / each)));
      let best = from;
      for (let place = from; place < to; place++) if (total(place) > total(best)) best = place;
      yield [best, this.left + x, 1];
    }
  }
}

class PairsChart extends Chart {
  constructor(element, jump) {
    super(element, jump);
    this.height = 138;
    this.totals = pageData.frames.map((_, place) => loud.reduce((sum, each) => sum + each.values[place], 0));
    this.marker.style.height = `${this.height - 20}px`;
    loud.forEach(({ name }, k) => {
      const label = made("span"), chip = made("i", "chip");
      chip.style.background = `var(--series-${k % 4})`;
      label.append(chip, name);
      byId("series").append(label);
    });
    for (const { name } of quiet) byId("series").append(made("span", "", `not drawn: ${name}`));
  }

  paint(context, width, height) {
    const top = 6, bottom = height - 20, most = this.totals.reduce((a, b) => Math.max(a, b), 0), step = niceStep(most, 4);
    const high = Math.max(step, Math.ceil(most / step) * step), y = (value) => bottom - (value / high) * (bottom - top);
    context.textAlign = "right";
    for (let value = 0; value <= high; value += step) {
      context.fillStyle = this.colour("--line");
      context.fillRect(this.left, Math.round(y(value)), width - this.left - RIGHT, 1);
      context.fillStyle = this.colour("--quiet");
      context.fillText(short(value), this.left - 8, y(value));
    }
    const colours = loud.map((_, k) => this.colour(`--series-${k % 4}`));
    for (const [place, x, wide] of this.bars((at) => this.totals[at])) {
      let sum = 0;
      loud.forEach(({ values }, k) => {
        if (!values[place]) return;
        context.fillStyle = colours[k];
        context.fillRect(x, y(sum + values[place]), wide, y(sum) - y(sum + values[place]));
        sum += values[place];
      });
    }
    this.paintAxis(context, width, bottom);
  }

  /** Numbers of frames, at round ones where frames are without gaps. */
  paintAxis(context, width, bottom) {
    const { frames } = pageData, step = niceStep(this.columns, Math.max(2, (width - this.left) / 80));
    context.fillStyle = this.colour("--quiet");
    context.textAlign = "center";
    for (let place = 0; place < frames.length; place += step) context.fillText(pageData.labels?.[place] ?? String(frames[place]), this.x(place), bottom + 12);
    context.textAlign = "right";
    context.fillText("frame", this.left - 8, bottom + 12);
  }

  tell(place) {
    if (!pageData.frames.length) return "";
    const parts = pageData.counts.filter(({ values }) => values[place]).map(({ name, values }) => `${whole.format(values[place])} ${name}`);
    return `frame ${labelOf(place)}: ${parts.join(", ") || "nothing meets"}`;
  }
}

/** Which bodies have how many pairs, frame by frame; of many bodies those with the most. */
class HeatChart extends Chart {
  constructor(element, jump) {
    super(element, jump);
    const sums = pageData.bodies.map((_, body) => [...loads[body].values()].reduce((a, b) => a + b, 0));
    const ranked = sums.map((_, body) => body).sort((a, b) => sums[b] - sums[a]);
    this.bodies = ranked.slice(0, MOST_STRIPS).sort((a, b) => a - b);
    this.most = Math.max(1, ...loads.map((each) => [...each.values()].reduce((a, b) => Math.max(a, b), 0)));
    this.height = ROW * this.bodies.length;
    this.marker.style.height = `${this.height}px`;
    const left = pageData.bodies.length - this.bodies.length;
    const some = `${this.bodies.length} of ${whole.format(pageData.bodies.length)} bodies, those with most`;
    if (left) byId("scale").append(made("span", "", some));
    byId("scale").append(made("span", "", "0"), made("i", "ramp"), made("span", "", short(this.most)));
  }

  paint(context, width) {
    const red = this.colour("--marked"), quiet = this.colour("--quiet"), under = this.colour("--hover");
    this.bodies.forEach((body, row) => {
      const y = row * ROW, load = loads[body];
      context.globalAlpha = 1;
      context.fillStyle = under;
      context.fillRect(this.left, y, width - this.left - RIGHT, ROW - 2);
      context.fillStyle = `rgb(${colourOf(body)})`;
      context.fillRect(this.left - 7, y, 3, ROW - 2);
      context.fillStyle = quiet;
      context.textAlign = "right";
      context.fillText(fitted(context, pageData.bodies[body].name, this.left - 14), this.left - 11, y + ROW / 2 - 1);
      context.fillStyle = red;
      for (const [place, x, wide] of this.bars((at) => load.get(at) ?? 0)) {
        const pairs = load.get(place);
        if (!pairs) continue;
        context.globalAlpha = 0.12 + 0.88 * Math.sqrt(pairs / this.most);
        context.fillRect(x, y, Math.max(1, wide), ROW - 2);
      }
    });
    context.globalAlpha = 1;
  }

  tell(place, y) {
    const body = this.bodies[Math.floor(y / ROW)];
    if (body === undefined || !pageData.frames.length) return "";
    return `${pageData.bodies[body].name}, frame ${labelOf(place)}: ${whole.format(loads[body].get(place) ?? 0)}`;
  }

  tipTop(y) {
    return Math.max(0, Math.floor(y / ROW) * ROW - 28);
  }
}

/** As much of a text as there is room for; both ends, since names often differ in a number at the end. */
function fitted(context, text, room) {
  let length = Math.min(text.length, 40);
  if (length === text.length && context.measureText(text).width <= room) return text;
  const shortened = () => `${text.slice(0, Math.ceil(length / 2))}…${text.slice(text.length - Math.floor(length / 2))}`;
  while (length > 1 && context.measureText(shortened()).width > room) length--;
  return shortened();
}
