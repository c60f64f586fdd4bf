"""Continuous collision in rational arithmetic: the slow reference of `geometry/linear_motion.py`.

Four points move on straight lines, t from 0 to 1: a vertex and the corners of a face (VERTEX_FACE), or the ends of two edges (EDGE_EDGE).
They touch at t iff the closed sets meet, degenerate ones included. Coordinates are integers over one power of two (`naive.exact`), so that
all polynomials below have integer coefficients.

* `touch_now` is the static test, from signs alone. Coplanar features: each is the hull of its points, and signs of areas seen along the
  three axes decide whether they meet, unless all of them are 0: then everything lies on one line, and boxes decide.
* These signs are polynomials of degree 3, 2 and 1 in t, and change at their roots only. The contact times are closed, so the first one is 0
  or a root. All roots are isolated by Sturm sequences, and the test is made at each, in order.
* The sign of g at a root of f is 0 iff gcd(f, g) has that root; otherwise the bracket of the root is halved until g has no root in it.

Polynomials are tuples of integers, constant term first, without zeros at the end. Points are (4, 3) float64. Of the library nothing is
imported.
"""

from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import gcd

import numpy as np

import naive

VERTEX_FACE, EDGE_EDGE = 0, 1
HALF = Fraction(1, 2)


# ------------------------------------------------------------------------------------------- polynomials


def trimmed(p):
    """Without zeros at the end."""
    n = len(p)
    while n and p[n - 1] == 0:
        n -= 1
    return tuple(p[:n])


def added(p, q, factor=1):
    """p + factor · q."""
    n = max(len(p), len(q))
    return trimmed([(p[k] if k < len(p) else 0) + factor * (q[k] if k < len(q) else 0) for k in range(n)])


def multiplied(p, q):
    product = [0] * max(len(p) + len(q) - 1, 0)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            product[i + j] += x * y
    return trimmed(product)


def derivative(p):
    return trimmed([k * x for k, x in enumerate(p)][1:])


def primitive(p):
    """Divided by the common divisor of its coefficients; signs stay."""
    divisor = gcd(*p) if p else 1
    return tuple(x // divisor for x in p)


def remainder(p, q):
    """A positive multiple of the remainder of p ÷ q."""
    p = list(p)
    while len(p) >= len(q):
        factor, shift = p[-1], len(p) - len(q)
        p = [abs(q[-1]) * x for x in p]
        if q[-1] < 0:
            factor = -factor
        for k, x in enumerate(q):
            p[k + shift] -= factor * x
        p = list(trimmed(p))
    return primitive(tuple(p))


def common(p, q):
    """The greatest common divisor, primitive."""
    while q:
        p, q = q, remainder(p, q)
    return primitive(p)


def quotient(p, q):
    """A multiple of p ÷ q, which leaves nothing."""
    p, found = [Fraction(x) for x in p], []
    while len(p) >= len(q):
        found.append(p[-1] / q[-1])
        for k, x in enumerate(q):
            p[len(p) - len(q) + k] -= found[-1] * x
        p.pop()
    assert not any(p)
    scale = _common_denominator(found)
    return primitive(tuple(int(x * scale) for x in reversed(found)))


def _common_denominator(fractions):
    scale = 1
    for x in fractions:
        scale *= x.denominator // gcd(scale, x.denominator)
    return scale


def value_sign(p, t):
    """The sign of p at the rational t."""
    n, d = t.numerator, t.denominator
    value, power = 0, 1
    for k in range(len(p) - 1, -1, -1):
        value = value * n + p[k] * power
        power *= d
    return naive.sign(value)


def sturm(p):
    chain = [p, derivative(p)]
    while chain[-1]:
        chain.append(tuple(-x for x in remainder(chain[-2], chain[-1])))
    return chain[:-1]


def changes(chain, t):
    signs = [s for s in (value_sign(p, t) for p in chain) if s]
    return sum(1 for a, b in pairwise(signs) if a != b)


def root_count(p, low, high):
    """The number of distinct roots in low < t <= high."""
    if len(p) < 2:
        return 0
    chain = sturm(p)
    return changes(chain, low) - changes(chain, high)


# ------------------------------------------------------------------------------------------------- roots


class Root:
    """The one root of a polynomial without multiple roots in low < t <= high, or low = high itself."""

    def __init__(self, p, low, high):
        self.p, self.low, self.high = p, low, high
        if value_sign(p, high) == 0:
            self.low = high

    def halve(self):
        if self.low == self.high:
            return
        middle = (self.low + self.high) * HALF
        s = value_sign(self.p, middle)
        if s == 0:
            self.low = self.high = middle
        elif s == value_sign(self.p, self.high):
            self.high = middle
        else:
            self.low = middle

    def sign(self, g):
        """The sign of g there."""
        if len(g) < 2:
            return naive.sign(g[0]) if g else 0
        shared = None
        while self.low < self.high:
            s = value_sign(g, self.high)
            if s and one_sign(g, self.low, self.high):
                return s
            if shared is None:
                shared = common(self.p, g)
                if root_count(shared, self.low, self.high):
                    return 0                                            # the high end is no root, and p has one in between
            self.halve()
        return value_sign(g, self.high)


def one_sign(g, low, high):
    """Has g certainly one sign in [low, high]? By its values at the ends and in the middle of its polar form, degree 3 at most."""
    n = len(g) - 1
    values = [_polar(g, [low] * (n - k) + [high] * k) for k in range(n + 1)]
    return min(values) > 0 or max(values) < 0


def _polar(g, times):
    """The symmetric multilinear form whose diagonal is g."""
    if len(times) == 1:
        (a,) = times
        return g[0] + g[1] * a
    if len(times) == 2:
        a, b = times
        return g[0] + g[1] * (a + b) * HALF + g[2] * a * b
    a, b, c = times
    return g[0] + g[1] * Fraction(1, 3) * (a + b + c) + g[2] * Fraction(1, 3) * (a * b + b * c + c * a) + g[3] * a * b * c


def roots_of(p):
    """The roots in [0, 1], ascending."""
    if len(p) < 2:
        return []
    p = primitive(quotient(p, common(p, derivative(p))))
    found = [Root(p, Fraction(0), Fraction(0))] if value_sign(p, Fraction(0)) == 0 else []
    chain, stack = sturm(p), [(Fraction(0), Fraction(1))]
    while stack:
        low, high = stack.pop()
        n = changes(chain, low) - changes(chain, high)
        if n == 1:
            while value_sign(p, low) == 0:                              # the root before it is the low end
                middle = (low + high) * HALF
                if changes(chain, low) - changes(chain, middle) == 1:
                    high = middle
                else:
                    low = middle
            found.append(Root(p, low, high))
        elif n > 1:
            middle = (low + high) * HALF
            stack += [(middle, high), (low, middle)]
    return found


def compare(a, b):
    """The order of two roots."""
    if a.low < a.high and b.low < b.high and root_count(common(a.p, b.p), max(a.low, b.low), min(a.high, b.high)) == 1:
        return 0
    while True:
        if a.low == a.high and b.low == b.high:
            return (a.low > b.low) - (a.low < b.low)
        if a.high <= b.low and not a.high == b.low == b.high:
            return -1
        if b.high <= a.low and not b.high == a.low == a.high:
            return 1
        a.halve()
        b.halve()


# ---------------------------------------------------------------------------------------------- features


def _minus(p, q):
    return tuple(added(x, y, -1) for x, y in zip(p, q, strict=True))


def _cross(u, v):
    return tuple(added(multiplied(u[k - 2], v[k - 1]), multiplied(u[k - 1], v[k - 2]), -1) for k in range(3))


def polynomials(start, end):
    """The coordinates of the four points as polynomials in t, times one power of two."""
    (a, b), _ = naive.exact(np.stack([start, end]))
    return [tuple(trimmed((int(x), int(y) - int(x))) for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True)]


def _plane(points):
    """The polynomial that is 0 where all four points are in one plane."""
    p, a, b, c = points
    total = ()
    for x, y in zip(_cross(_minus(a, p), _minus(b, p)), _minus(c, p), strict=True):
        total = added(total, multiplied(x, y))
    return total


def conditions(points, kind):
    """(vectors, pairs, sides): areas as vectors of three, indices of those that must not be (opposite, equal) with a factor, and lists of
    differences of coordinates that must not all have one sign."""
    if kind == VERTEX_FACE:
        p, a, b, c = points
        u, v, w = _minus(a, p), _minus(b, p), _minus(c, p)
        vectors = [_cross(u, v), _cross(v, w), _cross(w, u)]
        return vectors, [(0, 1, -1), (1, 2, -1), (2, 0, -1)], [(u[k], v[k], w[k]) for k in range(3)]
    a, b, c, d = points
    vectors = [_cross(_minus(b, a), _minus(c, a)), _cross(_minus(b, a), _minus(d, a)),
               _cross(_minus(d, c), _minus(a, c)), _cross(_minus(d, c), _minus(b, c))]
    sides = [_minus(p, q) for p in (a, b) for q in (c, d)]
    return vectors, [(0, 1, 1), (2, 3, 1)], [tuple(side[k] for side in sides) for k in range(3)]


def touch_now(points, kind, sign_of):
    """Do the features touch, for a function that gives the sign of a polynomial at some time?"""
    if sign_of(_plane(points)):
        return False
    vectors, pairs, sides = conditions(points, kind)
    for side in sides:
        signs = {sign_of(p) for p in side}
        if signs in ({1}, {-1}):
            return False
    signs = [[sign_of(p) for p in vector] for vector in vectors]
    return not any(signs[i][k] * signs[j][k] * same > 0 for i, j, same in pairs for k in range(3))


def first_contact(start, end, kind, width=Fraction(1, 2**60)):
    """None if the features never touch, else (low, high): the first contact is in this bracket, which is at most so wide."""
    points = polynomials(start, end)
    if touch_now(points, kind, lambda p: value_sign(p, Fraction(0))):
        return Fraction(0), Fraction(0)
    plane = _plane(points)
    if plane:
        times = roots_of(plane)
    else:
        vectors, _, sides = conditions(points, kind)
        times = [root for p in {*(p for v in vectors for p in v), *(p for side in sides for p in side)} for root in roots_of(p)]
        times.sort(key=cmp_to_key(compare))
    for root in times:
        if touch_now(points, kind, root.sign):
            while root.high - root.low > width:
                root.halve()
            return root.low, root.high
    return None
