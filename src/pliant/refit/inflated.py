"""Inflated: volumes grow by what vertices move, and only those that a query has shown to be loose are fitted again (Bitar 2011, III.4).

A volume is a lane of a node; the whole of a node is the lane above it, and that of the root a volume of its own. Before the first query
after an update, in one reverse scan:

1. Error propagation. A leaf grows, from what it was when it was last fitted, by the farthest that one of its vertices is from where it was
   then: vertices that oscillate do not inflate it. Every other volume grows by the longest step of a vertex under it since the scan before.
2. Fitness. A: it has grown by p_max times its thickness, or more. B: the last queries came to what is in it. C: a loop over distances found
   its children farther away than it (`Shape.marks`) by more than k times what it has grown by, and that is gamma times its thickness or
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
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import helper, kernel
from pliant.core.simd import columns, four, greatest, highest, item, magnitude, put_four, root, where
from pliant.core.soa import (
    aligned,
    as_record,
    either,
    lane,
    lanes,
    lanes_of,
    packed,
    publish,
    put_lane,
    put_lanes,
    put_whole,
    stamp,
    whole,
    whole_of,
)
from pliant.refit.fitted import fitted_to, suits
from pliant.refit.leaf_fill import CONTEXT
from pliant.refit.policy import Policy, register
from pliant.tree.nodes import node_dtype
from pliant.volume.aabb import WIDER, ZERO
from pliant.volume.protocol import HOWS, ULP, inflate, size, thickness, up
from pliant.volume.sphere import SMALLEST, squared

FLAT = np.float32(1 / 32)                                               # of its size a volume is thick, at least
NO_MARK = np.float32(-1)
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


@as_record
class Growth(NamedTuple):
    """What a volume has grown by since it was fitted, and how thick it was then."""
    inflation: float
    thick: float


class Limits(NamedTuple):
    """What is unfit: the rule, a value of CRITERIA, and the limits of A and C; `last`: the frame of the scan before; `anew`: everything."""
    rule: int
    p_max: float
    k: float
    gamma: float
    last: int
    anew: bool


class Past:
    """The frame of the last scan, and where the body's origin was, at which scale."""

    def __init__(self):
        self.frame, self.place = None, None


class Kept(NamedTuple):
    """Volumes as they were fitted (n,), that of the root in whole of the first; growth (n + 1,), the root's last; before: the points of the
    last scan; anchors: of the tree's `vertices`, their points when their leaf was fitted; steps, of vertices, and latest (n,): scratch."""
    originals: np.ndarray
    growth: np.ndarray
    before: np.ndarray
    anchors: np.ndarray
    steps: np.ndarray
    latest: np.ndarray
    past: Past


# --- displacements -----------------------------------------------------------------------------------------------------------------

@helper
def way(x, y, z, p, q, r):
    """How far it is from (p, q, r) to all that rounds to (x, y, z), or more; 0 where they are the same."""
    u, v, w = magnitude(x - p), magnitude(y - q), magnitude(z - r)
    hidden = (magnitude(x) + magnitude(y) + magnitude(z)) * ULP + SMALLEST          # squares may have underflowed
    return where(greatest(u, greatest(v, w)) > ZERO, root(squared(u, v, w)) * WIDER + hidden, ZERO)


@kernel
def take_steps(points, before, steps):
    """steps: how far each vertex has come since `before`, which then is where it is. Four at a time, the last ones again and again."""
    last = len(points) // 4 - 1
    for at in range(0, last + 1, 4):
        p, q, r, s = 4 * at, 4 * min(at + 1, last), 4 * min(at + 2, last), 4 * min(at + 3, last)
        x, y, z = columns(four(points, p), four(points, q), four(points, r), four(points, s))
        u, v, w = columns(four(before, p), four(before, q), four(before, r), four(before, s))
        put_four(steps, at, way(x, y, z, u, v, w))
        for k in (p, q, r, s):
            put_four(before, k, four(points, k))


@helper
def longest_step(steps, vertices, begin, end):
    """Of the vertices named by vertices[begin : end]."""
    found = ZERO
    for at in range(begin, end):
        found = greatest(found, item(steps, np.int64(item(vertices, at))))
    return found


@helper
def strayed(points, anchors, vertices, begin, end):
    """How far the farthest of these vertices is from its anchor."""
    found = ZERO
    for at in range(begin, end, 4):
        x, y, z = columns(four(points, 4 * np.int64(item(vertices, at))), four(points, 4 * np.int64(item(vertices, at + 1))),
                          four(points, 4 * np.int64(item(vertices, at + 2))), four(points, 4 * np.int64(item(vertices, at + 3))))
        p, q, r = columns(four(anchors, 4 * at), four(anchors, 4 * at + 4), four(anchors, 4 * at + 8), four(anchors, 4 * at + 12))
        found = greatest(found, highest(way(x, y, z, p, q, r)))
    return found


# --- the scan ----------------------------------------------------------------------------------------------------------------------

@helper
def seen(nodes, leaves, child, last):
    """Have queries come to this child in that frame? To the root they always have."""
    if child < 0:
        return stamp(leaves, ~child) == last
    return child == 0 or stamp(nodes, child) == last


@helper
def unfit(limits, nodes, leaves, child, inflation, thick, mark):
    """Shall a volume be fitted? Leaves are large, and their stamps cold: they are read only if it depends on them."""
    if limits.anew or inflation == ZERO:
        return limits.anew
    case = 0
    if inflation >= limits.p_max * thick:
        case += 1
    if inflation >= limits.gamma * thick and mark > limits.k * inflation:
        case += 4
    here, there = limits.rule >> case & 1, limits.rule >> (case + 2) & 1
    return (here if here == there or not seen(nodes, leaves, child, limits.last) else there) != 0


@kernel
def scan(how, limits, nodes, leaves, originals, growth, latest, marks, ranges, vertices, begins, points, anchors, steps, frame):
    """Let all volumes be true to the points: by growing, or fitted if they are unfit; the number of these, but for the root's. The last
    turn, i = −1, is for the root: the one lane of what is above it."""
    updated, n = 0, len(nodes)
    for i in range(n - 1, -2, -1):
        at, slot = max(i, 0), i if i >= 0 else n
        like, most, changed = whole(nodes, at), ZERO, False
        for k in range(nodes[at]["count"] if i >= 0 else 1):
            child, was = np.int64(nodes[at]["child"][k] if i >= 0 else 0), lane(growth, slot, k)
            first, last = (~child, ~child + 1) if child < 0 else (ranges[child, 0], ranges[child, 1])
            begin, end, inflation, mark = np.int64(begins[first]), np.int64(begins[last]), was.inflation, NO_MARK
            if child < 0:
                step = longest_step(steps, vertices, begin, end)
                if step > ZERO:
                    inflation = strayed(points, anchors, vertices, begin, end)
            else:
                step, mark = latest[child], marks[child]
                if step > ZERO:
                    inflation = up(inflation + step)
            most = greatest(most, step)
            if unfit(limits, nodes, leaves, child, inflation, was.thick, mark):
                made = fitted_to(how, like, points, vertices, begin, end)
                if i >= 0:
                    put_lane(originals, i, k, made)
                    updated += 1
                else:
                    put_whole(originals, 0, made)
                if child < 0:
                    for name in range(begin, end):
                        put_four(anchors, 4 * name, four(points, 4 * np.int64(item(vertices, name))))
                put_lane(growth, slot, k, Growth(ZERO, greatest(thickness(made), FLAT * size(made))))
                changed = True
            elif inflation != was.inflation:
                put_lane(growth, slot, k, Growth(inflation, was.thick))
                changed = True
        if i >= 0:
            latest[i] = most
        if changed and i >= 0:
            grown = lanes(growth, i).inflation
            put_lanes(nodes, i, either(grown > ZERO, inflate(lanes(originals, i), grown), lanes(originals, i)))
            for k in range(nodes[i]["count"]):
                if nodes[i]["child"][k] >= 0:
                    put_whole(nodes, np.int64(nodes[i]["child"][k]), lane(nodes, i, k))
        elif changed:
            more = lane(growth, n, 0).inflation
            put_whole(nodes, 0, either(more > ZERO, inflate(whole(originals, 0), more), whole(originals, 0)))
    for i in range(n):
        marks[i] = NO_MARK
    publish(nodes, 0, frame)
    return updated


# --- the entry -----------------------------------------------------------------------------------------------------------------

@cache
def entry_for(volume, width):
    """(address, what keeps it alive) of a visit to nodes of this class and width."""
    node = node_dtype(volume, width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        publish(array_at(pointer(about["nodes"]), about["n_nodes"], node), i, np.int32(about["frame"]))
        return np.int64(0)

    def enter_python(context, i):
        shape = CONTEXTS[context]
        publish(shape.nodes, i, shape.frame)
        return 0

    return address_of(enter_python if jit.DISABLED else enter)


@cache
def original_dtype(volume, width):
    """The record of the volumes of one node as they were fitted."""
    return packed([("lanes", lanes_of(volume, width)), ("whole", whole_of(volume))])


@cache
def growth_dtype(width):
    """The record of the growth of one node."""
    return packed([("lanes", lanes_of(Growth, width))])


def prepare(shape):
    """On a new tree: nothing is fitted yet, and nobody has been anywhere."""
    tree, family, n = shape.tree, shape.options.family, len(shape.nodes)
    originals = aligned(n, original_dtype(family.volume, tree.width))
    for name in family.volume._fields:                                  # lanes without a volume stay empty
        originals["lanes"][name], originals["whole"][name] = shape.nodes["lanes"][name], shape.nodes["whole"][name]
    steps = aligned(-(-len(shape.points) // 16) * 4, np.float32)
    shape.kept = Kept(originals, aligned(n + 1, growth_dtype(tree.width)), aligned(len(shape.points), np.float32),
                      aligned(4 * len(tree.vertices), np.float32), steps, np.zeros(n, np.float32), Past())
    shape.marks = np.full(n, NO_MARK)
    shape.know(entry=entry_for(family.volume, tree.width)[0])


def follow(shape):
    """Let all volumes grow, and fit those that are unfit."""
    if shape.kept is None:
        prepare(shape)
    kept, tree, settings, motion = shape.kept, shape.tree, shape.options.settings, shape.motion
    place = None if motion is None else (motion.origin[:3].tolist(), motion.scale)
    past, anew = kept.past, kept.past.frame is None or kept.past.place != place
    if anew:
        kept.before[:], kept.steps[:] = shape.points, 0                 # how far anyone has come is not known
    else:
        take_steps(shape.points, kept.before, kept.steps)
    limits = Limits(CRITERIA[settings["criterion"]], settings["p_max"], settings["k"], settings["gamma"], -1 if anew else past.frame, anew)
    shape.updated += scan(HOWS[settings["how"]], limits, shape.nodes, shape.leaves, kept.originals, kept.growth, kept.latest, shape.marks,
                          shape.ranges(), tree.vertices, tree.begins, shape.points, kept.anchors, kept.steps, np.int32(shape.frame))
    past.frame, past.place = shape.frame, place


def check_factor(name, value):
    """A number from 0 up."""
    return validate.number(name, value, 0)


def check_share(name, value):
    """A number from 0 to 1."""
    if validate.number(name, value, 0) > 1:
        raise ValueError(f"{name}: expected a number from 0 to 1, got {value!r}")
    return float(value)


# Parameters: `pliant tune bitar2011 --volume rss --build matching --arity 2 --leaf 1` (docs/tuning.md).
SETTINGS = {"criterion": ("(A&B)|(B&C)", validate.one_of(CRITERIA)), "p_max": (3.95, check_factor), "k": (0.218, check_share),
            "gamma": (0.562, check_factor), "how": ("plain", validate.one_of(HOWS))}
register(Policy("inflated", follow, SETTINGS, suits=suits, local=False))
