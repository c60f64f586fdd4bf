"""Morphing: every vertex is a sum of shapes, one weight a shape for all of them (thesis B 6.3).

    targets      x = Σ w_i t_i                  w_i >= 0, Σ w_i = 1
    additive     x = b + Σ w_i d_i              d_i = t_i − b, any w_i: the form of animation files

Both are x = Σ w_i s_i over the shapes with a weight that is not 0 (the base has weight 1). `blended` is the definition of a position: a sum
of float64 products in the order of the shapes, each rounded, so that what a query works out for a leaf is to the bit what
`body.vertices` gives for all. An update looks at no vertex: it takes the weights, and bounds the body by the boxes of its shapes.

Invariants: as `Free` (`motion/free.py`), but `flat` and `points` are true for vertices of leaves that were filled since the update, and for
all after `complete`. |x − origin| <= reach, rounding included; `error_bound` bounds the rounding of a position, times the scale.
"""
from typing import NamedTuple

import numpy as np

from pliant.core import validate
from pliant.core.jit import helper, kernel
from pliant.core.simd import add_rounded, extract, load4, mul_rounded, store4, to_float32
from pliant.core.soa import aligned_zeros, prefetch
from pliant.errors import ArgumentError, MeshError
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from pliant.motion.free import MAX_REACH, MIN_REACH, MOTION_DTYPE, round_origin, scale_for
from pliant.motion.motion import Motion, MotionFile, MotionType, compute_vertex, prefetch_vertex, register_motion
from pliant.motion.rigid import UNDERFLOW_BOUND

PAD = 4                                                                 # numbers behind the last vertex of a shape
EPSILON, MAX_COORDINATE, MIN_NORMAL_FLOAT32 = 2.0**-52, 2.0**1020, 2.0**-126
FILTER_HEADROOM = 2.0**60                                               # a sum of products this far above SMALLEST is above it, or 0


class ShapeBlend(NamedTuple):
    """The shapes, one after another, `stride` numbers each; the `n` that are active, and their weights; and where a vertex is written: its
    position in `flat` (3 n_v,), its float32 row (position − origin) · scale in `points` (4 n_v,)."""
    shapes: np.ndarray
    stride: int
    active: np.ndarray
    weights: np.ndarray
    n: int
    origin: np.ndarray
    scale: float
    flat: np.ndarray
    points: np.ndarray


@compute_vertex.register(ShapeBlend)
def _(state, r):
    v, at, flat = np.int64(r), 3 * np.int64(r), state.flat
    row = mul_rounded(load4(state.shapes, state.stride * state.active[0] + at), state.weights[0])
    for k in range(1, state.n):
        row = add_rounded(row, mul_rounded(load4(state.shapes, state.stride * state.active[k] + at), state.weights[k]))
    flat[at], flat[at + 1], flat[at + 2] = extract(row, 0), extract(row, 1), extract(row, 2)
    store4(state.points, 4 * v, to_float32((row - load4(state.origin, 0)) * state.scale))


@prefetch_vertex.register(ShapeBlend)
def _(state, r):
    at = 3 * np.int64(r)
    for k in range(state.n):
        prefetch(state.shapes, state.stride * state.active[k] + at)
    prefetch(state.flat, at)
    prefetch(state.points, 4 * np.int64(r))


@kernel
def blend_all(state):
    """Compute all vertices, and their rows."""
    for v in range(len(state.points) // 4):
        compute_vertex(state, v)


@kernel
def set_weights(record, boxes, ranges, target_weights, additive, active, weights):
    """List the shapes whose weight is not 0, and let the record say how many there are and where the body is then, from the boxes (r, 8) of
    the shapes and the ranges (r, 2) of the sizes of coordinates that are not 0. (What rounding does to a position, the reach.)"""
    n = 0
    if additive:
        active[0], weights[0], n = 0, 1.0, 1
    for j in range(len(target_weights)):
        if target_weights[j] != 0.0:
            active[n], weights[n] = j + additive, target_weights[j]
            n += 1
    first, fields = 1 if additive else len(boxes), record[0]            # from here on shapes are displacements, relative to no origin
    box, origin = fields["box"], fields["origin"]
    largest, error, reach, in_filter_range = 0.0, 0.0, 0.0, True
    for j in range(n):
        w, size = abs(weights[j]), ranges[active[j], 1]
        largest += w * size
        in_filter_range &= ranges[active[j], 0] * w >= RANGE_MIN * FILTER_HEADROOM
    error = (2 * n + 4) * EPSILON * (largest + max(abs(origin[0]), max(abs(origin[1]), abs(origin[2]))))
    if largest > 0.0:
        error += n * UNDERFLOW_BOUND
    for k in range(3):
        low = high = half_extent = 0.0
        for j in range(n):
            w, p, q = weights[j], boxes[active[j], k], boxes[active[j], k + 4]
            low, high = low + min(w * p, w * q), high + max(w * p, w * q)
            half_extent += abs(w) * (max(abs(p), abs(q)) if active[j] >= first else max(abs(p - origin[k]), abs(q - origin[k])))
        box[k], box[k + 4] = low - error, high + error
        reach = max(reach, half_extent)
    fields["reach"] = reach = reach * (1 + 2.0**-40) + error
    fields["in_filter_range"] = in_filter_range and largest <= RANGE_MAX
    fields["n_active"], fields["error_bound"] = n, error * fields["scale"]
    return error, reach


class Morph(Motion):
    """Vertices of one body; see the module. `shapes` (r, n, 3) are the targets, or a base and displacements from it if `additive`."""

    name, kind, input_name = "morph", "morphing", "weights"

    def __init__(self, shapes, additive, origin=None):
        r, n, _ = shapes.shape
        for j in range(1 if additive else r):
            validate.check_below("base" if additive else f"targets[{j}]", shapes[j], MAX_COORDINATE)
        self.count, self.additive, self.fixed = n, additive, origin is not None
        self.shapes = np.zeros((r, 3 * n + PAD))
        self.shapes[:, :3 * n] = shapes.reshape(r, -1)
        self.flat, self.points = np.zeros(3 * n), aligned_zeros(4 * n, np.float32)
        self.record = aligned_zeros(1, MOTION_DTYPE)
        self.address, self._record = self.record.ctypes.data, self.record[0]
        self.box, self.origin = self._record["box"], self._record["origin"]
        self._record["flat"], self._record["n_flat"] = self.flat.ctypes.data, 3 * n
        self.active, self.weights = np.zeros(r, np.int64), np.zeros(r)
        self.boxes, self.ranges = np.zeros((r, 8)), np.zeros((r, 2))
        if n:
            self.boxes[:, :3], self.boxes[:, 4:7] = shapes.min(axis=1), shapes.max(axis=1)
            sizes = np.abs(shapes).reshape(r, -1)
            self.ranges[:, 0], self.ranges[:, 1] = np.where(sizes > 0, sizes, np.inf).min(axis=1), sizes.max(axis=1)
            boxes = self.boxes[:1] if additive else self.boxes
            low, high = boxes[:, :3].min(axis=0), boxes[:, 4:7].max(axis=0)
            self.origin[:3] = round_origin(0.5 * low + 0.5 * high, float((0.5 * high - 0.5 * low).max())) if origin is None else origin
        self.scale = self._record["scale"] = 1.0
        self._max_size = 1.01 * float(self.ranges[:, 1].max())
        self._all_set = False
        self.update(self.single_shape_weights(0))

    repr_parts = property(lambda self: f"{len(self.shapes) - self.additive} targets, ")
    n_active = property(lambda self: int(self._record["n_active"]))
    error_bound = property(lambda self: float(self._record["error_bound"]))

    def validate_input(self, weights):
        """What an update would be given, examined: (k,) float64."""
        weights = validate.weights("weights", weights, len(self.shapes) - self.additive, not self.additive)
        if not (self.bound_after(weights, None) < MAX_COORDINATE or self._close_bound(weights) < MAX_COORDINATE):
            raise MeshError(f"weights: {weights.tolist()} put vertices beyond the largest numbers")
        return weights

    def vertices_after(self, weights, some):
        """(n, 3): all vertices after this update, None for none."""
        full = self._shape_weights(self.controls if weights is None else weights)
        active = np.flatnonzero(full)
        total = self.shapes[active[0], :-PAD] * full[active[0]]
        for j in active[1:]:
            total = total + self.shapes[j, :-PAD] * full[j]
        return total.reshape(-1, 3)

    def bound_after(self, weights, some):
        """No coordinate is larger then, by far."""
        if not self.additive:                                           # weights with a sum of 1
            return self._max_size
        return self._max_size * (1 + sum(map(abs, (self.controls if weights is None else weights).tolist())))

    def _close_bound(self, weights):
        """The same, closely."""
        with np.errstate(over="ignore"):
            return np.abs(self._shape_weights(weights)) @ self.ranges[:, 1]

    def _shape_weights(self, weights):
        return np.concatenate([[1.0], weights]) if self.additive else weights

    @property
    def file_vertices(self):
        """(r, n, 3): the shapes, as a file keeps them."""
        return self.shapes[:, :-PAD].reshape(len(self.shapes), -1, 3)

    def single_shape_weights(self, which):
        """The weights of one shape: of a target, or, 0, of the base and, k, of target k − 1; of their "mean"."""
        weights = np.zeros(len(self.shapes))
        weights[slice(None) if which == "mean" else which] = 1 / len(weights) if which == "mean" else 1.0
        return weights[1:] if self.additive else weights / weights.sum()

    def update(self, weights, copy=True):
        """Take weights (k,), checked, without looking at a vertex."""
        self._all_set = False
        error, reach = set_weights(self.record, self.boxes, self.ranges, weights, self.additive, self.active, self.weights)
        self.controls = weights
        if self.scale != 1.0 or not MIN_REACH <= reach <= MAX_REACH:
            self.scale = self._record["scale"] = scale_for(reach) if self.count else 1.0
            self._record["error_bound"] = error * self.scale

    def copy(self):
        """Another motion in the same state, independent of this one."""
        motion = Morph(self.file_vertices, self.additive, self.given_origin)
        motion.update(self.controls)
        return motion

    @property
    def n_computed(self):
        """None, unless all were: vertices are computed leaf by leaf, without a record of each."""
        return self.count if self._all_set else None

    def complete(self):
        """Compute every vertex."""
        if not self._all_set:
            blend_all(self.frame_state())
            self._all_set = True

    def frame_state(self):
        """The ShapeBlend of this frame."""
        return ShapeBlend(self.shapes.reshape(-1), self.shapes.shape[1], self.active, self.weights, self.n_active, self.origin, self.scale,
                          self.flat, self.points)

    def restore(self):
        """After an interrupted update: everything from the weights again, the old or the new ones."""
        self.update(self.controls)

    def shape(self, j):
        """`rows_of` shape j as volumes see it, displacements relative to nothing."""
        return scaled_rows(self.shapes[j, :-PAD], self.origin if not (self.additive and j) else np.zeros(4))

    def shape_between(self, i, s):
        """`rows_of` the shape between targets i and i + 1, at s of the way."""
        p, q = self.shapes[i, :-PAD], self.shapes[i + 1, :-PAD]
        return scaled_rows(p * (1 - s) + q * s, self.origin)


def morph_motion(shapes, additive, origin, between):
    """The motion between these shapes, examined but for the origin, which is as users give it; `between` as in `Body.morph`."""
    point = None if origin is None else validate.point("origin", origin)
    if point is not None:
        validate.check_below("origin", point[None], MAX_COORDINATE)
    if additive and between:
        raise ArgumentError("between: additive targets are no chain; expected 0 with a base")
    return Morph(shapes, additive, point)


def read_morph(file, settings):
    """The motion of a file."""
    motion = morph_motion(file.shapes, validate.flag("additive", file.additive), file.origin, settings.get("between"))
    motion.update(motion.validate_input(file.values))
    return motion


register_motion(MotionType(
    "morph", Morph, lambda motion: MotionFile(motion.file_vertices, motion.controls, additive=motion.additive), read_morph))


def scaled_rows(flat, origin):
    """(4 n,) float32: rows x y z · of flat vertices, relative to the origin and times a power of two that suits them; that power."""
    rows = np.zeros((len(flat) // 3, 4))
    rows[:, :3] = flat.reshape(-1, 3) - origin[:3]
    made, scale = aligned_zeros(rows.size, np.float32), scale_for(float(np.abs(rows).max(initial=0.0)))
    made[:] = (rows * scale).reshape(-1)
    return made, scale


@helper
def round_up_float32(value):
    """At least this much, in float32."""
    return np.float32(min(value * (1 + 2.0**-22) + MIN_NORMAL_FLOAT32, 3e38)) if value > 0.0 else np.float32(0)
