"""Two volumes of families that know nothing of each other: apart if a gap is found along a direction in which either is flat, or along the
way from middle to middle.

Every convex volume says how far it reaches along a direction (`span`), and a direction along which two of them do not reach each other
parts them; which ones to try is all that a pair of families could know better. Families that have a better test define it.
"""
from pliant.core.jit import helper
from pliant.core.simd import greatest, magnitude, root, where
from pliant.volume.aabb import INF, LESS, ZERO
from pliant.volume.obb_sat import TurnedBox
from pliant.volume.protocol import FAMILIES, TINY, Best, Plain, enclose, fit, gap, middle, overlap, part, separation, size, skew


@helper
def widest(a, b):
    """The widest gap between a and b that is found; at most their distance."""
    ax, ay, az = middle(a)
    bx, by, bz = middle(b)
    x, y, z = bx - ax, by - ay, bz - az
    length = root(x * x + (y * y + z * z))
    over = where(length > TINY, LESS / greatest(length, TINY), ZERO)    # the way between middles, a little shorter than 1
    flat = greatest(part(a, b, x, y, z), part(b, a, -x, -y, -z))
    return greatest(flat, gap(a, b, x, y, z, x * over, y * over, z * over))


@helper
def filled(a, b):
    """Are both something?"""
    return (size(a) >= ZERO) & (size(b) >= ZERO)


def _overlap(a, b):
    return (widest(a, b) <= ZERO) & filled(a, b)


def _separation(a, b):
    far = greatest(widest(a, b), ZERO)
    return where(filled(a, b), far * far * LESS, INF)


def _nothing_finer(a, b):
    return magnitude(size(a)) < ZERO


def _fit(how, like, low, high, points, order, begin, end):
    return enclose(like, low, high, points, order, begin, end)


def complete():
    """Let all families speak to each other. Called when all are registered."""
    volumes = list(dict.fromkeys(family.volume for family in FAMILIES.values()))
    for a in volumes:
        for how in (Best, Plain):
            if (how, a) not in fit.table:
                fit.on(how, a)(_fit)
        for b in (*volumes, TurnedBox):
            if (a, b) not in separation.table:
                separation.on(a, b)(_separation)
            if (a, b) not in overlap.table:
                overlap.on(a, b)(_overlap)
            if (a, b) not in skew.table:
                skew.on(a, b)(_nothing_finer)
