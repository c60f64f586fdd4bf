"""Morphing bodies: shapes to make them of, where their vertices must be, and what their volumes must enclose; blended ones go with them."""

from fractions import Fraction

import numpy as np

import blends
import pliant as pl
from pliant import shapes

STAMPLESS = {"name": "blended", "stamps": False}
TIGHTER = {"name": "blended", "between": 3}
BLENDED = ("auto", STAMPLESS, TIGHTER)                                  # the policies that only morphing bodies have
FORMS = ("targets", "base", "relative")
EVERY = (*FORMS, "maps")                                                # "maps": a blended body, the first shape at rest, a map for each


def targets(directions, count, seed=0):
    """(count, n, 3): unlike shapes of about unit size around one place."""
    rng = np.random.default_rng(seed)
    bent = [shapes.bumpy(directions, 3.0 * k + seed, 0.3) * rng.uniform(0.6, 1.4, 3) + rng.uniform(-0.2, 0.2, 3) for k in range(count)]
    return np.array(bent)


def morph(form, given, faces, **options):
    """A body of these shapes (k, n, 3); the first is the base of the additive forms. Policies of morphing bodies stand for such of blended
    ones."""
    if form == "targets":
        return pl.Body.morph(given, faces, **options)
    if form == "maps":
        policy, _ = options.pop("policy", "auto"), options.pop("rest", 0)
        policy = dict(zip(map(str, BLENDED), blends.CONVEX, strict=True)).get(str(policy), policy)
        return pl.Body.blended(given[0], faces, blends.near(given[0], len(given)), policy=policy, **options)
    moves = given[1:] - given[0]
    return (pl.Body.morph(moves, faces, base=given[0], relative=True, **options) if form == "relative" else
            pl.Body.morph(given[1:], faces, base=given[0], **options))


def weights(form, count, rng, active=None):
    """Weights for `morph` of so many shapes, for the first of which the additive forms have none; only `active` of them are not 0. Or maps,
    of which only so many move anything."""
    if form == "maps":
        return blends.maps(count, rng, active=active)
    made = rng.uniform(0.05, 1, count)
    made[rng.permutation(count)[count if active is None else active:]] = 0
    if form == "targets":
        return made / made.sum()
    return made[1:] * rng.uniform(-1.5, 1.5, count - 1)


def where(form, given, factors):
    """The definition of a position: products in the order of the shapes, each rounded, and so are their sums."""
    if form == "maps":
        return blends.where(given[0], blends.near(given[0], len(given)), factors)
    if form == "targets":
        rows, factors = given, np.asarray(factors, np.float64)
    else:
        rows, factors = np.concatenate([given[:1], given[1:] - given[0]]), np.concatenate([[1.0], factors])
    total = None
    for shape, factor in zip(rows, factors, strict=True):
        if factor != 0:
            total = shape * factor if total is None else total + shape * factor
    return total


def twin(body, **options):
    """A free body where this one is."""
    o = body._options
    return pl.Body(body.vertices, body.faces, arity=o.arity, leaf=o.leaf, **options)


def assert_encloses(body):
    """In rational arithmetic: volumes with the frame's stamp hold all vertices under them, and box and reach hold all; how many volumes."""
    shape, motion = body._bvh_at(body._motion.scale), body._motion
    tree, nodes, x = shape.tree, shape.nodes, body._motion.vertices
    origin, scale = [Fraction(value) for value in motion.origin[:3].tolist()], Fraction(motion.scale)
    low, high = np.zeros((*tree.child.shape, 3)), np.zeros((*tree.child.shape, 3))
    seen = 0
    for i in range(len(tree.child) - 1, -1, -1):
        for k, child in enumerate(tree.child[i, :tree.count[i]].tolist()):
            under = x[tree.corners[~child].ravel()] if child < 0 else None
            low[i, k] = low[child, :tree.count[child]].min(0) if under is None else under.min(0)
            high[i, k] = high[child, :tree.count[child]].max(0) if under is None else under.max(0)
            if nodes["stamp"][i] != shape.frame:
                continue
            seen += 1
            for axis, name in enumerate("xyz"):
                least, most = (nodes["lanes"][end + name][i, k].item() for end in ("lo", "hi"))
                first, last = ((Fraction(value[i, k, axis].item()) - origin[axis]) * scale for value in (low, high))
                assert Fraction(least) <= first and last <= Fraction(most), "a volume does not enclose its vertices"
                assert nodes["bounds"]["lo" + name][i] <= least and most <= nodes["bounds"]["hi" + name][i]
    assert_around(body)
    return seen


def assert_around(body):
    """In rational arithmetic: box and reach hold all vertices."""
    motion, x = body._motion, body._motion.vertices
    for axis, origin in enumerate(map(Fraction, motion.origin[:3].tolist())):
        least, most = (Fraction(value) for value in (x[:, axis].min().item(), x[:, axis].max().item()))
        assert Fraction(motion.box[axis].item()) <= least and most <= Fraction(motion.box[axis + 4].item())
        assert max(origin - least, most - origin) <= Fraction(motion.reach)
