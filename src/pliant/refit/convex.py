"""Convex: volumes of a blended body from its maps, without its vertices (Steinemann, Otaduy and Gross 2008, 4 and 5).

Of every lane it is known, once and for all, which maps move the vertices under it, between which limits their weights lie, and a box at
rest around those that each moves. Along the directions of a k-DOP that bounds where the vertices are (`motion/weight_bounds.py`), in time
linear in the number of these maps, whatever the number of vertices. A node that a query reaches is refreshed so, once a frame. Vertices are
blended, and triangles made of them, for leaves that a query reaches.

    bound    "eq12", the paper's closed form; "greedy", the solution of the linear programme: a little tighter, and dearer
    boxes    "own": a box for each map around the vertices that it moves, where these are clearly smaller than one around all; "aabb",
             "obb": always one for all, along the axes or turned, as in the paper. To bound what a map does to a box around everything is
             to bound what it would do to vertices that it does not move: near the root these are nearly all
    leaves   "bound": as all other lanes; "exact": from their vertices, all leaves of a node at once, as in the paper

Volume types that are no k-DOPs get the volume around the box (`enclose_box` of the protocol).
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit, validate
from pliant.core.dispatch import ANY, generic
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer, call_address
from pliant.core.jit import helper, kernel
from pliant.core.simd import to_float32, vector4
from pliant.core.soa import aligned_zeros, lane, load_bounds, put_field_lanes, put_lane, stamp
from pliant.core.stack import stack_float32, store_vector
from pliant.motion.free import MOTION_DTYPE
from pliant.motion.skin import STAMP_DTYPE, Skin
from pliant.motion.weight_bounds import BOUNDS, NodeRanges, bound_direction, range_dtypes, rounding_margin
from pliant.motion.weight_ranges import collect_ranges, put_ranges, range_scratch
from pliant.refit import front_tracking, lazy
from pliant.refit.fitted import fit_nodes
from pliant.refit.leaf_fill import CONTEXT, fill_computed_leaf, requested_lanes, requested_node, requested_stamp, stamp_if_ready
from pliant.refit.policy import Policy, register_policy
from pliant.refit.refit_node import enclose_range, merge_and_stamp
from pliant.tree.nodes import LEAF_DTYPE, node_dtype
from pliant.volume.aabb import Box
from pliant.volume.kdop import KDop14, KDop18, KDop26
from pliant.volume.protocol import FIT_METHODS, VOLUME_TYPES, enclose_box
from pliant.volume.slabs import DIAGONALS, EDGES

AXES = ["lopoo", "loopo", "looop"]
BOXES, LEAVES = ("own", "aabb", "obb"), ("exact", "bound")
SLABS = {Box: AXES, KDop14: AXES + DIAGONALS[::2], KDop18: AXES + EDGES[::2], KDop26: AXES + DIAGONALS[::2] + EDGES[::2]}
OWN_BOX_RATIO = 0.9                                                     # of the sides of boxes around all: then a map is worth its own
SIGNS = {"p": 1, "m": -1, "o": 0}
CONVEX_DTYPE = np.dtype([(name, np.int64) for name in (
    "weight_ranges", "map_ids", "begins", "n_weight_ranges", "rest_boxes", "starts", "n_rest_boxes", "weight_sums", "planes", "norms",
    "n_planes", "n_norms", "empty",
    "oriented", "method", "exact",
    "motion", "vertex_ids", "rest", "skin_begins", "skin_which", "skin_weights", "columns", "stamps", "flat", "n_weights", "n_columns",
    "vertices", "rows", "leaf_begins", "n_vertices")])


class ConvexState(NamedTuple):
    """What a BVH keeps with its tree: directions (D, 3), the rows of the vertices of its leaves, and `record` (1,), what entries read."""
    ranges: NodeRanges
    directions: np.ndarray
    rows: np.ndarray
    record: np.ndarray


# --- one node --------------------------------------------------------------------------------------------------------------------

@generic("like")
def put_slab(like, nodes, i, d, low, high, scratch):
    """Take in the ends of all lanes of node i along direction d."""


@generic("like")
def finish_slabs(like, nodes, i, scratch):
    """All directions have been seated: set the lanes of node i."""


@put_slab.register(ANY)
def _(like, nodes, i, d, low, high, scratch):
    store_vector(scratch, 8 * d, low)
    store_vector(scratch, 8 * (d + 3), high)


@finish_slabs.register(ANY)
def _(like, nodes, i, scratch):
    for k in range(nodes[i]["count"]):
        low = to_float32(vector4(np.float64(scratch[k]), np.float64(scratch[k + 8]), np.float64(scratch[k + 16]), 0.0))
        high = to_float32(vector4(np.float64(scratch[k + 24]), np.float64(scratch[k + 32]), np.float64(scratch[k + 40]), 0.0))
        put_lane(nodes, i, k, enclose_box(like, low, high))


def _put_field(like, nodes, i, d, low, high, scratch):
    put_field_lanes(nodes, i, d if d < 3 else 2 * d, low)               # fields of a k-DOP: those of a box, then ends of slabs, in twos
    put_field_lanes(nodes, i, d + 3 if d < 3 else 2 * d + 1, high)


def _finish_fields(like, nodes, i, scratch):
    pass


for _volume in SLABS:
    put_slab.register(_volume)(_put_field)
    finish_slabs.register(_volume)(_finish_fields)


@kernel
def bound_node(nodes, leaves, i, merged_lanes, ranges, record, motion, points, vertices, begins, fill_leaf, context, frame, stamp_after):
    """Set node i: `merged_lanes` from the nodes under them, which are up to date, leaves from their vertices if `exact`, the others by
    their limits; of the record also `oriented` and `method`, as in the module, of the motion's the largest `size` of a bound, and the
    `error_bound` of vertices. How many lanes."""
    begin, end, like, scratch = ranges.begins[i], ranges.begins[i + 1], load_bounds(nodes, i), stack_float32(48)
    if begin < end and merged_lanes != (np.int64(1) << nodes[i]["count"]) - 1:
        margin, at = rounding_margin(end - begin, motion["size"]) + 2 * motion["error_bound"], ranges.starts[i]
        step = np.int64(ranges.starts[i + 1] - at > 1)
        for d in range(len(ranges.norms)):
            low, high = bound_direction(ranges, begin, end, at, step, i, np.int64(d), record["oriented"], record["method"])
            out = np.float32(margin * ranges.norms[d])
            put_slab(like, nodes, i, np.int64(d), low - out, high + out, scratch)
        finish_slabs(like, nodes, i, scratch)
    for k in range(nodes[i]["count"]):
        child = np.int64(nodes[i]["child"][k])
        if child < 0 and record["exact"] != 0:
            if stamp(leaves, ~child) != frame:
                call_address(fill_leaf, context, ~child)
            put_lane(nodes, i, k, enclose_range(like, points, vertices, np.int64(begins[~child]), np.int64(begins[~child + 1])))
        elif merged_lanes >> k & 1:
            put_lane(nodes, i, k, load_bounds(nodes, child))
    for k in range(nodes[i]["count"], len(nodes[i]["child"])):
        put_lane(nodes, i, k, lane(ranges.empty, np.int64(0), k))
    return merge_and_stamp(nodes, i, stamp_after)


# --- entries -------------------------------------------------------------------------------------------------------------------

@cache
def node_entry(volume, width):
    """(address, what keeps it alive) of `bound_node` for nodes of this class and width."""
    node, (share, hull, rest) = node_dtype(volume, width), range_dtypes(width)

    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        convex = array_at(as_pointer(record["blend"]), 1, CONVEX_DTYPE)[0]
        n = record["n_nodes"]
        nodes = array_at(as_pointer(record["nodes"]), n, node)
        leaves = array_at(as_pointer(record["leaves"]), record["n_leaves"], LEAF_DTYPE)
        if stamp_if_ready(i, nodes, array_at(as_pointer(record["ready"]), record["n_nodes"], np.int32), np.int32(record["frame"])):
            return np.int64(0)
        ranges = NodeRanges(array_at(as_pointer(convex["weight_ranges"]), convex["n_weight_ranges"], share),
                            array_at(as_pointer(convex["map_ids"]), convex["n_weight_ranges"], np.int32),
                            array_at(as_pointer(convex["begins"]), n + 1, np.int64),
                            array_at(as_pointer(convex["rest_boxes"]), convex["n_rest_boxes"], hull),
                            array_at(as_pointer(convex["starts"]), n + 1, np.int64), array_at(as_pointer(convex["weight_sums"]), n, rest),
                            array_at(as_pointer(convex["norms"]), convex["n_norms"], np.float64),
                            array_at(as_pointer(convex["planes"]), convex["n_planes"], np.float32),
                            array_at(as_pointer(convex["empty"]), 1, node))
        vertices = array_at(as_pointer(convex["vertices"]), convex["n_vertices"], np.int32)
        begins = array_at(as_pointer(convex["leaf_begins"]), record["n_leaves"] + 1, np.int32)
        points = array_at(as_pointer(record["points"]), record["n_points"], np.float32)
        frame = np.int32(record["frame"])
        motion = array_at(as_pointer(convex["motion"]), 1, MOTION_DTYPE)[0]
        return bound_node(nodes, leaves, requested_node(i), requested_lanes(i), ranges, convex, motion, points, vertices, begins,
                          record["fill"], context, frame, requested_stamp(i, nodes, frame))

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        if stamp_if_ready(i, bvh.nodes, bvh.ready, bvh.frame):
            return 0
        return bound_node(bvh.nodes, bvh.leaves, requested_node(i), requested_lanes(i), bvh.tree_state.ranges, bvh.tree_state.record[0],
                          bvh.motion.record[0], bvh.points, bvh.tree.vertices, bvh.tree.begins, bvh.fill, context, bvh.frame,
                          requested_stamp(i, bvh.nodes, bvh.frame))

    return address_of(enter_python if jit.DISABLED else enter)


@cache
def leaf_entry():
    """(address, what keeps it alive) of `fill_blended_leaf`."""
    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        convex = array_at(as_pointer(record["blend"]), 1, CONVEX_DTYPE)[0]
        leaves = array_at(as_pointer(record["leaves"]), record["n_leaves"], LEAF_DTYPE)
        motion = array_at(as_pointer(convex["motion"]), 1, MOTION_DTYPE)[0]
        rows = array_at(as_pointer(convex["rows"]), convex["n_vertices"], np.int32)
        begins, n = array_at(as_pointer(convex["leaf_begins"]), record["n_leaves"] + 1, np.int32), record["n_points"] // 4
        skin = Skin(array_at(as_pointer(convex["vertex_ids"]), n, np.int32), array_at(as_pointer(convex["rest"]), 3 * n, np.float64),
                    array_at(as_pointer(convex["skin_begins"]), n + 1, np.int64),
                    array_at(as_pointer(convex["skin_which"]), convex["n_weights"], np.int32),
                    array_at(as_pointer(convex["skin_weights"]), convex["n_weights"], np.float64),
                    array_at(as_pointer(convex["columns"]), convex["n_columns"], np.float64),
                    array_at(as_pointer(convex["stamps"]), n, STAMP_DTYPE),
                    array_at(as_pointer(convex["flat"]), 3 * n, np.float64), array_at(as_pointer(record["points"]), 4 * n, np.float32),
                    motion["origin"], motion["scale"], np.int32(motion["frame"]))
        return np.int64(fill_computed_leaf(leaves, i, skin, rows, begins, np.int32(record["frame"])))

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        return fill_computed_leaf(bvh.leaves, i, bvh.motion.frame_state(), bvh.tree_state.rows, bvh.tree.begins, bvh.frame)

    return address_of(enter_python if jit.DISABLED else enter)


# --- the limits ----------------------------------------------------------------------------------------------------------------

@kernel
def list_ranges(child, count, spans, skin, local, axes, to_xyz, exact, own, scratch, last_node, slots, ranges):
    """Fill the ranges of every lane, leaves excepted if these are `exact`; the number of weight ranges. Without room for `map_ids` it fills
    only `begins` (n + 1,) and `starts` (n + 1,), and thereby decides which nodes have a rest box for each map; with room it reads these.
    `spans` lists the rows of each lane; last_node (m,) is −1 at first."""
    firsts, starts, maps = ranges.begins, ranges.starts, ranges.map_ids
    boxes, map_ids = scratch.boxes, scratch.map_ids
    total, n_hulls, filling = 0, 0, len(maps) > 0
    for i in range(len(child)):
        firsts[i], own_size, common_size, n = total, 0.0, 0.0, 0
        at = starts[i]
        step = np.int64(starts[i + 1] - at > 1)
        for k in range(count[i]):
            if child[i, k] < 0 and exact:
                continue
            n = collect_ranges(spans.order, spans.spans[i, k, 0], spans.spans[i, k, 1], skin, local, axes[i, k], scratch)
            for e in range(n):
                j = np.int64(map_ids[e])
                if last_node[j] != i:
                    last_node[j], slots[j] = i, total
                    if filling:
                        maps[total] = j
                    total += 1
                own_size, common_size = own_size + side_sum(boxes[j]), common_size + side_sum(boxes[len(boxes) - 1])
            if filling:
                put_ranges(scratch, n, slots, to_xyz[i, k], ranges, at - step * firsts[i], step, i, k)
        if not filling:
            starts[i] = n_hulls
            n_hulls += total - firsts[i] if own and own_size < OWN_BOX_RATIO * common_size else min(total - firsts[i], 1)
    firsts[len(child)] = total
    if not filling:
        starts[len(child)] = n_hulls
    return total


@helper
def side_sum(box):
    """The sides of a box, together."""
    return (box[3] - box[0]) + (box[4] - box[1]) + (box[5] - box[2])


def lane_axes(bvh, boxes):
    """(n, W, 3, 3) twice: the axes of each lane's box at rest, rows that give a place along them, and columns that lead back."""
    tree, motion = bvh.tree, bvh.motion
    identity = np.broadcast_to(np.eye(3), (*tree.child.shape, 3, 3))
    if boxes != "obb":
        return identity, identity
    volume_type = VOLUME_TYPES["obb"]
    nodes, _ = tree.allocate(volume_type)
    rows = aligned_zeros((motion.count, 4), np.float32)
    rows[:, :3] = motion.local[motion.rows]
    fit_nodes(FIT_METHODS["best"], nodes, bvh.ranges(), tree.vertices, tree.begins, rows.reshape(-1), np.int32(0))
    rows = np.stack([nodes["lanes"][f"r{k}{c}"] for k in range(3) for c in range(3)], axis=-1).astype(np.float64)
    to_xyz = np.where(np.arange(tree.width)[None, :, None, None] < tree.count[:, None, None, None],
                      rows.reshape(*tree.child.shape, 3, 3), np.eye(3)).swapaxes(-1, -2)
    return np.linalg.inv(to_xyz), np.ascontiguousarray(to_xyz)


def slab_directions(volume):
    """(D, 3): the directions along which volumes of this class have ends."""
    return np.array([[SIGNS[sign] for sign in name[2:]] for name in SLABS.get(volume, AXES)], np.float64)


def prepare_bvh(bvh, settings):
    """On a new tree: what is known of every lane for good."""
    motion, tree, volume = bvh.motion, bvh.tree, bvh.options.volume_type.volume
    rows = motion.rows[tree.vertices]
    spans, directions = lazy.vertex_spans(tree, motion.count), slab_directions(volume)
    axes, to_xyz = lane_axes(bvh, settings["boxes"])
    exact, own, m = settings["leaves"] == "exact", settings["boxes"] == "own", motion.n_maps
    n, scratch, spans = len(tree.child), range_scratch(m), spans._replace(order=motion.rows[spans.order])
    weight_range, rest_box, weight_sum = range_dtypes(tree.width)
    empty, norms = aligned_zeros(1, node_dtype(volume, tree.width)), np.abs(directions).sum(axis=1)
    for name, value in zip(volume._fields, bvh.options.volume_type.empty, strict=True):
        empty["lanes"][name] = value
    planes = motion.planes if len(directions) == 3 else aligned_zeros(4 * len(directions) * m, np.float32)
    ranges = NodeRanges(aligned_zeros(0, weight_range), np.zeros(0, np.int32), np.zeros(n + 1, np.int64), aligned_zeros(0, rest_box),
                        np.zeros(n + 1, np.int64), aligned_zeros(n, weight_sum), norms, planes, empty)
    lists = tree.child, tree.count, spans, motion.skin, motion.local, axes, to_xyz, exact, own, scratch
    total = list_ranges(*lists, np.full(m, -1), np.zeros(m, np.int64), ranges)
    if total:
        ranges = ranges._replace(weight_ranges=aligned_zeros(total, weight_range), map_ids=np.zeros(total, np.int32),
                                 rest_boxes=aligned_zeros(int(ranges.starts[n]), rest_box))
        list_ranges(*lists, np.full(m, -1), np.zeros(m, np.int64), ranges)
    record = np.zeros(1, CONVEX_DTYPE)
    convex = record[0]
    begins_of_skin, maps_of_skin, weights_of_skin = motion.skin
    arrays = {**ranges._asdict(), "vertex_ids": motion.vertex_ids, "rest": motion.rest, "skin_begins": begins_of_skin,
              "skin_which": maps_of_skin, "skin_weights": weights_of_skin, "columns": motion.columns, "stamps": motion.stamps,
              "flat": motion.flat, "rows": rows, "vertices": tree.vertices, "leaf_begins": tree.begins}
    for name, array in arrays.items():
        convex[name] = array.ctypes.data
    convex["motion"], convex["n_weight_ranges"], convex["n_planes"] = motion.address, total, len(planes)
    convex["n_norms"], convex["n_weights"] = len(norms), len(maps_of_skin)
    convex["n_columns"], convex["n_vertices"], convex["n_rest_boxes"] = len(motion.columns), len(tree.vertices), len(ranges.rest_boxes)
    convex["oriented"], convex["method"], convex["exact"] = settings["boxes"] == "obb", BOUNDS[settings["bound"]], exact
    bvh.tree_state = ConvexState(ranges, directions, rows, record)
    bvh.set_context(blend=record, entry=node_entry(volume, tree.width)[0], fill=leaf_entry()[0])


@kernel
def project_maps(axis_planes, directions, planes):
    """Set the rows of the maps along directions (D, 3) of −1, 0 and 1 from those along the axes, as in `NodeRanges.planes`.

    Rows along the axes are off by 2**-24 of their numbers, so a row along n by the 1-norm of n as often; the sum of three of them is
    rounded to float64, then once to float32, which adds 2**-24 of the sum of their sizes: no more again. `rounding_margin` has room for
    either, times `norms`. NumPy's matmul takes 4 times as long, its einsum 13 times: 145 µs for 550 maps and 7 directions, instead of 11.
    """
    n = len(directions)
    for j in range(len(axis_planes) // 12):
        for d in range(n):
            x, y, z = directions[d, 0], directions[d, 1], directions[d, 2]
            for c in range(4):
                planes[4 * (n * j + d) + c] = (x * np.float64(axis_planes[12 * j + c]) + y * np.float64(axis_planes[12 * j + 4 + c])
                                               + z * np.float64(axis_planes[12 * j + 8 + c]))


def refit_bvh(bvh):
    """Bring the maps along all directions; the rest on demand."""
    if bvh.tree_state is None:
        prepare_bvh(bvh, bvh.options.settings)
    state = bvh.tree_state
    if len(state.directions) > 3:
        project_maps(bvh.motion.planes, state.directions, state.ranges.planes)
    if bvh.options.settings["front"]:
        front_tracking.advance_front(bvh)


CONVEX = Policy("convex", refit_bvh, {"bound": ("eq12", validate.choice_of(BOUNDS)), "boxes": ("own", validate.choice_of(BOXES)),
                                    "leaves": ("bound", validate.choice_of(LEAVES)), "front": front_tracking.OPTION}, motion="blended")
register_policy(CONVEX)
