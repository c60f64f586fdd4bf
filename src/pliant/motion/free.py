"""Free motion: any vertex may go anywhere, every frame.

`Free` keeps the vertices as given (float64, flat, what exact tests read) and, relative to a float64 origin and times a power of two,
as rows x y z · of float32 (what volumes and leaves are made of). Both are written, and the input is checked, in one pass. The same pass
gives every BLOCK of consecutive vertices its box, as two more rows behind those of the vertices, its low corner and its high one: a box
around many vertices is that around the boxes of the blocks that they fill, and around the others (`refit/vertex_spans.py`).

The origin is sticky: it moves to the middle of the body only when the body has left it, so that far from zero nothing gets looser
and near it nothing is copied twice. It is coarse, so that the way from one body's origin to another's is exact in float32. The scale is 1
for reaches from MIN_REACH to MAX_REACH, and a power of 2**SCALE_STEP_BITS that brings others between these (`scale_for`), so that bodies of
similar sizes have the same one: a pair of different scales needs a second set of volumes (`Body._bvh_at`).

LIMITS of float32, below 2**128. R = reach · scale bounds the coordinates of a body. A leaf's box has sides S <= 2 R. Two bodies with boxes
that overlap, turned against each other or not, have corners within L <= 9 R of each other.
- Triangles that meet (`geometry/overlap_simd.py`): the largest numbers are heights of corners along the direction e × n of an edge across a
  normal, and their difference: 24 S³ L. Beyond 2**128 they would be infinite, which reads as "certainly apart". A leaf that is turned has
  S <= 2 √3 R: 24 (2 √3)³ 9 R⁴ < 2**13.2 R⁴ < 2**128 for R <= MAX_REACH = 2**28.
- Distances of triangles (`geometry/distance_bounds.py`): bodies may be 1024 sizes apart (`query/proximity/far_field.py`), L <= 2**11 R + 4
R, or 2**60, where
  `query/proximity/within.py` stops. 3 L² must be finite, L <= 2**62; larger products are only tried, and what overflows is not taken.
- Distances of points (`geometry/point_bounds.py`): 36 (D S)² for a corner at a distance D from the point;
`query/proximity/closest_point.py` takes care
  that D S stays below 2**60.
- Volumes (`volume/`), rays (`query/ray/leaf.py`), planes (`query/frustum.py`) and costs of builders are products of two lengths, or of
three. The other end: squares of lengths below 2**-63 are subnormal numbers, or 0. Errors of places are at least 2**-24 R, so for
R >= MIN_REACH = 2**-20 no such length decides anything, nor do the least bounds (2**-100 and less) by which nothing is divided. Where R
may be smaller, errors have a least value of their own: of corners 2**-50 (`query/traverse.py`), of points 2**-48
(`query/proximity/closest_point.py`), of radii 2**-60 (`volume/sphere.py`). R is smaller if the body is one point, if its coordinates are
subnormal in float64 (the scale ends at 2**1023, where the smallest of them is 2**-51), or if it is seen at the scale of a larger body.

Invariants: |(x − origin) · scale| <= MAX_REACH for every vertex; `in_filter_range` says whether all present vertices are in the range of
the filters of `geometry/predicates.py`, whatever was there before; a refused update leaves everything as it was.
"""
import math

import numpy as np

from pliant.core import validate
from pliant.core.jit import helper, kernel
from pliant.core.simd import fabs, load4, maximum, minimum, movemask, store4, to_float32
from pliant.core.soa import aligned_zeros, packed_dtype, prefetch
from pliant.errors import ArgumentError, MeshError
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN, in_range, point_in_range
from pliant.motion.motion import Motion, MotionFile, MotionType, register_motion

MAX_DRIFT = 3.0                                                         # of the half extent: farther from the origin, and it moves
REFUSED = -1
PREFETCH_ROWS = 12                                                      # rows that are on their way from memory
ORIGIN_BITS = 10                                                        # bits of the half extent that an origin keeps
BLOCK = 32                                                              # vertices, at least on average
NO_INDICES = np.zeros(0, np.int64)
MIN_REACH, MAX_REACH, SCALE_STEP_BITS = 2.0**-20, 2.0**28, 48           # between these the scale is 1; bits of a step of scales: see LIMITS
MAX_REACH_BITS = 28

# Where a body is, for kernels that know it by address: box (low at 0, high at 4) and origin, `reach`, `scale` and `in_filter_range` as in
# `Free`, the address and length of the flat vertices, and whether the origin was given. Of motions that compute vertices on demand also
# what their policies read: how many shapes are active, the number of updates, the largest `size` of a bound, and a bound of the rounding of
# a position, both times the scale.
MOTION_DTYPE = packed_dtype([("box", np.dtype((np.float64, (8,)))), ("origin", np.dtype((np.float64, (4,)))),
                             ("reach", np.dtype(np.float64)),
                             ("scale", np.dtype(np.float64)),
                             *((name, np.dtype(np.int64)) for name in ("flat", "n_flat", "in_filter_range", "fixed", "n_active", "frame")),
                             ("size", np.dtype(np.float64)), ("error_bound", np.dtype(np.float64))])


@kernel
def copy_checked(rows, vertices, points, origin, scale, box, copy, blocks):
    """Check the flat rows and take them in: vertices = rows if `copy`, points = float32((rows − origin) · scale) and the boxes of
    blocks behind them, box = (low, high). Block b has the vertices from blocks[b] to blocks[b + 1].

    Is every coordinate finite and in the range of the filters? Four numbers are read at once; the fourth, the next vertex's x, is
    overwritten in the next turn. The last vertex has no next one and goes through `box`, which has room for four. Rounding is monotone, so
    the rounded corners of a block are the extremes of its rounded vertices, to the bit.
    """
    n, start = len(rows) // 3, load4(origin, 0)
    last = last_row(rows, box)
    low = high = last
    good = filter_range_mask(last)
    store4(points, 4 * n - 4, to_float32((last - start) * scale))
    for b in range(len(blocks) - 1):
        begin, end = blocks[b], blocks[b + 1]
        block_low = block_high = last if end >= n else load4(rows, 3 * begin)
        for k in range(begin, min(end, n - 1)):
            row = load4(rows, 3 * k)
            store4(points, 4 * k, to_float32((row - start) * scale))
            block_low, block_high = minimum(block_low, row), maximum(block_high, row)
            good = good & filter_range_mask(row)
            if copy:
                store4(vertices, 3 * k, row)
        low, high = minimum(low, block_low), maximum(high, block_high)
        at = 4 * block_row(n, b)
        store4(points, at, to_float32((block_low - start) * scale))
        store4(points, at + 4, to_float32((block_high - start) * scale))
    if copy:
        for k in range(3 * n - 3, 3 * n):
            vertices[k] = rows[k]
    store4(box, 0, low)
    store4(box, 4, high)
    return movemask(good) & 7 == 7


@helper
def block_row(n, b):
    """The row of the low corner of block b, behind those of n vertices; its high corner comes next."""
    return n + 2 * b


@helper
def set_block(points, n, blocks, b):
    """Set the box of block b from its vertices."""
    low = high = load4(points, 4 * blocks[b])
    for v in range(blocks[b] + 1, blocks[b + 1]):
        row = load4(points, 4 * v)
        low, high = minimum(low, row), maximum(high, row)
    store4(points, 4 * block_row(n, b), low)
    store4(points, 4 * block_row(n, b) + 4, high)


@helper
def find_block(blocks, v):
    """The block of vertex v."""
    first, last = 0, len(blocks) - 1
    while last - first > 1:
        probe = (first + last) >> 1
        if v < blocks[probe]:
            last = probe
        else:
            first = probe
    return first


@kernel
def set_blocks(points, n, blocks, indices):
    """Set the boxes of the blocks of these vertices, or of all where there are none."""
    if len(indices) == 0:
        for b in range(len(blocks) - 1):
            set_block(points, n, blocks, b)
    begin = end = np.int64(0)
    for i in range(len(indices)):
        v = np.int64(indices[i])
        if not begin <= v < end:                                        # neighbours are often in one block
            b = find_block(blocks, v)
            begin, end = blocks[b], blocks[b + 1]
            set_block(points, n, blocks, b)


def equal_blocks(n):
    """Where each block of n vertices begins, and n."""
    return np.minimum(np.arange(0, n + BLOCK, BLOCK), n)


@kernel
def copy_checked_rows(rows, indices, vertices, points, origin, scale, box, outside):
    """As `copy_checked` for some vertices: vertices and points take their rows (k, 3), the box grows. REFUSED, and nothing has changed, if
    one is not finite; else how many vertices of the body are outside the range of the filters now, where it was `outside` before."""
    total = 0.0
    for i in range(len(indices)):
        for k in range(3):
            total += rows[i, k] * 0.0                                   # 0 for every number that is finite
    if total != 0.0:
        return REFUSED
    last, some = len(indices) - 1, outside > 0
    for i in range(len(indices)):
        v, ahead, good = np.int64(indices[i]), np.int64(indices[min(i + PREFETCH_ROWS, last)]), True
        prefetch(vertices, 3 * ahead)
        prefetch(points, 4 * ahead)
        if some:                                                        # if none was, this one was not
            outside -= np.int64(not point_in_range(vertices, 3 * v))
        for k in range(3):
            x = rows[i, k]
            vertices[3 * v + k] = x
            points[4 * v + k] = np.float32((x - origin[k]) * scale)
            box[k], box[k + 4] = min(box[k], x), max(box[k + 4], x)
            good &= in_range(x)
        if not good:
            outside, some = outside + 1, True                           # a vertex may be named twice
    return np.int64(outside)


@kernel
def count_out_of_range(vertices):
    """How many vertices, flat, are outside the range of the filters?"""
    n = 0
    for v in range(0, len(vertices), 3):
        n += np.int64(not point_in_range(vertices, v))
    return n


@kernel
def bounding_box(vertices, box):
    """The box (low at 0, high at 4) around all vertices, flat."""
    for k in range(3):
        low = high = vertices[k]
        for v in range(k, len(vertices), 3):
            low, high = min(low, vertices[v]), max(high, vertices[v])
        box[k], box[k + 4] = low, high


@kernel
def set_points(vertices, points, origin, scale, scratch):
    """points = float32((vertices − origin) · scale), for vertices that were checked before; `scratch` for four numbers."""
    n, start = len(vertices) // 3, load4(origin, 0)
    store4(points, 4 * n - 4, to_float32((last_row(vertices, scratch) - start) * scale))
    for k in range(n - 1):
        store4(points, 4 * k, to_float32((load4(vertices, 3 * k) - start) * scale))


@kernel
def set_record(record, box, flat, in_filter_range):
    """The vertices at address `flat` have been checked, with this box around them: let the record say so. (Has the body left its origin?
    Does it need another scale?)"""
    fields, half, reach = record[0], 0.0, 0.0
    origin, bounds = fields["origin"], fields["box"]
    for k in range(3):
        bounds[k], bounds[k + 4] = box[k], box[k + 4]
        reach = max(reach, max(origin[k] - box[k], box[k + 4] - origin[k]))
        half = max(half, 0.5 * box[k + 4] - 0.5 * box[k])
    fields["flat"], fields["in_filter_range"], fields["reach"] = flat, in_filter_range, reach
    drifted = reach / MAX_DRIFT > half and (fields["fixed"] == 0 or reach == np.inf)
    return drifted, not (fields["scale"] == 1.0 and (MIN_REACH <= reach <= MAX_REACH or reach == 0.0))


@helper
def last_row(rows, scratch):
    n = len(rows) // 3
    scratch[0], scratch[1], scratch[2] = rows[3 * n - 3], rows[3 * n - 2], rows[3 * n - 1]
    return load4(scratch, 0)


@helper
def filter_range_mask(row):
    """Which numbers are 0 or of a size that the filters allow? NaN and infinity are not."""
    size = fabs(row)
    return (size <= RANGE_MAX) & ((size >= RANGE_MIN) | (size <= 0))


@helper
def scale_for(reach):
    """The power of two that brings `reach` into the range of float32 lanes: of 2**STEP, but for the smallest subnormal numbers."""
    if MIN_REACH <= reach <= MAX_REACH or reach == 0.0:
        return 1.0
    steps = math.ceil((math.frexp(reach)[1] - MAX_REACH_BITS) / SCALE_STEP_BITS)
    return math.ldexp(1.0, int(min(-SCALE_STEP_BITS * steps, 1023)))


def round_origin(point, half):
    """A point near this one with few bits, so that the way between two origins is exact in float32."""
    step = math.ldexp(1.0, max(math.frexp(half)[1] - ORIGIN_BITS, -1022)) if half > 0 else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.round(point / step) * step if step else point
    return np.where(np.isfinite(rounded), rounded, point)


class Free(Motion):
    """Vertices of one body; see the module. `reach` is the largest |x − origin|, unscaled; `in_filter_range` says that filters may be
    trusted."""

    name, kind, input_name = "free", "free", "vertices"
    updates_single_vertices = True

    def __init__(self, vertices, origin=None):
        n = len(vertices)
        self.count = n
        self._buffers = np.zeros(3 * n), np.zeros(3 * n)                # the frame that is, and the next one, which may be refused
        self._addresses = self._buffers[0].ctypes.data, self._buffers[1].ctypes.data
        self.points_and_blocks = aligned_zeros(4 * (n + 2 * -(-n // BLOCK)), np.float32)
        self.flat, self.points, self._scratch = self._buffers[0], self.points_and_blocks[:4 * n], aligned_zeros(8, np.float64)
        self.blocks = equal_blocks(n)
        self._uses_blocks = False                                       # are boxes of blocks read? Else partial updates leave them old
        self.record = aligned_zeros(1, MOTION_DTYPE)
        self.address, self._record = self.record.ctypes.data, self.record[0]
        self.box, self.origin = self._record["box"], self._record["origin"]
        self._borrowed = False
        self._n_moved = 0                                               # vertices moved since the box was tight
        self._n_out_of_range = 0                                        # vertices outside the range of the filters
        self._record["n_flat"], self._record["flat"], self._record["in_filter_range"] = 3 * n, self._addresses[0], True
        self.scale = self._record["scale"] = 1.0
        if origin is not None:
            self._record["fixed"], self.origin[:3] = True, origin
        Free.update(self, vertices)

    fixed = property(lambda self: bool(self._record["fixed"]), doc="Has the origin been given?")

    def validate_input(self, vertices):
        """What an update would be given, examined: (n, 3) float64."""
        return vertices if validate.is_canonical(vertices, self.count) else validate.positions("vertices", vertices, self.count)

    def vertices_after(self, vertices, some):
        """(n, 3): all vertices after this update, None for none, or some of them."""
        if some is None:
            return self.vertices if vertices is None else vertices
        rows = np.array(self.vertices)
        rows[some] = vertices
        return rows

    def bound_after(self, vertices, some):
        """No coordinate is larger then."""
        known = vertices is not None and some is None
        old, new = (0.0,) if known else self.box, (0.0,) if vertices is None else (vertices.min(initial=0.0), vertices.max(initial=0.0))
        return max(max(old), -min(old), max(new), -min(new))

    def update(self, vertices, copy=True):
        """Take new positions, (n, 3) float64 as `core/validate.py` makes them; refused ones change nothing."""
        if self.count == 0:
            return
        rows, free = vertices.reshape(-1), 0 if self.flat is not self._buffers[0] else 1
        if not copy or self._borrowed:                                  # what is borrowed may have changed: no way back to it
            validate.check_finite("vertices", vertices)
        in_filter_range, outside = copy_checked(rows, self._buffers[free], self.points_and_blocks, self.origin, self.scale, self._scratch,
                                                copy, self.blocks), 0
        if not in_filter_range:
            try:
                validate.check_finite("vertices", vertices)
            except MeshError:
                self._set_points()
                raise
            outside = count_out_of_range(rows)
        self._n_out_of_range = outside
        self.flat, self._borrowed, self._n_moved = self._buffers[free] if copy else rows, not copy, 0
        self._set_state(self._scratch, self._addresses[free] if copy else rows.ctypes.data, in_filter_range)

    def update_some(self, rows, indices):
        """Take new positions (k, 3) of these vertices (k,), both as `core/validate.py` makes them. The box grows with them, and is made
        tight again when as many vertices have moved as there are."""
        if not len(indices):
            return
        if self._borrowed:                                              # not ours to write to
            validate.check_finite("vertices", rows)
            self._buffers[0][:] = self.flat
            self.flat, self._borrowed, self._n_out_of_range = self._buffers[0], False, count_out_of_range(self._buffers[0])
        outside = copy_checked_rows(rows, indices, self.flat, self.points, self.origin, self.scale, self.box, self._n_out_of_range)
        if outside == REFUSED:
            validate.check_finite("vertices", rows)
        if self._uses_blocks:
            set_blocks(self.points_and_blocks, self.count, self.blocks, indices)
        self._n_out_of_range = outside
        self._n_moved += len(indices)
        if self._n_moved >= self.count:
            bounding_box(self.flat, self.box)
            self._n_moved = 0
        self._set_state(self.box, self._addresses[self.flat is self._buffers[1]], outside == 0)

    def copy(self):
        """Another motion in the same state, independent of this one."""
        return Free(self.vertices, self.given_origin)

    def restore(self):
        """After an interrupted update: everything from the vertices again, the old or the new ones."""
        if self.count:
            in_filter_range = copy_checked(self.flat, self.flat, self.points_and_blocks, self.origin, self.scale, self._scratch, False,
                                           self.blocks)
            self._n_out_of_range = 0 if in_filter_range else count_out_of_range(self.flat)
            self._set_state(self._scratch, self.flat.ctypes.data, in_filter_range)

    def _set_state(self, box, flat, in_filter_range):
        """Publish the frame; move the origin, and choose the scale, where the body has outgrown them."""
        drifted, resized = set_record(self.record, box, flat, in_filter_range)
        if not (drifted or resized):
            return
        if drifted:
            half = float((0.5 * box[4:7] - 0.5 * box[:3]).max())
            self.origin[:3] = round_origin(0.5 * box[:3] + 0.5 * box[4:7], half)
            set_record(self.record, box, flat, in_filter_range)
        scale = scale_for(self.reach)
        if drifted or scale != self.scale:
            self.scale = self._record["scale"] = scale
            self._set_points()

    def _set_points(self):
        """The float32 rows again, those of blocks too."""
        set_points(self.flat, self.points, self.origin, self.scale, self._scratch)
        set_blocks(self.points_and_blocks, self.count, self.blocks, NO_INDICES)

    def use_blocks(self, suggested=None):
        """Keep the boxes of blocks up to date from now on; where they begin. Whoever asks first may suggest that, at most as many."""
        if not self._uses_blocks:
            if suggested is not None and len(suggested) <= len(self.blocks):
                self.blocks = suggested
            set_blocks(self.points_and_blocks, self.count, self.blocks, NO_INDICES)
            self._uses_blocks = True
        return self.blocks


def read_free(file, settings):
    """The motion of a file."""
    if len(file.shapes) > 1 or len(file.values):
        raise ArgumentError("shapes: expected one, without weights, for a body whose vertices move freely")
    return Free(file.shapes[0], file.origin)


register_motion(MotionType("free", Free, lambda motion: MotionFile(motion.vertices[None]), read_free))
