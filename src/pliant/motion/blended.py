"""Blended motion: few affine maps move many vertices, each by a convex combination of them (Steinemann et al. 2008, eq. 3).

    x = (Σ w_j T_j) (v, 1)            w_j >= 0, Σ w_j = 1

That is linear blend skinning, where T_j are joints against their bind pose (`skeleton.py`), and meshless animation, where they are the
surroundings of simulation nodes (`meshless.py`). `skin.py` defines a position: maps are summed up in ascending order, column
by column, then columns times x, y, z and the last one, each product and each sum rounded to float64, so that what a query works out for a
leaf is to the bit what `body.vertices` gives for all. An update looks at no vertex: it bounds the body by what each map may do to those
it moves (`weight_bounds.py`), in time linear in the number of maps.

Invariants: as `Free` (`motion/free.py`), but `flat` and `points` are true for vertices whose stamp is the frame: those of leaves that were
filled since the update, and all after `complete`. `planes` (m, 3, 4) are the rows of the maps, from places relative to `centre`, times
`rest_scale`, one for each axis, to places relative to the origin, times the scale; no bound along a row is larger than `size`.
`error_bound` bounds the rounding of a position, times the scale.
"""
from functools import cache

import numpy as np

from pliant.core import validate, validate_rig
from pliant.core.function_pointer import array_at, as_pointer, python_entry
from pliant.core.jit import DISABLED, kernel
from pliant.core.simd import (
    extract,
    fabs,
    load4,
    maximum,
    minimum,
    reduce_max,
    reduce_min,
    store4,
    to_float32,
    vector4,
    where,
)
from pliant.core.soa import aligned_zeros
from pliant.errors import ArgumentError, MeshError
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from pliant.motion.free import MAX_DRIFT, MOTION_DTYPE, round_origin, scale_for
from pliant.motion.morph import EPSILON, MAX_COORDINATE
from pliant.motion.motion import Motion, MotionFile, MotionType, register_motion
from pliant.motion.rigid import UNDERFLOW_BOUND
from pliant.motion.skin import STAMP_DTYPE, Skin, blend_all, gather_rows
from pliant.motion.weight_bounds import SECOND, NodeRanges, bound_direction, range_dtypes, rounding_margin
from pliant.motion.weight_ranges import collect_ranges, put_ranges, range_scratch

FILTER_HEADROOM = 2.0**120                                              # of products of three: so far above, sums are above SMALLEST or 0
MAX_RECENTRINGS = 4                                                     # bounds from far away are loose, and so is the middle between them
LAST_FRAME = 2**31 - 1
LANES = 8                                                               # as of most nodes; one bounds the body


# What is known of a body for good: addresses of its arrays, as in `Blended`, and numbers.
BODY_DTYPE = np.dtype([(name, np.int64) for name in ("motion", "maps", "columns", "planes", "weight_ranges", "map_ids", "rest_boxes",
                                                     "ends", "weight_sums", "norms", "n_maps", "n_ranges", "max_influences")]
                      + [(name, np.float64, (3,)) for name in ("centre", "half", "max_rest", "rest_scale")]
                      + [("underflow", np.float64), ("smallest", np.float64)])


# --- an update ---------------------------------------------------------------------------------------------------------------------

@kernel
def max_coordinate(maps, half_extent):
    """The largest coordinate to which one of the maps (m, 3, 4) may take what is within `far` of 0; NaN or infinite if a number is."""
    largest, total = 0.0, 0.0
    for j in range(len(maps)):
        for r in range(3):
            x, y, z, t = maps[j, r, 0], maps[j, r, 1], maps[j, r, 2], maps[j, r, 3]
            size = abs(x) * half_extent[0] + abs(y) * half_extent[1] + abs(z) * half_extent[2] + abs(t)
            largest, total = max(largest, size), total + (x + y + z + t) * 0.0
    return largest + total                                              # 0 is added, unless a number is not finite


@kernel
def set_maps(maps, columns, centre, half, far, origin):
    """Copy the maps (m, 3, 4) into columns; (the largest distance from the origin to which one may take a place within `half` of the
    centre, the largest coordinate of what is within `far` of 0, the smallest number that is not 0)."""
    start = load4(origin, 0)
    nothing = start * 0.0
    size, largest, smallest = nothing, nothing, nothing + np.inf
    for j in range(len(maps)):                                          # the three rows of a map at once
        reach, radius, coordinate = nothing, nothing, nothing
        for c in range(4):
            column = vector4(maps[j, 0, c], maps[j, 1, c], maps[j, 2, c], 0.0)
            store4(columns, 16 * j + 4 * c, column)
            sizes = fabs(column)
            smallest = minimum(smallest, where(sizes > 0.0, sizes, np.inf))
            if c < 3:
                reach, radius = reach + column * centre[c], radius + sizes * half[c]
                coordinate = coordinate + sizes * far[c]
            else:
                reach, coordinate = reach + (column - start), coordinate + sizes
        size, largest = maximum(size, fabs(reach) + radius), maximum(largest, coordinate)
    return reduce_max(size), reduce_max(largest), reduce_min(smallest)


@kernel
def set_planes(maps, centre, half, rest_scale, origin, scale, planes):
    """The rows of the maps as bounds want them (m, 3, 4). An axis without any extent has no say: its places are 0, but for rounding where
    boxes are turned, which a map may stretch to any size."""
    flat, divisor = maps.reshape(-1), vector4(rest_scale[0], rest_scale[1], rest_scale[2], 1.0)
    half_extent = vector4(half[0], half[1], half[2], 0.0)
    for row in range(3 * len(maps)):
        at, r = 4 * row, row % 3
        t = flat[at + 3] - origin[r] + (flat[at] * centre[0] + flat[at + 1] * centre[1] + flat[at + 2] * centre[2])
        values = load4(flat, at) * scale / divisor
        store4(planes, at, to_float32(where(half_extent > 0.0, values, vector4(0.0, 0.0, 0.0, t * scale))))


@kernel
def bound_body(fields, ranges, margin, size):
    """Set the box and the reach from the bounds of the first lane; `margin` is what these may be short of, in the units of the planes."""
    reach = 0.0
    box, origin, scale = fields["box"], fields["origin"], fields["scale"]
    for d in range(3):
        low, high = bound_direction(ranges, np.int64(0), len(ranges.map_ids), np.int64(0), np.int64(1), np.int64(0), np.int64(d),
                                    np.int64(0), np.int64(SECOND))
        low, high = max(extract(low, 0) - margin, -size) / scale, min(extract(high, 0) + margin, size) / scale
        box[d], box[d + 4] = origin[d] + low - abs(origin[d]) * EPSILON, origin[d] + high + abs(origin[d]) * EPSILON
        reach = max(reach, max(-low, high))
    fields["reach"] = reach * (1 + 2.0**-40)


@kernel
def set_state(motion, body, maps, columns, planes, ranges):
    """After new maps or another origin: set the columns, planes and record of the motion, from what is known of the body for good; should
    the origin move?"""
    origin = motion["origin"]
    size, largest, smallest = set_maps(maps, columns, body["centre"], body["half"], body["max_rest"], origin)
    error = (body["max_influences"] + 8) * (EPSILON * (largest + max(abs(origin[0]), max(abs(origin[1]), abs(origin[2]))))
                                            + body["underflow"])
    size = (size + error) * (1 + 2.0**-40)
    scale = scale_for(size)
    size, error = size * scale, error * scale
    motion["scale"], motion["size"], motion["error_bound"] = scale, size, error
    motion["in_filter_range"] = min(smallest, 1.0) * body["smallest"] >= RANGE_MIN * FILTER_HEADROOM and largest <= RANGE_MAX
    set_planes(maps, body["centre"], body["half"], body["rest_scale"], origin, scale, planes)
    bound_body(motion, ranges, rounding_margin(len(ranges.map_ids), size) + 2 * error, size)
    box, half_extent, reach = motion["box"], 0.0, motion["reach"]
    for k in range(3):
        half_extent = max(half_extent, 0.5 * box[k + 4] - 0.5 * box[k])
    return not (reach / MAX_DRIFT <= half_extent or (motion["fixed"] != 0 and reach != np.inf))


@cache
def state_entry():
    """The function (address of a BODY_DTYPE record, frame) that calls `set_state`: with arrays for arguments it would take 5 µs longer."""
    weight_range, rest_box, weight_sum = range_dtypes(LANES)

    def enter(address, frame):
        body = array_at(as_pointer(address), 1, BODY_DTYPE)[0]
        motion = array_at(as_pointer(body["motion"]), 1, MOTION_DTYPE)[0]
        m, n = body["n_maps"], body["n_ranges"]
        maps = array_at(as_pointer(body["maps"]), (m, 3, 4), np.float64)
        columns = array_at(as_pointer(body["columns"]), 16 * m, np.float64)
        planes = array_at(as_pointer(body["planes"]), 12 * m, np.float32)
        ends = array_at(as_pointer(body["ends"]), 2, np.int64)
        ranges = NodeRanges(array_at(as_pointer(body["weight_ranges"]), n, weight_range),
                            array_at(as_pointer(body["map_ids"]), n, np.int32), ends,
                            array_at(as_pointer(body["rest_boxes"]), n, rest_box), ends,
                            array_at(as_pointer(body["weight_sums"]), 1, weight_sum),
                            array_at(as_pointer(body["norms"]), 3, np.float64), planes, planes)
        motion["frame"] = frame
        return np.int64(set_state(motion, body, maps, columns, planes, ranges))

    return python_entry(enter)


class Blended(Motion):
    """Vertices of one body; see the module. `skin` = (begins, which, weights, m), as `core/validate_rig.py` makes it. Rows are in the
    order of `names`, at first that of the vertices; `rows` has the row of each."""

    name, kind, input_name = "blended", "blended", "maps"

    def __init__(self, rest, skin, origin=None):
        n = len(rest)
        self.skin, self.n_maps = skin[:3], skin[3]
        self.vertex_ids, self.rows = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
        self.count, self.fixed, self.rest = n, origin is not None, np.array(rest)
        self.flat, self.points = np.zeros(3 * n), aligned_zeros(4 * n, np.float32)
        self.stamps, self.frame = aligned_zeros(n, STAMP_DTYPE), 0
        self.columns, self.planes = aligned_zeros(16 * self.n_maps, np.float64), aligned_zeros(12 * self.n_maps, np.float32)
        self.controls = np.tile(np.eye(3, 4), (self.n_maps, 1, 1))
        self.record, self.body_record = aligned_zeros(1, MOTION_DTYPE), np.zeros(1, BODY_DTYPE)
        self.address, self._record = self.record.ctypes.data, self.record[0]
        self.box, self.origin = self._record["box"], self._record["origin"]
        self._record["flat"], self._record["n_flat"], self._record["in_filter_range"] = self.flat.ctypes.data, 3 * n, True
        self._record["fixed"] = self.fixed
        self.scale = self._record["scale"] = 1.0
        low, high = self.rest.min(axis=0, initial=np.inf), self.rest.max(axis=0, initial=-np.inf)
        self.centre = round_origin(0.5 * low + 0.5 * high, float((0.5 * high - 0.5 * low).max())) if n else np.zeros(3)
        with np.errstate(over="ignore"):
            half, self._max_rest = ((np.maximum(high - point, point - low) if n else np.zeros(3)) for point in (self.centre, np.zeros(3)))
        self.rest_scale = np.array([scale_for(side) for side in half.tolist()])  # a map may stretch what is flat to any size
        sizes = np.abs(self.rest[self.rest != 0])
        self.max_influences = int(np.diff(self.skin[0]).max(initial=0))
        self.origin[:3] = self.centre if origin is None else origin
        self._collect_ranges()
        body = self.body_record[0]
        body["motion"], body["n_maps"], body["max_influences"] = self.address, self.n_maps, self.max_influences
        body["centre"], body["half"], body["max_rest"], body["rest_scale"] = self.centre, half, self._max_rest, self.rest_scale
        body["underflow"] = UNDERFLOW_BOUND * (1 + float(self._max_rest.sum()))  # what is too small in a sum of maps counts times these
        body["smallest"] = min(float(sizes.min(initial=1.0)), 1.0) * float(self.skin[2].min(initial=1.0))
        ranges = self._ranges
        arrays = {"maps": self.controls, "columns": self.columns, "planes": self.planes, "ends": ranges.begins,
                  "weight_ranges": ranges.weight_ranges, "map_ids": ranges.map_ids, "rest_boxes": ranges.rest_boxes,
                  "weight_sums": ranges.weight_sums, "norms": ranges.norms}
        for name, array in arrays.items():
            body[name] = array.ctypes.data
        body["n_ranges"] = len(ranges.map_ids)
        self._body_address = self.body_record.ctypes.data
        self.update(self.controls)

    repr_parts = property(lambda self: f"{self.n_maps} maps, ")
    error_bound = property(lambda self: float(self._record["error_bound"]))
    size = property(lambda self: float(self._record["size"]))

    @property
    def local(self):
        """(n, 3) float64, row by row: places at rest as bounds want them."""
        return (self.rest - self.centre) * self.rest_scale

    def arrange(self, vertices):
        """Bring rows into the order in which vertices are named here first, those that are not behind them: what is placed together then
        lies together in memory. Before anybody else knows of the body."""
        candidates = np.concatenate([vertices, np.arange(self.count, dtype=np.int32)])
        _, first = np.unique(candidates, return_index=True)
        order = candidates[np.sort(first)]
        rows = self.rows[order]
        self.skin, self.rest = gather_rows(self.skin, rows), self.rest[rows]
        self.stamps["stamp"] = self.stamps["stamp"][rows]
        self.vertex_ids = order
        self.rows = np.empty_like(order)
        self.rows[order] = np.arange(self.count)

    def _collect_ranges(self):
        """The weight ranges of the whole body, as of one node."""
        scratch, identity = range_scratch(self.n_maps), np.eye(3)
        rows = np.arange(self.count, dtype=np.int32)
        n = collect_ranges(rows, 0, self.count, self.skin, self.local, identity, scratch) if self.count else 0
        weight_range, rest_box, weight_sum = range_dtypes(LANES)
        self._ranges = NodeRanges(aligned_zeros(n, weight_range), scratch.map_ids[:n].copy(), np.array([0, n]), aligned_zeros(n, rest_box),
                                  np.array([0, n]), aligned_zeros(1, weight_sum), np.ones(3), self.planes, np.zeros(0))
        slots = np.zeros(self.n_maps, np.int64)
        slots[self._ranges.map_ids] = np.arange(n)
        put_ranges(scratch, n, slots, identity, self._ranges, 0, 1, 0, 0)

    @property
    def n_computed(self):
        """The number of vertices computed since the last update."""
        return int(np.count_nonzero(self.stamps["stamp"] == self.frame))

    def validate_input(self, maps):
        """What an update would be given, examined: (m, 3, 4) float64."""
        if not (type(maps) is np.ndarray and maps.dtype is validate.FLOAT64 and maps.shape == (self.n_maps, 3, 4) and maps.flags.carray
                and max_coordinate(maps, self._max_rest) < MAX_COORDINATE):  # the quick way for every frame
            maps = np.ascontiguousarray(validate_rig.affine("maps", maps, self.n_maps, "column of the weights")[:, :3])
            with np.errstate(over="ignore"):
                bad = ~(np.abs(maps[:, :, :3]) @ self._max_rest + np.abs(maps[:, :, 3]) < MAX_COORDINATE).all(axis=1)
            if bad.any():
                row = int(bad.argmax())
                raise MeshError(f"maps: row {row}, {maps[row].tolist()}, puts vertices beyond the largest numbers")
        return maps

    def vertices_after(self, maps, some):
        """(n, 3): all vertices after this update, None for none."""
        maps = self.controls if maps is None else maps
        (begins, map_ids, weights), columns = self.skin, np.ascontiguousarray(maps.transpose(0, 2, 1))
        total, counts = np.zeros((self.count, 4, 3)), np.diff(begins)
        for k in range(self.max_influences):
            some_rows = np.flatnonzero(counts > k)
            at = begins[some_rows] + k
            product = columns[map_ids[at]] * weights[at][:, None, None]
            total[some_rows] = product if k == 0 else total[some_rows] + product
        x, y, z = self.rest.T[:, :, None]
        return (total[:, 0] * x + total[:, 1] * y + total[:, 2] * z + total[:, 3])[self.rows]

    def bound_after(self, maps, some):
        """No coordinate is larger then."""
        return 1.01 * max_coordinate(self.controls if maps is None else maps, self._max_rest)

    @property
    def file_vertices(self):
        """(1, n, 3): the vertices at rest, as a file keeps them."""
        return self.rest[self.rows][None]

    @property
    def file_skin(self):
        """(begins, which, weights) of vertex after vertex, as a file keeps them."""
        return gather_rows(self.skin, self.rows)

    def update(self, maps, copy=True):
        """Take maps (m, 3, 4), checked, without looking at a vertex."""
        if self.frame == LAST_FRAME:
            self.stamps["stamp"], self.frame = 0, 0
        self.frame += 1
        self.controls[:] = maps                                         # whatever is asked for: they are few, and `restore` needs them
        if not self.count:
            return
        left = MAX_RECENTRINGS
        while self._set_state() and left:
            x0, y0, z0, _, x1, y1, z1, _ = self.box.tolist()
            half = max(0.5 * x1 - 0.5 * x0, 0.5 * y1 - 0.5 * y0, 0.5 * z1 - 0.5 * z0)
            self.origin[:3] = round_origin(0.5 * self.box[:3] + 0.5 * self.box[4:7], half)
            left -= 1

    def _set_state(self):
        """`set_state` for the present maps and origin."""
        if DISABLED:
            self._record["frame"] = self.frame
            drifted = set_state(self._record, self.body_record[0], self.controls, self.columns, self.planes, self._ranges)
        else:
            drifted = state_entry()(self._body_address, self.frame)
        self.scale = float(self._record["scale"])
        return drifted

    def copy(self):
        """Another motion in the same state, independent of this one."""
        motion = Blended(self.file_vertices[0], (*self.file_skin, self.n_maps), self.given_origin)
        motion.update(self.controls)
        return motion

    def complete(self):
        """Set every vertex that has not been set."""
        blend_all(self.frame_state())

    def frame_state(self):
        """The Skin of this frame."""
        return Skin(self.vertex_ids, self.rest.reshape(-1), *self.skin, self.columns, self.stamps, self.flat, self.points, self.origin,
                    self.scale, np.int32(self.frame))

    def restore(self):
        """After an interrupted update: everything from the maps again, the old or the new ones."""
        self.update(self.controls)


def blended_motion(rest, weights, maps, origin):
    """The motion of these vertices at rest (n, 3) float64; weights, maps (None: none moves anything) and origin are as users give them."""
    validate.check_finite("rest", rest)
    validate.check_below("rest", rest, MAX_COORDINATE)
    point = None if origin is None else validate.point("origin", origin)
    if point is not None:
        validate.check_below("origin", point[None], MAX_COORDINATE)
    motion = Blended(rest, validate_rig.convex_weights("weights", weights, len(rest)), point)
    if maps is not None:
        motion.update(motion.validate_input(maps))
    return motion


def read_blended(file, settings):
    """The motion of a file."""
    from scipy import sparse
    if len(file.shapes) > 1:
        raise ArgumentError("shapes: expected one, the vertices at rest")
    if len(file.values) % 12:
        raise ArgumentError(f"given: expected maps of 12 numbers each, got {len(file.values)} numbers")
    maps, skin = file.values.reshape(-1, 3, 4), file.skin[::-1]
    return blended_motion(file.shapes[0], sparse.csr_array(skin, shape=(file.shapes.shape[1], len(maps))), maps, file.origin)


register_motion(MotionType(
    "blended", Blended, lambda motion: MotionFile(motion.file_vertices, motion.controls.reshape(-1), skin=motion.file_skin), read_blended))
