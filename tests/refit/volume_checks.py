"""What every policy promises of the records of a body, read from outside: a stamp is true. Boxes only, but for `assert_holds`."""

import ctypes
from fractions import Fraction

import numba
import numpy as np

from pliant.core.function_pointer import FUNCTIONS
from pliant.core.soa import lane, load_bounds
from siblings import INSIDE, exact

LOOSE = 2.0**-20                                                        # of the largest coordinate: the rounding of a box, and to spare
ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def shape_of(body):
    """The tree and the volumes that queries at the body's own scale use."""
    return body._bvh_at(body._motion.scale)


def lanes(body):
    """How many volumes a body has."""
    return int(shape_of(body).nodes["count"].sum())


def true_lanes(body):
    """How many of them have the stamp of the frame."""
    shape = shape_of(body)
    return int(shape.nodes["count"][shape.nodes["stamp"] == shape.frame].sum())


def set_all(body):
    """Make all volumes of a body true, one node after the other, as queries do that reach them; how many nodes were not."""
    shape = shape_of(body)
    shape.refit()
    stale = np.flatnonzero(shape.nodes["stamp"] != shape.frame).tolist()
    for i in stale:
        (FUNCTIONS[shape.entry] if numba.config.DISABLE_JIT else ENTRY(shape.entry))(shape.context, i)
    assert (shape.nodes["stamp"] == shape.frame).all()
    return len(stale)


def assert_true(body):
    """Every volume with the frame's stamp encloses the vertices under it, tightly, and every such leaf has their places. Those that grow
    are true in all nodes where the root is, and loose."""
    shape = shape_of(body)
    tree, nodes, leaves, tight = shape.tree, shape.nodes, shape.leaves, body._options.policy.name != "inflated"
    true = (nodes["stamp"] if tight else nodes["stamp"][:1].repeat(len(nodes))) == shape.frame
    rows = (body._motion.vertices - body._motion.origin[:3]) * body._motion.scale
    low, high = np.zeros((*tree.child.shape, 3)), np.zeros((*tree.child.shape, 3))
    for i in range(len(tree.child) - 1, -1, -1):
        for k, child in enumerate(tree.child[i, :tree.count[i]].tolist()):
            under = rows[tree.corners[~child].ravel()] if child < 0 else None
            low[i, k] = low[child, :tree.count[child]].min(0) if under is None else under.min(0)
            high[i, k] = high[child, :tree.count[child]].max(0) if under is None else under.max(0)
    used = (np.arange(tree.width) < tree.count[:, None]) & true[:, None]
    loose = LOOSE * np.abs(rows).max() + 2.0**-120
    for axis, name in enumerate("xyz"):
        least, most = nodes["lanes"]["lo" + name][used], nodes["lanes"]["hi" + name][used]
        lowest, highest = low[used][:, axis], high[used][:, axis]
        assert (least <= lowest).all() and (most >= highest).all(), "a volume does not enclose its vertices"
        if not tight:
            continue
        assert (lowest - least <= loose).all() and (most - highest <= loose).all(), "a volume is loose"
        row = np.flatnonzero(true)
        around = nodes["lanes"]["lo" + name][row].min(1), nodes["lanes"]["hi" + name][row].max(1)
        assert np.array_equal(nodes["bounds"]["lo" + name][row], around[0])
        assert np.array_equal(nodes["bounds"]["hi" + name][row], around[1])
    filled = np.flatnonzero(leaves["stamp"] == shape.frame)
    for c, corner in enumerate("abc"):
        for axis, name in enumerate("xyz"):
            expected = shape.points.reshape(-1, 4)[tree.corners[filled, c], axis]
            assert np.array_equal(leaves["lanes"][corner + name][filled], expected), "a leaf has stale triangles"


def vertices_under(tree):
    """{(node, lane): its vertices}, and those of the root as (−1, 0)."""
    found = {}
    for i in range(len(tree.child) - 1, -1, -1):
        for k, child in enumerate(tree.child[i, :tree.count[i]].tolist()):
            below = [tree.corners[~child].ravel()] if child < 0 else [found[child, j] for j in range(tree.count[child])]
            found[i, k] = np.unique(np.concatenate(below))
    return found | {(-1, 0): np.unique(tree.corners)}


def assert_holds(body, stamped=False):
    """Exactly: every volume of a body, of any family and whatever its stamp, holds the vertices under it. `stamped`: only those of nodes
    that are up to date."""
    shape, inside = shape_of(body), INSIDE[body._options.volume_type.name]
    origin, scale = exact(body._motion.origin[:3].tolist()), Fraction(body._motion.scale)
    place = [tuple((x - o) * scale for x, o in zip(exact(row), origin, strict=True)) for row in body._motion.vertices.tolist()]
    fresh = shape.nodes["stamp"] == shape.frame
    for (i, k), some in vertices_under(shape.tree).items():
        if stamped and not fresh[max(i, 0)]:
            continue
        volume = load_bounds(shape.nodes, 0) if i < 0 else lane(shape.nodes, i, k)
        assert all(inside(volume, place[v]) for v in some.tolist()), "a volume does not hold its vertices"
        child = -1 if i < 0 else int(shape.tree.child[i, k])
        if child >= 0 and (fresh[child] or not stamped):
            assert all(inside(load_bounds(shape.nodes, child), place[v]) for v in some.tolist())
