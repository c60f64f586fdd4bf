"""Blended: one volume per shape and lane, made once; a node that a query reaches gets the sum of them (thesis B 6.3), once a frame.

For p_i in V_i, Σ w_i p_i lies in the blend of the V_i: the volumes of a morphing body follow its weights, and no vertex is looked at but
those of the leaves that a query reaches. Between two consecutive targets there may be further reference volumes (6.5): then a body between
the two is between two of these, which are tighter.

Rounding: reference volumes are rounded outward, `blend` is, and `margin` covers that of positions and of weights that do not sum up to
one to the last bit. Shapes may be of very different sizes: each reference has the scale that suits it in float32, and weights bring
them to that of the body.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit, validate
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer, python_entry
from pliant.core.jit import kernel
from pliant.core.simd import ctz
from pliant.core.soa import aligned_zeros, lane, lanes, lanes_dtype, load_bounds, packed_dtype, put_bounds, put_lane, put_lanes
from pliant.errors import ArgumentError
from pliant.motion.free import MOTION_DTYPE
from pliant.motion.morph import ShapeBlend, round_up_float32
from pliant.refit import front_tracking, lazy
from pliant.refit.leaf_fill import CONTEXT, fill_computed_leaf, requested_lanes, requested_node, requested_stamp, stamp_if_ready
from pliant.refit.policy import Policy, register_policy
from pliant.refit.refit_node import merge_and_stamp
from pliant.refit.vertex_spans import vertex_spans
from pliant.tree.nodes import LEAF_DTYPE, node_dtype
from pliant.volume.protocol import blend, inflate, merge, negate

HALF, ONE, MAX_BETWEEN = np.float32(0.5), np.float32(1), 1 << 10
MAX_WEIGHT = 2.0**100                                                   # a shape that it would make larger than its body is 0 all over
BLEND_DTYPE = np.dtype([(name, np.int64) for name in (
    "references", "n_references", "active", "weights", "n_active", "stamps",  # of volumes
    "shapes", "n_shapes", "stride", "active_shapes", "shape_weights", "flat", "vertices", "n_vertices", "begins",  # of vertices
    "motion", "scales", "steps")] + [("margin", np.float32)])           # of both: see `choose_references`


class ReferenceVolumes(NamedTuple):
    """Reference volumes (n, r) of all nodes, `steps` of them between two targets, at `scales` (r,); which of them are active, and how much:
    `active` (r,) and `weight` (r,), from that scale to the body's; `record` (1,) is what entries read."""
    volumes: np.ndarray
    active: np.ndarray
    weight: np.ndarray
    steps: int
    record: np.ndarray
    scales: np.ndarray


@kernel
def blend_node(nodes, i, merged_lanes, references, r, active, weight, n, margin, stamps, stamp):
    """Set node i from its references, `merged_lanes` from the nodes under them, which are up to date; the number of volumes set."""
    made = signed_reference(references, i * r + active[0], weight[0])
    if n == 1 and abs(weight[0]) != ONE:
        made = blend(made, made, HALF * abs(weight[0]), HALF * abs(weight[0]))
    if n > 1:
        made = blend(made, signed_reference(references, i * r + active[1], weight[1]), abs(weight[0]), abs(weight[1]))
    for k in range(2, n):
        made = blend(made, signed_reference(references, i * r + active[k], weight[k]), ONE, abs(weight[k]))
    put_lanes(nodes, i, inflate(made, margin))
    while merged_lanes != 0:
        k, merged_lanes = ctz(merged_lanes), merged_lanes & (merged_lanes - 1)
        put_lane(nodes, i, k, load_bounds(nodes, np.int64(nodes[i]["child"][k])))
    for k in range(nodes[i]["count"], len(nodes[i]["child"])):          # sums of what is empty are nothing at all
        put_lane(nodes, i, k, lane(references, i * r, k))
    if stamps != 0:
        return merge_and_stamp(nodes, i, stamp)
    put_bounds(nodes, i, merge(lanes(nodes, i)))
    return np.int64(nodes[i]["count"])


@jit.helper
def signed_reference(references, i, weight):
    """Reference i, or its mirror image where the weight is negative."""
    made = lanes(references, i)
    return negate(made) if weight < 0 else made


# --- entries -------------------------------------------------------------------------------------------------------------------

@cache
def node_entry(volume, width):
    """(address, what keeps it alive) of `blend_node` for nodes of this class and width."""
    node, reference = node_dtype(volume, width), reference_dtype(volume, width)

    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        blend = array_at(as_pointer(record["blend"]), 1, BLEND_DTYPE)[0]
        nodes = array_at(as_pointer(record["nodes"]), record["n_nodes"], node)
        if stamp_if_ready(i, nodes, array_at(as_pointer(record["ready"]), record["n_nodes"], np.int32), np.int32(record["frame"])):
            return np.int64(0)
        references = array_at(as_pointer(blend["references"]), record["n_nodes"] * blend["n_references"], reference)
        number = array_at(as_pointer(blend["active"]), blend["n_references"], np.int64)
        weight = array_at(as_pointer(blend["weights"]), blend["n_references"], np.float32)
        return blend_node(nodes, requested_node(i), requested_lanes(i), references, blend["n_references"], number, weight,
                          blend["n_active"], blend["margin"], blend["stamps"], requested_stamp(i, nodes, np.int32(record["frame"])))

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        if stamp_if_ready(i, bvh.nodes, bvh.ready, bvh.frame):
            return 0
        state, blend = bvh.tree_state, bvh.tree_state.record[0]
        return blend_node(bvh.nodes, requested_node(i), requested_lanes(i), state.volumes.reshape(-1), state.volumes.shape[1], state.active,
                          state.weight, int(blend["n_active"]), blend["margin"], blend["stamps"], requested_stamp(i, bvh.nodes, bvh.frame))

    return address_of(enter_python if jit.DISABLED else enter)


@cache
def leaf_entry():
    """(address, what keeps it alive) of `fill_blended_leaf`."""
    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        blend = array_at(as_pointer(record["blend"]), 1, BLEND_DTYPE)[0]
        motion = array_at(as_pointer(blend["motion"]), 1, MOTION_DTYPE)[0]
        leaves = array_at(as_pointer(record["leaves"]), record["n_leaves"], LEAF_DTYPE)
        vertices = array_at(as_pointer(blend["vertices"]), blend["n_vertices"], np.int32)
        begins, n = array_at(as_pointer(blend["begins"]), record["n_leaves"] + 1, np.int32), record["n_points"] // 4
        state = ShapeBlend(array_at(as_pointer(blend["shapes"]), blend["n_shapes"] * blend["stride"], np.float64), blend["stride"],
                           array_at(as_pointer(blend["active_shapes"]), blend["n_shapes"], np.int64),
                           array_at(as_pointer(blend["shape_weights"]), blend["n_shapes"], np.float64), motion["n_active"],
                           motion["origin"], motion["scale"], array_at(as_pointer(blend["flat"]), 3 * n, np.float64),
                           array_at(as_pointer(record["points"]), 4 * n, np.float32))
        return np.int64(fill_computed_leaf(leaves, i, state, vertices, begins, np.int32(record["frame"])))

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        return fill_computed_leaf(bvh.leaves, i, bvh.motion.frame_state(), bvh.tree.vertices, bvh.tree.begins, bvh.frame)

    return address_of(enter_python if jit.DISABLED else enter)


# --- the references ------------------------------------------------------------------------------------------------------------

@cache
def reference_dtype(volume, width):
    """The record of the lanes of one node in one shape."""
    return packed_dtype([("lanes", lanes_dtype(volume, width))])


def prepare_bvh(bvh, steps, stamps):
    """On a new tree: reference volumes of all shapes, and of `steps` shapes between any two consecutive targets."""
    motion, tree, volume = bvh.motion, bvh.tree, bvh.options.volume_type.volume
    shapes = []
    for j in range(len(motion.shapes)):
        shapes.append(motion.shape(j))
        if j + 1 < len(motion.shapes):
            shapes += [motion.shape_between(j, s / (steps + 1)) for s in range(1, steps + 1)]
    nodes, _ = tree.allocate(bvh.options.volume_type)
    volumes = aligned_zeros((len(nodes), len(shapes)), reference_dtype(volume, tree.width))
    spans = vertex_spans(tree, motion.count)
    for j, (points, _) in enumerate(shapes):
        lazy.refit_each_node(nodes, points, *spans, np.int32(0))
        volumes["lanes"][:, j] = nodes["lanes"]
    record, number, weight = np.zeros(1, BLEND_DTYPE), np.zeros(len(shapes), np.int64), np.zeros(len(shapes), np.float32)
    blend = record[0]
    blend["references"], blend["active"], blend["weights"] = volumes.ctypes.data, number.ctypes.data, weight.ctypes.data
    blend["n_references"], blend["stamps"] = len(shapes), stamps
    blend["shapes"], blend["n_shapes"], blend["stride"] = motion.shapes.ctypes.data, *motion.shapes.shape
    blend["active_shapes"], blend["shape_weights"] = motion.active.ctypes.data, motion.weights.ctypes.data
    blend["flat"] = motion.flat.ctypes.data
    blend["vertices"], blend["n_vertices"], blend["begins"] = tree.vertices.ctypes.data, len(tree.vertices), tree.begins.ctypes.data
    scales = np.array([scale for _, scale in shapes])
    blend["motion"], blend["scales"], blend["steps"] = motion.address, scales.ctypes.data, steps
    bvh.tree_state = ReferenceVolumes(volumes, number, weight, steps, record, scales)
    bvh.set_context(blend=record, entry=node_entry(volume, tree.width)[0], fill=leaf_entry()[0])


@kernel
def choose_references(blend, motion, active, weights, scales, number, weight):
    """From the motion's record and the `active` shapes and their `weights`: which references are active, how much, and the margin of
    volumes."""
    blend["n_active"] = list_references(active, weights, motion["n_active"], blend["steps"], scales, motion["scale"], number, weight)
    blend["margin"] = round_up_float32(2 * motion["error_bound"])
    return 0


@jit.helper
def list_references(active, weights, n, steps, scales, scale, number, weight):
    """List the active references, and how much each counts: those of the shapes, or, between two consecutive targets, of the two nearest
    steps. Their number."""
    for k in range(n):
        number[k] = active[k] * (steps + 1)
        weight[k] = scaled_weight(weights[k], scales[number[k]], scale)
    if steps == 0 or n != 2 or active[1] != active[0] + 1:
        return n
    backward, forward = weights[0] * (steps + 1), weights[1] * (steps + 1)  # from the second, from the first: both, as one may be tiny
    step = min(int(forward), steps)
    at, n = number[0] + step, 0
    for k in range(2):
        share_of_step = forward - step if k == 1 else backward - (steps - step)
        if share_of_step != 0.0:
            number[n], weight[n] = at + k, scaled_weight(share_of_step, scales[at + k], scale)
            n += 1
    return n


@jit.helper
def scaled_weight(weight, scale, body_scale):
    """The weight of a reference of one scale in a body of another."""
    return min(max(weight / scale * body_scale, -MAX_WEIGHT), MAX_WEIGHT)


@cache
def weights_entry():
    """The function (context, 0) that calls `choose_references`: with arrays for arguments the call would take 2 µs longer."""
    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        blend = array_at(as_pointer(record["blend"]), 1, BLEND_DTYPE)[0]
        motion, n = array_at(as_pointer(blend["motion"]), 1, MOTION_DTYPE)[0], blend["n_references"]
        shape_weights = array_at(as_pointer(blend["shape_weights"]), blend["n_shapes"], np.float64)
        return np.int64(choose_references(
            blend, motion, array_at(as_pointer(blend["active_shapes"]), blend["n_shapes"], np.int64), shape_weights,
            array_at(as_pointer(blend["scales"]), n, np.float64), array_at(as_pointer(blend["active"]), n, np.int64),
            array_at(as_pointer(blend["weights"]), n, np.float32)))

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        state, motion = bvh.tree_state, bvh.motion
        return choose_references(state.record[0], motion.record[0], motion.active, motion.weights, state.scales, state.active, state.weight)

    return python_entry(enter_python if jit.DISABLED else enter)


def weigh_references(bvh):
    """Say how much of each reference counts in this frame."""
    weights_entry()(bvh.context, 0)


def refit_bvh(bvh):
    """Say how much of each reference counts; the rest on demand."""
    settings = bvh.options.settings
    if bvh.tree_state is None:
        prepare_bvh(bvh, settings["between"], settings["stamps"])
    weigh_references(bvh)
    if settings["front"]:
        front_tracking.advance_front(bvh)


def check_between(name, value):
    """How many steps lie between two targets."""
    return validate.integer(name, value, range(MAX_BETWEEN))


def check_front(volume_type, settings):
    """A front is told by stamps."""
    if settings["front"] and not settings["stamps"]:
        raise ArgumentError("policy: a front is told by stamps; expected stamps=True with front=True")


BLENDED = Policy("blended", refit_bvh, {"between": (0, check_between), "stamps": (True, validate.flag), "front": front_tracking.OPTION},
                 check=check_front, motion="morph")
register_policy(BLENDED)
