"""Blended: one volume per shape and lane, made once; a node that a query reaches gets the sum of them (thesis B 6.3), once a frame.

For p_i in V_i, Σ w_i p_i lies in the blend of the V_i: the volumes of a morphing body follow its weights, and no vertex is looked at but
those of the leaves that a query reaches. Between two consecutive targets there may be further reference volumes (6.5): then a body between
the two is between two of these, which are tighter.

Rounding: reference volumes are rounded outward, `blend` is, and `slack` covers that of positions and of weights that do not sum up to
one to the last bit. Shapes may be of very different sizes: each reference has the scale that suits it in float32, and weights bring
them to that of the body.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit, validate
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import kernel
from pliant.core.simd import first
from pliant.core.soa import aligned, lane, lanes, lanes_of, packed, put_lane, put_lanes, put_whole, whole
from pliant.motion.morph import blend_vertex, single_up
from pliant.refit import front_tracking, lazy
from pliant.refit.leaf_fill import CONTEXT, came_to_ready, fill, kept_of, node_of, stamp_for
from pliant.refit.policy import Policy
from pliant.refit.refit_node import settle
from pliant.tree.nodes import LEAF_DTYPE, node_dtype
from pliant.volume.protocol import blend, inflate, merge, mirror

HALF, ONE, MOST_BETWEEN = np.float32(0.5), np.float32(1), 1 << 10
MOST_WEIGHT = 2.0**100                                                  # a shape that it would make larger than its body is 0 all over
BLEND = np.dtype([(name, np.int64) for name in (
    "references", "n_references", "active", "weights", "n_active", "stamps",                                    # of volumes
    "shapes", "n_shapes", "stride", "used", "factors", "n_used", "flat", "vertices", "n_vertices", "begins")]    # of vertices
    + [("origin", np.float64, (4,)), ("scale", np.float64), ("slack", np.float32)])


class References(NamedTuple):
    """Reference volumes (n, r) of all nodes, `steps` of them between two targets, at `scales` (r,); which of them are active, and how much:
    `number` (r,) and `weight` (r,), from that scale to the body's; `about` (1,) is what entries read."""
    volumes: np.ndarray
    number: np.ndarray
    weight: np.ndarray
    steps: int
    about: np.ndarray
    scales: np.ndarray


@kernel
def blend_node(nodes, i, kept, references, r, number, weight, n, slack, stamps, stamp):
    """Set node i from its references, lanes in `kept` from the nodes under them, which are true; the number of volumes set."""
    made = signed(references, i * r + number[0], weight[0])
    if n == 1 and abs(weight[0]) != ONE:
        made = blend(made, made, HALF * abs(weight[0]), HALF * abs(weight[0]))
    if n > 1:
        made = blend(made, signed(references, i * r + number[1], weight[1]), abs(weight[0]), abs(weight[1]))
    for k in range(2, n):
        made = blend(made, signed(references, i * r + number[k], weight[k]), ONE, abs(weight[k]))
    put_lanes(nodes, i, inflate(made, slack))
    while kept != 0:
        k, kept = first(kept), kept & (kept - 1)
        put_lane(nodes, i, k, whole(nodes, np.int64(nodes[i]["child"][k])))
    for k in range(nodes[i]["count"], len(nodes[i]["child"])):          # sums of what is empty are nothing at all
        put_lane(nodes, i, k, lane(references, i * r, k))
    if stamps != 0:
        return settle(nodes, i, stamp)
    put_whole(nodes, i, merge(lanes(nodes, i)))
    return np.int64(nodes[i]["count"])


@jit.helper
def signed(references, i, weight):
    """Reference i, or its mirror image where the weight is negative."""
    made = lanes(references, i)
    return mirror(made) if weight < 0 else made


@kernel
def fill_blended(leaves, i, points, vertices, begins, shapes, stride, used, factors, n, origin, scale, flat, frame):
    """Set the vertices of leaf i, then its triangles."""
    for at in range(begins[i], begins[i + 1]):
        blend_vertex(shapes, stride, used, factors, n, origin, scale, np.int64(vertices[at]), flat, points)
    return fill(leaves, i, points, frame)


# --- entries -------------------------------------------------------------------------------------------------------------------

@cache
def node_entry(volume, width):
    """(address, what keeps it alive) of `blend_node` for nodes of this class and width."""
    node, reference = node_dtype(volume, width), reference_dtype(volume, width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        more = array_at(pointer(about["blend"]), 1, BLEND)[0]
        nodes = array_at(pointer(about["nodes"]), about["n_nodes"], node)
        if came_to_ready(i, nodes, array_at(pointer(about["ready"]), about["n_nodes"], np.int32), np.int32(about["frame"])):
            return np.int64(0)
        references = array_at(pointer(more["references"]), about["n_nodes"] * more["n_references"], reference)
        number = array_at(pointer(more["active"]), more["n_references"], np.int64)
        weight = array_at(pointer(more["weights"]), more["n_references"], np.float32)
        return blend_node(nodes, node_of(i), kept_of(i), references, more["n_references"], number, weight, more["n_active"], more["slack"],
                          more["stamps"], stamp_for(i, nodes, np.int32(about["frame"])))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        if came_to_ready(i, shape.nodes, shape.ready, shape.frame):
            return 0
        kept, more = shape.kept, shape.kept.about[0]
        return blend_node(shape.nodes, node_of(i), kept_of(i), kept.volumes.reshape(-1), kept.volumes.shape[1], kept.number, kept.weight,
                          int(more["n_active"]), more["slack"], more["stamps"], stamp_for(i, shape.nodes, shape.frame))

    return address_of(enter_python if jit.DISABLED else enter)


@cache
def leaf_entry():
    """(address, what keeps it alive) of `fill_blended`."""
    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        more = array_at(pointer(about["blend"]), 1, BLEND)[0]
        leaves = array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        vertices = array_at(pointer(more["vertices"]), more["n_vertices"], np.int32)
        begins = array_at(pointer(more["begins"]), about["n_leaves"] + 1, np.int32)
        shapes = array_at(pointer(more["shapes"]), more["n_shapes"] * more["stride"], np.float64)
        used = array_at(pointer(more["used"]), more["n_shapes"], np.int64)
        factors = array_at(pointer(more["factors"]), more["n_shapes"], np.float64)
        flat = array_at(pointer(more["flat"]), 3 * (about["n_points"] // 4), np.float64)
        return np.int64(fill_blended(leaves, i, points, vertices, begins, shapes, more["stride"], used, factors, more["n_used"],
                                     more["origin"], more["scale"], flat, np.int32(about["frame"])))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        motion, tree = shape.motion, shape.tree
        return fill_blended(shape.leaves, i, shape.points, tree.vertices, tree.begins, motion.shapes.reshape(-1), motion.shapes.shape[1],
                            motion.active, motion.weights, motion.n_active, motion.origin, motion.scale, motion.flat, shape.frame)

    return address_of(enter_python if jit.DISABLED else enter)


# --- the references ------------------------------------------------------------------------------------------------------------

@cache
def reference_dtype(volume, width):
    """The record of the lanes of one node in one shape."""
    return packed([("lanes", lanes_of(volume, width))])


def prepare(shape, steps, stamps):
    """On a new tree: reference volumes of all shapes, and of `steps` shapes between any two consecutive targets."""
    motion, tree, volume = shape.motion, shape.tree, shape.options.family.volume
    shapes = []
    for j in range(len(motion.shapes)):
        shapes.append(motion.shape(j))
        if j + 1 < len(motion.shapes):
            shapes += [motion.between(j, s / (steps + 1)) for s in range(1, steps + 1)]
    nodes, _ = tree.records(shape.options.family)
    volumes = aligned((len(nodes), len(shapes)), reference_dtype(volume, tree.width))
    spans = lazy.spans_of(tree, motion.count)
    for j, (points, _) in enumerate(shapes):
        lazy.refresh_each(nodes, points, *spans, np.int32(0))
        volumes["lanes"][:, j] = nodes["lanes"]
    about, number, weight = np.zeros(1, BLEND), np.zeros(len(shapes), np.int64), np.zeros(len(shapes), np.float32)
    more = about[0]
    more["references"], more["active"], more["weights"] = volumes.ctypes.data, number.ctypes.data, weight.ctypes.data
    more["n_references"], more["stamps"] = len(shapes), stamps
    more["shapes"], more["n_shapes"], more["stride"] = motion.shapes.ctypes.data, *motion.shapes.shape
    more["used"], more["factors"], more["flat"] = motion.active.ctypes.data, motion.weights.ctypes.data, motion.flat.ctypes.data
    more["vertices"], more["n_vertices"], more["begins"] = tree.vertices.ctypes.data, len(tree.vertices), tree.begins.ctypes.data
    more["origin"] = motion.origin
    shape.kept = References(volumes, number, weight, steps, about, np.array([scale for _, scale in shapes]))
    shape.know(blend=about, entry=node_entry(volume, tree.width)[0], fill=leaf_entry()[0])


@kernel
def choose(active, weights, n, steps, scales, scale, number, weight):
    """Which references are active, and how much: those of the shapes, or, between two consecutive targets, of the two nearest steps.
    Their number."""
    for k in range(n):
        number[k] = active[k] * (steps + 1)
        weight[k] = share(weights[k], scales[number[k]], scale)
    if steps == 0 or n != 2 or active[1] != active[0] + 1:
        return n
    back, way = weights[0] * (steps + 1), weights[1] * (steps + 1)      # from the second, from the first: both, as one may be tiny
    step = min(int(way), steps)
    at, n = number[0] + step, 0
    for k in range(2):
        part = way - step if k == 1 else back - (steps - step)
        if part != 0.0:
            number[n], weight[n] = at + k, share(part, scales[at + k], scale)
            n += 1
    return n


@jit.helper
def share(part, scale, wanted):
    """The weight of a reference of one scale in a body of another."""
    return min(max(part / scale * wanted, -MOST_WEIGHT), MOST_WEIGHT)


def follow(shape):
    """Say how much of each reference counts; the rest on demand."""
    motion, settings = shape.motion, shape.options.settings
    if shape.kept is None:
        prepare(shape, settings["between"], settings["stamps"])
    kept, more = shape.kept, shape.kept.about[0]
    n, weights = motion.n_active, motion.weights
    more["n_active"] = choose(motion.active, weights, n, kept.steps, kept.scales, motion.scale, kept.number, kept.weight)
    more["n_used"], more["scale"], more["slack"] = motion.n_active, motion.scale, single_up(2 * motion.doubt)
    if settings["front"]:
        front_tracking.advance(shape)


def check_between(name, value):
    """How many steps lie between two targets."""
    return validate.integer(name, value, range(MOST_BETWEEN))


def suits(family, settings):
    """A front is told by stamps."""
    if settings["front"] and not settings["stamps"]:
        raise ValueError("policy: a front is told by stamps; expected stamps=True with front=True")


BLENDED = Policy("blended", follow, {"between": (0, check_between), "stamps": (True, validate.flag), "front": front_tracking.OPTION},
                 suits=suits, motion="morph")
