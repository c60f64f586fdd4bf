// The 3D view. World coordinates are centred and scaled to a radius of 1, in double precision, with y up, so that float32 suffices on the
// graphics card wherever bodies are and however large. Drawn only when something has changed.

// Muted, so that red is left to faces that meet.
const COLOURS = ["#8097bd", "#93b08c", "#cbb47e", "#a996c6", "#6fa9a7", "#b79d84", "#8f9ca8", "#a6aa6c", "#b293ae", "#86b2cd"];
const FIELD = 36; // degrees of height
const SHEER = { transparent: true, depthWrite: false };
const BOX = [0, 1, 1, 3, 3, 2, 2, 0, 4, 5, 5, 7, 7, 6, 6, 4, 0, 4, 1, 5, 2, 6, 3, 7]; // corners of the edges, by bits
// Directions of x, y and z in a world with y up, by the axis that is up: columns of a rotation.
const TURNS = { x: [0, 1, 0, 0, 0, 1, 1, 0, 0], y: [1, 0, 0, 0, 1, 0, 0, 0, 1], z: [0, 0, 1, 1, 0, 0, 0, 1, 0] };

/** The parts of a colour #rrggbb. */
const parts = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));

/** The colour of a body, sRGB; bodies beyond the palette have darker and lighter ones. */
function colourOf(body) {
  const round = Math.floor(body / COLOURS.length) % 3;
  return parts(COLOURS[body % COLOURS.length]).map((value) => Math.round([value, 0.78 * value, 0.62 * value + 0.38 * 240][round]));
}

/** sRGB from 0 to 255 as linear light. */
const linear = (rgb) => new THREE.Vector3(...rgb.map((value) => (value / 255) ** 2.2));

/** A colour of the style sheet. */
const styled = (name) => parts(getComputedStyle(document.documentElement).getPropertyValue(name).trim());

/** A body: its surface, its marked faces before and behind others, and boxes of its hierarchy. */
class Shown {
  constructor(viewer, body) {
    const { up } = viewer;
    this.viewer = viewer;
    this.piece = null;
    this.visible = true;
    this.hierarchy = pageData.bodies[body].levels.length ? new Hierarchy(body) : null;
    const colour = { value: linear(colourOf(body)) };
    const surface = (clear, options) => material(SURFACE_VERTEX, SURFACE_FRAGMENT, { up, colour, clear: { value: clear } }, options);
    this.solid = surface(0, { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }); // marked faces are in front of it
    this.clear = surface(1, SHEER);
    this.group = new THREE.Group();
    this.group.matrixAutoUpdate = false;
    this.surface = new THREE.Mesh(undefined, this.solid);
    this.marks = MARKS.map((name) => new Marks(name, viewer.materials[name]));
    const edges = material(BOX_VERTEX, LINE_FRAGMENT, { colour: viewer.edge, opacity: { value: 0.6 } }, SHEER);
    this.boxes = new THREE.LineSegments(undefined, edges);
    this.boxes.renderOrder = 2;
    for (const each of [this.surface, ...this.marks.flatMap((marks) => marks.meshes), this.boxes]) {
      each.frustumCulled = false;
      each.matrixAutoUpdate = false;
      this.group.add(each);
    }
    this.setClear(false);
  }

  setClear(clear) {
    this.surface.material = clear ? this.clear : this.solid;
    this.surface.renderOrder = clear ? 4 : 0;
  }

  /** Show the body as it is in a frame. Arrays go to the graphics card as they are. */
  show(piece) {
    const { centre, scale } = this.viewer, size = piece.step * scale;
    const [x, y, z] = piece.zero.map((value, axis) => (value - centre[axis]) * scale);
    this.group.matrix.set(size, 0, 0, x, 0, size, 0, y, 0, 0, size, z, 0, 0, 0, 1);
    if (piece === this.piece) return;
    if (this.piece?.faces !== piece.faces || this.piece.grid.length !== piece.grid.length) this.connect(piece);
    else if (this.piece.grid !== piece.grid) {
      this.position.array = piece.grid;
      this.position.needsUpdate = true;
    }
    this.piece = piece;
    this.mark();
    this.bound();
  }

  /** Geometry for faces that are new. */
  connect(piece) {
    this.surface.geometry.dispose();
    this.position = new THREE.BufferAttribute(piece.grid, 3);
    this.surface.geometry = new THREE.BufferGeometry().setAttribute("position", this.position);
    this.surface.geometry.setIndex(new THREE.BufferAttribute(piece.faces, 1));
    for (const each of this.marks) each.connect(this.position);
  }

  /** Show the marked faces. */
  mark() {
    for (const each of this.marks) each.show(this.piece, this.viewer);
  }

  /** {face, distance}: the nearest face that a ray meets, both in the world of the view; null if there is none. */
  hit(origin, direction) {
    if (!this.visible || !this.piece) return null;
    const inverse = this.group.matrixWorld.clone().invert(), o = origin.clone().applyMatrix4(inverse);
    const d = origin.clone().add(direction).applyMatrix4(inverse).sub(o), { grid, faces } = this.piece;
    const found = { face: -1, distance: Infinity };
    for (let face = 0; 3 * face < faces.length; face++) {
      const [p, q, r] = [0, 1, 2].map((k) => 3 * faces[3 * face + k]);
      const distance = meets(o, d, grid, p, q, r);
      if (distance < found.distance) Object.assign(found, { face, distance });
    }
    return found.face < 0 ? null : found;
  }

  /** Boxes of the level that is chosen, around where vertices are now. */
  bound() {
    const level = this.viewer.level;
    const drawn = level > 0 && this.hierarchy?.ranges && this.piece?.first;
    this.boxes.visible = Boolean(drawn);
    this.count = 0;
    if (!drawn) return;
    const chosen = this.hierarchy.level(Math.min(level, this.hierarchy.ranges.length - 1), this.piece), count = chosen.begins.length - 1;
    if (this.chosen !== chosen) {
      this.chosen = chosen;
      this.boxes.geometry.dispose();
      const geometry = (this.boxes.geometry = new THREE.InstancedBufferGeometry());
      const corners = new Float32Array(BOX.flatMap((bits) => [bits & 1, (bits >> 1) & 1, bits >> 2]));
      geometry.setAttribute("position", new THREE.BufferAttribute(corners, 3));
      for (const name of ["low", "high"]) geometry.setAttribute(name, new THREE.InstancedBufferAttribute(new Int16Array(3 * count), 3));
      geometry.instanceCount = count;
    }
    const { low, high } = this.boxes.geometry.attributes;
    boxes(chosen, this.piece.grid, low.array, high.array);
    low.needsUpdate = high.needsUpdate = true;
    this.count = count;
  }
}

/** The distance, in lengths of d, at which a line from o meets the triangle at these places of the grid; Infinity if it does not. */
function meets(o, d, grid, p, q, r) {
  const ux = grid[q] - grid[p], uy = grid[q + 1] - grid[p + 1], uz = grid[q + 2] - grid[p + 2];
  const vx = grid[r] - grid[p], vy = grid[r + 1] - grid[p + 1], vz = grid[r + 2] - grid[p + 2];
  const nx = d.y * vz - d.z * vy, ny = d.z * vx - d.x * vz, nz = d.x * vy - d.y * vx, det = ux * nx + uy * ny + uz * nz;
  if (!det) return Infinity;
  const x = o.x - grid[p], y = o.y - grid[p + 1], z = o.z - grid[p + 2], a = (x * nx + y * ny + z * nz) / det;
  if (a < 0 || a > 1) return Infinity;
  const mx = y * uz - z * uy, my = z * ux - x * uz, mz = x * uy - y * ux, b = (d.x * mx + d.y * my + d.z * mz) / det;
  const t = (vx * mx + vy * my + vz * mz) / det;
  return b >= 0 && a + b <= 1 && t > 0 ? t : Infinity;
}

/** Marked faces of a body: their surfaces and edges, before other surfaces and behind them. Edges, so that faces smaller than a point of the
 * screen are seen. */
class Marks {
  constructor(name, { front, behind, frontLine, behindLine }) {
    this.name = name;
    this.meshes = [
      new THREE.Mesh(undefined, front), new THREE.Mesh(undefined, behind),
      new THREE.LineSegments(undefined, frontLine), new THREE.LineSegments(undefined, behindLine),
    ];
    const above = 0.1 * (MARKS.length - MARKS.indexOf(name)); // intersecting faces are drawn last
    this.meshes.forEach((each, k) => (each.renderOrder = (k % 2 ? 3 : 1) + above));
  }

  connect(position) {
    this.meshes.forEach((each, k) => {
      if (k % 2) return (each.geometry = this.meshes[k - 1].geometry);
      each.geometry.dispose();
      each.geometry = new THREE.BufferGeometry().setAttribute("position", position);
    });
  }

  show(piece, { through, quiet }) {
    const marked = piece[this.name], { faces } = piece, shown = marked.length > 0 && (quiet || this.name !== "quiet");
    this.meshes.forEach((each, k) => (each.visible = shown && (k % 2 === 0 || (through && this.name === "marked"))));
    if (!shown) return;
    const corners = reserve(this.meshes[0].geometry, 3 * marked.length), edges = reserve(this.meshes[2].geometry, 6 * marked.length);
    for (let i = 0; i < marked.length; i++) {
      const at = 3 * marked[i], a = faces[at], b = faces[at + 1], c = faces[at + 2];
      corners.set([a, b, c], 3 * i);
      edges.set([a, b, b, c, c, a], 6 * i);
    }
  }
}

/** The index of a geometry with room for so many entries, all of which are drawn. */
function reserve(geometry, count) {
  if (!geometry.index || geometry.index.array.length < count) {
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(Math.max(384, 2 * count)), 1));
  }
  geometry.setDrawRange(0, count);
  geometry.index.clearUpdateRanges();
  geometry.index.addUpdateRange(0, count);
  geometry.index.needsUpdate = true;
  return geometry.index.array;
}

class Viewer {
  constructor(canvas, context) {
    const [low, high] = [Math.min, Math.max].map((end) => [0, 1, 2].map((axis) => end(...pageData.outline.map((point) => point[axis]))));
    this.centre = low.map((value, axis) => 0.5 * value + 0.5 * high[axis]);
    const half = high.map((value, axis) => value - this.centre[axis]);
    this.scale = 1 / (Math.hypot(...half) || 1);
    this.half = half.map((value) => value * this.scale);
    this.level = 0;
    this.through = true;
    this.quiet = false; // whether faces of known pairs are marked
    this.up = { value: new THREE.Vector3(0, 1, 0) };
    this.edge = { value: new THREE.Vector3() };
    this.colours = Object.fromEntries(MARKS.map((name) => [name, { value: new THREE.Vector3() }]));
    this.materials = Object.fromEntries(MARKS.map((name) => [name, this.markMaterials(this.colours[name])]));
    this.renderer = new THREE.WebGLRenderer({ canvas, context });
    this.renderer.setClearColor(0, 0);
    this.renderer.sortObjects = true;
    this.scene = new THREE.Scene();
    this.root = new THREE.Group();
    this.root.matrixAutoUpdate = false;
    this.scene.add(this.root);
    this.shown = pageData.bodies.map((_, body) => new Shown(this, body));
    this.root.add(...this.shown.map((each) => each.group));
    this.floor = new THREE.LineSegments(undefined, material(LINE_VERTEX, LINE_FRAGMENT, { opacity: { value: 0.5 } }, SHEER));
    this.floor.visible = false;
    this.scene.add(this.floor);
    this.camera = new THREE.PerspectiveCamera(FIELD, 1, 0.001, 100);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    Object.assign(this.controls, { enableDamping: true, dampingFactor: 0.15, zoomToCursor: true, minDistance: 1e-4, maxDistance: 60 });
    this.controls.addEventListener("change", () => this.invalidate());
    this.controls.addEventListener("start", () => (this.flight = null));
    canvas.addEventListener("webglcontextrestored", () => this.invalidate());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.restyle();
    this.resize();
    this.setUp(pageData.up || "z");
  }

  markMaterials(colour) {
    const shared = { up: this.up, clear: { value: 0 }, colour }, faint = { ...shared, opacity: { value: 0.5 } };
    const hidden = { ...SHEER, depthFunc: THREE.GreaterDepth };
    return {
      front: material(SURFACE_VERTEX, SURFACE_FRAGMENT, shared),
      behind: material(SURFACE_VERTEX, SURFACE_FRAGMENT, faint, hidden),
      frontLine: material(LINE_VERTEX, LINE_FRAGMENT, { colour }),
      behindLine: material(LINE_VERTEX, LINE_FRAGMENT, { colour, opacity: { value: 0.3 } }, hidden),
    };
  }

  restyle() {
    for (const name of MARKS) this.colours[name].value.copy(linear(styled(`--${name === "quiet" ? "known" : name}`)));
    this.edge.value.copy(linear(styled("--edge")));
    this.floor.material.uniforms.colour.value.copy(linear(styled("--floor")));
    this.invalidate();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.invalidate();
  }

  /** Which axis of the files points up; the camera goes back to where it sees everything. */
  setUp(axis) {
    const turn = TURNS[axis];
    this.root.matrix.set(turn[0], turn[3], turn[6], 0, turn[1], turn[4], turn[7], 0, turn[2], turn[5], turn[8], 0, 0, 0, 0, 1);
    this.root.matrixWorldNeedsUpdate = true;
    this.ground();
    this.reset();
  }

  /** A square grid under everything, about twice as wide, of squares whose side is a round number. */
  ground() {
    const size = new THREE.Vector3(...this.half).applyMatrix4(this.root.matrix);
    const side = roundUp((0.2 * Math.max(Math.abs(size.x), Math.abs(size.z), 0.05)) / this.scale), lines = 10;
    const low = -Math.abs(size.y), wide = lines * side * this.scale, points = [];
    byId("squares").textContent = `squares of ${side.toPrecision(1) * 1} ${pageData.unit}`;
    for (let k = -lines; k <= lines; k++) {
      const at = k * side * this.scale;
      points.push(at, low, -wide, at, low, wide, -wide, low, at, wide, low, at);
    }
    this.floor.geometry.dispose();
    this.floor.geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
  }

  /** See all of the animation: the eye is as far away as its outermost points need. */
  reset() {
    const away = new THREE.Vector3(0.62, 0.42, 0.78).normalize(), right = new THREE.Vector3(0, 1, 0).cross(away).normalize();
    const above = away.clone().cross(right), slope = Math.tan((FIELD / 360) * Math.PI);
    const needed = pageData.outline.map((place) => {
      const point = this.inside(place);
      return point.dot(away) + Math.max(Math.abs(point.dot(above)), Math.abs(point.dot(right)) / this.camera.aspect) / slope;
    });
    this.look(new THREE.Vector3(), away.multiplyScalar(1.08 * Math.max(0.1, ...needed)));
  }

  /** A point of the files' coordinates in the world of the view. */
  inside(point) {
    return new THREE.Vector3(...point.map((value, axis) => (value - this.centre[axis]) * this.scale)).applyMatrix4(this.root.matrix);
  }

  /** Look at a point of the files' coordinates, from so far away that a ball of this radius is seen with some surroundings. */
  focus(centre, radius) {
    const target = this.inside(centre);
    const { eye, target: seen } = this.flight ?? { eye: this.camera.position, target: this.controls.target }; // also before the first picture
    const away = eye.clone().sub(seen).normalize();
    const distance = (1.7 * Math.max(radius * this.scale, 0.004)) / Math.sin((FIELD / 360) * Math.PI) / Math.min(1, this.camera.aspect);
    this.look(target, target.clone().addScaledVector(away, distance), matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 450);
  }

  /** {body, face} under a point of the screen; null if there is none. */
  pick(x, y) {
    const box = this.renderer.domElement.getBoundingClientRect(), origin = this.camera.position;
    const point = new THREE.Vector3((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height, 0.5);
    const direction = point.unproject(this.camera).sub(origin);
    let found = null;
    this.shown.forEach((each, body) => {
      const hit = each.hit(origin, direction);
      if (hit && (!found || hit.distance < found.distance)) found = { body, ...hit };
    });
    return found;
  }

  look(target, eye, duration = 0) {
    const from = this.controls.target.clone(), begin = this.camera.position.clone();
    this.flight = { target, eye, from, begin, start: performance.now(), duration };
    this.invalidate();
  }

  fly(now) {
    const { target, eye, from, begin, start, duration } = this.flight;
    const part = duration ? Math.min(1, Math.max(0, (now - start) / duration)) : 1, smooth = part * part * (3 - 2 * part);
    this.controls.target.lerpVectors(from, target, smooth);
    this.camera.position.lerpVectors(begin, eye, smooth);
    if (part === 1) this.flight = null;
    else this.invalidate();
  }

  setLevel(level) {
    this.level = level;
    for (const each of this.shown) if (each.piece) each.bound();
    this.invalidate();
  }

  show(frame) {
    if (frame !== this.frame) this.shown.forEach((each, body) => each.show(frame.pieces[body]));
    this.frame = frame;
    this.invalidate();
  }

  invalidate() {
    this.pending ??= requestAnimationFrame((now) => this.draw(now));
  }

  draw(now) {
    this.pending = null;
    if (this.flight) this.fly(now);
    this.controls.update();
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.near = Math.max(distance / 200, 1e-5);
    this.camera.far = this.camera.position.length() + 6;
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
    this.up.value.set(0, 1, 0).transformDirection(this.camera.matrixWorldInverse);
    for (const each of this.shown) {
      each.group.visible = each.visible;
      each.group.matrixWorldNeedsUpdate = true;
    }
    this.renderer.render(this.scene, this.camera);
  }
}
