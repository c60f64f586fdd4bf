"""Inflated: volumes grow by what vertices move, and only those that a query has shown to be loose are fitted again (Bitar 2011, III.4).

A volume is a lane of a node; the whole of a node is the lane above it, and that of the root a volume of its own. Before the first query
after an update, in one reverse scan:

1. Error propagation. A leaf grows, from what it was when it was last fitted, by the farthest that one of its vertices is from where it was
   then: vertices that oscillate do not inflate it. Every other volume grows by the longest step of a vertex under it since the scan before.
2. Fitness. A: it has grown by p_max times its thickness, or more. B: the last queries came to what is in it. C: a loop over distances found
   its children farther away than it (`Bvh.looseness`) by more than k times what it has grown by, and that is gamma times its thickness or
   more. A criterion is a rule over these three. What is unfit is fitted to the vertices under it, which does not concern its children.

Queries are never interrupted: all volumes are true. Nodes keep an old stamp nevertheless, all but the root: so a loop that comes to one
calls the entry, which does nothing but stamp it, and that is B. The root is where every query begins.

Where the thesis is silent: a flat volume has no thickness to speak of, so that a share of its size counts, if that is more; a volume that
has not grown is as it was fitted, and never unfit; where the origin or the scale of a body has changed, everything is fitted.

Rounding: volumes hold all that rounds to the float32 rows they were made around. A step from row r to row s is taken as |s − r|, rounded
up, and what rounding to s may hide: whatever rounds to s is within that of r. A row that is the same bits hides what it hid before.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit, validate
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer
from pliant.core.jit import helper, kernel
from pliant.core.simd import fabs, load, load4, maximum, reduce_max, sqrt, store4, transpose4x3, where
from pliant.core.soa import (
    aligned_zeros,
    bounds_dtype,
    lane,
    lanes,
    lanes_dtype,
    load_bounds,
    packed_dtype,
    publish,
    put_bounds,
    put_lane,
    put_lanes,
    record_class,
    select,
    stamp,
)
from pliant.errors import ArgumentError
from pliant.refit.fitted import check_fit_method, fit_points
from pliant.refit.leaf_fill import CONTEXT
from pliant.refit.policy import Policy, register_policy
from pliant.tree.nodes import node_dtype
from pliant.volume.aabb import SCALE_UP, ZERO
from pliant.volume.protocol import FIT_METHODS, ULP, inflate, min_half_extent, round_up, size
from pliant.volume.sphere import MIN_RADIUS, squared_norm

MIN_THICKNESS_SHARE = np.float32(1 / 32)                                # of its size a volume is thick, at least
NO_LOOSENESS = np.float32(-1)
CRITERIA = {                                                            # bit A + 2 B + 4 C: is a volume unfit of which these are so?
    name: sum(bool(rule(case & 1, case >> 1 & 1, case >> 2)) << case for case in range(8)) for name, rule in {
        "A": lambda a, b, c: a,
        "B": lambda a, b, c: b,
        "A&B": lambda a, b, c: a & b,
        "A|B": lambda a, b, c: a | b,
        "B&C": lambda a, b, c: b & c,
        "A&B&C": lambda a, b, c: a & b & c,
        "A|(B&C)": lambda a, b, c: a | b & c,
        "(A&B)|(B&C)": lambda a, b, c: a & b | b & c,
        "all": lambda a, b, c: True,
        "none": lambda a, b, c: False}.items()}


@record_class
class Growth(NamedTuple):
    """What a volume has grown by since it was fitted, and how thick it was then."""
    inflation: float
    min_extent: float


class FitnessLimits(NamedTuple):
    """What is unfit: the rule, a value of CRITERIA, and the limits of A and C; `last_frame`: the frame of the scan before; `fit_all`:
    everything."""
    rule: int
    p_max: float
    k: float
    gamma: float
    last_frame: int
    fit_all: bool


class LastScan:
    """The frame of the last scan, and where the body's origin was, at which scale."""

    def __init__(self):
        self.frame, self.coordinates = None, None


class InflatedState(NamedTuple):
    """Volumes as they were fitted (n,), that of the root in whole of the first; growth (n + 1,), the root's last; before: the points of the
    last scan; anchors: of the tree's `vertices`, their points when their leaf was fitted; steps, of vertices, and latest (n,): scratch."""
    originals: np.ndarray
    growth: np.ndarray
    last_points: np.ndarray
    anchors: np.ndarray
    steps: np.ndarray
    longest_steps: np.ndarray
    last_scan: LastScan


# --- displacements -----------------------------------------------------------------------------------------------------------------

@helper
def displacement_bound(x, y, z, p, q, r):
    """How far it is from (p, q, r) to all that rounds to (x, y, z), or more; 0 where they are the same."""
    u, v, w = fabs(x - p), fabs(y - q), fabs(z - r)
    hidden = (fabs(x) + fabs(y) + fabs(z)) * ULP + MIN_RADIUS           # squares may have underflowed
    return where(maximum(u, maximum(v, w)) > ZERO, sqrt(squared_norm(u, v, w)) * SCALE_UP + hidden, ZERO)


@kernel
def measure_steps(points, last_points, steps):
    """steps: how far each vertex has come since `before`, which then is where it is. Four at a time, the last ones again and again."""
    last = len(points) // 4 - 1
    for at in range(0, last + 1, 4):
        p, q, r, s = 4 * at, 4 * min(at + 1, last), 4 * min(at + 2, last), 4 * min(at + 3, last)
        x, y, z = transpose4x3(load4(points, p), load4(points, q), load4(points, r), load4(points, s))
        u, v, w = transpose4x3(load4(last_points, p), load4(last_points, q), load4(last_points, r), load4(last_points, s))
        store4(steps, at, displacement_bound(x, y, z, u, v, w))
        for k in (p, q, r, s):
            store4(last_points, k, load4(points, k))


@helper
def longest_step(steps, vertices, begin, end):
    """Of the vertices named by vertices[begin : end]."""
    longest = ZERO
    for at in range(begin, end):
        longest = maximum(longest, load(steps, np.int64(load(vertices, at))))
    return longest


@helper
def max_anchor_distance(points, anchors, vertices, begin, end):
    """How far the farthest of these vertices is from its anchor."""
    largest = ZERO
    for at in range(begin, end, 4):
        x, y, z = transpose4x3(load4(points, 4 * np.int64(load(vertices, at))), load4(points, 4 * np.int64(load(vertices, at + 1))),
                               load4(points, 4 * np.int64(load(vertices, at + 2))), load4(points, 4 * np.int64(load(vertices, at + 3))))
        p, q, r = transpose4x3(load4(anchors, 4 * at), load4(anchors, 4 * at + 4), load4(anchors, 4 * at + 8), load4(anchors, 4 * at + 12))
        largest = maximum(largest, reduce_max(displacement_bound(x, y, z, p, q, r)))
    return largest


# --- the scan ----------------------------------------------------------------------------------------------------------------------

@helper
def was_visited(nodes, leaves, child, last):
    """Have queries come to this child in that frame? To the root they always have."""
    if child < 0:
        return stamp(leaves, ~child) == last
    return child == 0 or stamp(nodes, child) == last


@helper
def needs_fit(limits, nodes, leaves, child, inflation, min_extent, looseness):
    """Shall a volume be fitted? Leaves are large, and their stamps cold: they are read only if it depends on them."""
    if limits.fit_all or inflation == ZERO:
        return limits.fit_all
    case = 0
    if inflation >= limits.p_max * min_extent:
        case += 1
    if inflation >= limits.gamma * min_extent and looseness > limits.k * inflation:
        case += 4
    if_not_visited, if_visited = limits.rule >> case & 1, limits.rule >> (case + 2) & 1
    return (if_not_visited if if_not_visited == if_visited or not was_visited(nodes, leaves, child, limits.last_frame) else if_visited) != 0


@kernel
def refit_scan(method, limits, nodes, leaves, originals, growth, longest_steps, looseness, ranges, vertices, begins, points, anchors, steps,
               frame):
    """Refit all volumes to the points: by growing, or fitted if they are unfit; the number of these, but for the root's. The last
    turn, i = −1, is for the root: the one lane of what is above it."""
    n_refitted, n = 0, len(nodes)
    for i in range(n - 1, -2, -1):
        at, slot = max(i, 0), i if i >= 0 else n
        like, longest, changed = load_bounds(nodes, at), ZERO, False
        for k in range(nodes[at]["count"] if i >= 0 else 1):
            child, old = np.int64(nodes[at]["child"][k] if i >= 0 else 0), lane(growth, slot, k)
            first, last = (~child, ~child + 1) if child < 0 else (ranges[child, 0], ranges[child, 1])
            begin, end, inflation, child_looseness = np.int64(begins[first]), np.int64(begins[last]), old.inflation, NO_LOOSENESS
            if child < 0:
                step = longest_step(steps, vertices, begin, end)
                if step > ZERO:
                    inflation = max_anchor_distance(points, anchors, vertices, begin, end)
            else:
                step, child_looseness = longest_steps[child], looseness[child]
                if step > ZERO:
                    inflation = round_up(inflation + step)
            longest = maximum(longest, step)
            if needs_fit(limits, nodes, leaves, child, inflation, old.min_extent, child_looseness):
                made = fit_points(method, like, points, vertices, begin, end)
                if i >= 0:
                    put_lane(originals, i, k, made)
                    n_refitted += 1
                else:
                    put_bounds(originals, 0, made)
                if child < 0:
                    for name in range(begin, end):
                        store4(anchors, 4 * name, load4(points, 4 * np.int64(load(vertices, name))))
                put_lane(growth, slot, k, Growth(ZERO, maximum(min_half_extent(made), MIN_THICKNESS_SHARE * size(made))))
                changed = True
            elif inflation != old.inflation:
                put_lane(growth, slot, k, Growth(inflation, old.min_extent))
                changed = True
        if i >= 0:
            longest_steps[i] = longest
        if changed and i >= 0:
            grown = lanes(growth, i).inflation
            put_lanes(nodes, i, select(grown > ZERO, inflate(lanes(originals, i), grown), lanes(originals, i)))
            for k in range(nodes[i]["count"]):
                if nodes[i]["child"][k] >= 0:
                    put_bounds(nodes, np.int64(nodes[i]["child"][k]), lane(nodes, i, k))
        elif changed:
            more = lane(growth, n, 0).inflation
            put_bounds(nodes, 0, select(more > ZERO, inflate(load_bounds(originals, 0), more), load_bounds(originals, 0)))
    for i in range(n):
        looseness[i] = NO_LOOSENESS
    publish(nodes, 0, frame)
    return n_refitted


# --- the entry -----------------------------------------------------------------------------------------------------------------

@cache
def entry_for(volume, width):
    """(address, what keeps it alive) of a visit to nodes of this class and width."""
    node = node_dtype(volume, width)

    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        publish(array_at(as_pointer(record["nodes"]), record["n_nodes"], node), i, np.int32(record["frame"]))
        return np.int64(0)

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        publish(bvh.nodes, i, bvh.frame)
        return 0

    return address_of(enter_python if jit.DISABLED else enter)


@cache
def original_dtype(volume, width):
    """The record of the volumes of one node as they were fitted."""
    return packed_dtype([("lanes", lanes_dtype(volume, width)), ("bounds", bounds_dtype(volume))])


@cache
def growth_dtype(width):
    """The record of the growth of one node."""
    return packed_dtype([("lanes", lanes_dtype(Growth, width))])


def prepare_bvh(bvh):
    """On a new tree: nothing is fitted yet, and nobody has been anywhere."""
    tree, volume_type, n = bvh.tree, bvh.options.volume_type, len(bvh.nodes)
    originals = aligned_zeros(n, original_dtype(volume_type.volume, tree.width))
    for name in volume_type.volume._fields:                             # lanes without a volume stay empty
        originals["lanes"][name], originals["bounds"][name] = bvh.nodes["lanes"][name], bvh.nodes["bounds"][name]
    steps = aligned_zeros(-(-len(bvh.points) // 16) * 4, np.float32)
    bvh.tree_state = InflatedState(originals, aligned_zeros(n + 1, growth_dtype(tree.width)), aligned_zeros(len(bvh.points), np.float32),
                                   aligned_zeros(4 * len(tree.vertices), np.float32), steps, np.zeros(n, np.float32), LastScan())
    bvh.looseness = np.full(n, NO_LOOSENESS)
    bvh.set_context(entry=entry_for(volume_type.volume, tree.width)[0])


def refit_bvh(bvh):
    """Let all volumes grow, and fit those that are unfit."""
    if bvh.tree_state is None:
        prepare_bvh(bvh)
    state, tree, settings, motion = bvh.tree_state, bvh.tree, bvh.options.settings, bvh.motion
    coordinates = None if motion is None else (motion.origin[:3].tolist(), motion.scale)
    last_scan, fit_all = state.last_scan, state.last_scan.frame is None or state.last_scan.coordinates != coordinates
    if fit_all:
        state.last_points[:], state.steps[:] = bvh.points, 0            # how far anyone has come is not known
    else:
        measure_steps(bvh.points, state.last_points, state.steps)
    limits = FitnessLimits(CRITERIA[settings["criterion"]], settings["p_max"], settings["k"], settings["gamma"],
                           -1 if fit_all else last_scan.frame, fit_all)
    bvh.n_refitted += refit_scan(FIT_METHODS[settings["how"]], limits, bvh.nodes, bvh.leaves, state.originals, state.growth,
                                 state.longest_steps, bvh.looseness,
                                 bvh.ranges(), tree.vertices, tree.begins, bvh.points, state.anchors, state.steps, np.int32(bvh.frame))
    last_scan.frame, last_scan.coordinates = bvh.frame, coordinates


def check_factor(name, value):
    """A number from 0 up."""
    return validate.number(name, value, 0)


def check_share(name, value):
    """A number from 0 to 1."""
    if validate.number(name, value, 0) > 1:
        raise ArgumentError(f"{name}: expected a number from 0 to 1, got {value!r}")
    return float(value)


# Parameters: `pliant tune bitar2011 --volume rss --build matching --arity 2 --leaf 1` (docs/tuning.md).
SETTINGS = {"criterion": ("(A&B)|(B&C)", validate.choice_of(CRITERIA)), "p_max": (3.95, check_factor), "k": (0.218, check_share),
            "gamma": (0.562, check_factor), "how": ("plain", validate.choice_of(FIT_METHODS))}
register_policy(Policy("inflated", refit_bvh, SETTINGS, check=check_fit_method, allows_partial=False))
