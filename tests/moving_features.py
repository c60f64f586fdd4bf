"""Four points that move, for tests of continuous collision: families of hostile queries, and queries whose answer is known by construction.

Points are (4, 3) at the start and at the end: p, a, b, c of a vertex and a face, or the ends of two edges.
"""

from fractions import Fraction

import numpy as np

VERTEX_FACE, EDGE_EDGE = 0, 1


def _small_integers(rng):
    r = rng.integers(1, 5)
    return rng.integers(-r, r + 1, (2, 4, 3)).astype(float)


def _uniform(rng):
    return rng.uniform(-1, 1, (2, 4, 3))


def _rest(rng):
    """Some points, or all, do not move."""
    x = _small_integers(rng) if rng.random() < 0.5 else _uniform(rng)
    still = rng.random(4) < 0.6
    x[1, still] = x[0, still]
    return x


def _axis_motion(rng):
    """All move along axes."""
    x = _small_integers(rng)
    for i in range(4):
        k = rng.integers(3)
        x[1, i, np.arange(3) != k] = x[0, i, np.arange(3) != k]
    return x


def _one_plane(rng):
    x = _small_integers(rng) if rng.random() < 0.5 else _uniform(rng)
    x[:, :, rng.integers(3)] = rng.choice([0.0, 0.1, 3.0])
    return x


def _tilted_plane(rng):
    x = _small_integers(rng)
    x[:, :, 2] = x[:, :, 0] + 2 * x[:, :, 1]
    return x


def _one_line(rng):
    x = np.zeros((2, 4, 3))
    x[:] = rng.integers(-4, 5, (2, 4, 1)) * rng.integers(-1, 2, 3)
    return x


def _collapse(rng):
    """Points meet on the way, or at the ends."""
    x = _small_integers(rng)
    i, j = rng.choice(4, 2, replace=False)
    if rng.random() < 0.5:
        x[rng.integers(2), i] = x[rng.integers(2), j]
    else:
        x[0, j], x[1, j] = x[0, i] + (m := rng.integers(-3, 4, 3)), x[1, i] - m * rng.integers(1, 3)
    return x


def _translation(rng):
    """One moves without turning, the other rests."""
    x = _small_integers(rng) if rng.random() < 0.5 else _uniform(rng)
    x[1] = x[0]
    n = rng.choice([1, 2, 3])
    x[1, :n] = x[0, :n] + rng.integers(-4, 5, 3)
    return x


def _touch(rng):
    """Contact at a simple time and place, at corners and along edges too, perhaps an ulp off."""
    kind = rng.integers(2)
    x, _ = known_contact(rng, int(kind))
    if rng.random() < 0.6:
        at = rng.integers(2), rng.integers(4), rng.integers(3)
        x[at] = np.nextafter(x[at], rng.choice([-np.inf, np.inf]))
    return x


def _grazing(rng):
    """A double root: the signed volume is 0 to second order somewhere."""
    x = np.zeros((2, 4, 3))
    d = int(rng.integers(2, 8))
    # the height of a point over a moving plane: z = (t − i/d)² times d² from two linear factors
    i = int(rng.integers(0, d + 1))
    x[0, 1:, :2] = [[-8, -8], [8, -8], [0, 8]]
    x[1, 1:, :2] = x[0, 1:, :2]
    x[0, 0], x[1, 0] = [-i, 0, 0], [d - i, 0, 0]                        # x = d t − i
    x[0, 1:, 2] = np.array([-8, 8, 0]) * -i
    x[1, 1:, 2] = np.array([-8, 8, 0]) * (d - i)                        # the plane z = (d t − i) x
    if rng.random() < 0.5:
        x[:, 0, 2] = rng.choice([0.0, 0.0, 2.0**-40, -(2.0**-40), 2.0**-60, -(2.0**-60)])
    if rng.random() < 0.3:
        x += rng.integers(-3, 4, 3) * 0.5
    return x


def _nearly_flat(rng):
    x = _uniform(rng)
    x[:, :, rng.integers(3)] *= 2.0 ** -rng.integers(10, 60)
    return x


def _far(rng):
    return _uniform(rng) * 2.0 ** -rng.integers(0, 20) + rng.integers(-5, 6, 3) * 2.0 ** rng.integers(0, 20)


def _few(rng):
    """Few distinct coordinates."""
    return rng.choice(rng.uniform(-1, 1, 3), (2, 4, 3))


def _mixed(rng):
    """Exponents far apart, subnormal and huge ones too."""
    x = _small_integers(rng) if rng.random() < 0.5 else _uniform(rng)
    e = rng.integers(-1074, 1015, (2, 4, 3)) if rng.random() < 0.3 else rng.choice([-1070, -500, 0, 0, 0, 1000], (2, 4, 3))
    some = rng.random((2, 4, 3)) < 0.3
    return np.where(some, np.ldexp(x, e), x)


def _tiny(rng):
    return _small_integers(rng) * 5e-324


def _huge(rng):
    return _small_integers(rng) * 2.0**1020


FAMILIES = {name[1:]: make for name, make in list(globals().items()) if name[0] == "_" != name[1] and callable(make)}


def hostile(rng, name=None):
    """(start, end) of a name, or of any; now and then an ulp off, or with its points in another order."""
    make = FAMILIES[name] if name else list(FAMILIES.values())[rng.integers(len(FAMILIES))]
    x = make(rng)
    if rng.random() < 0.2:
        at = rng.integers(2), rng.integers(4), rng.integers(3)
        x[at] = np.nextafter(x[at], rng.choice([-np.inf, np.inf]))
    if rng.random() < 0.3:
        x = x[:, rng.permutation(4)]
    return x[0], x[1]


# --- known by construction ---------------------------------------------------------------------------------------------------------------


def known_contact(rng, kind, reach=8):
    """(points (2, 4, 3), time): features that touch at this time, a fraction with a small denominator; perhaps earlier too. Positions
    and velocities are integers there."""
    d = int(rng.integers(1, 9))
    n = int(rng.integers(0, d + 1))
    if kind == VERTEX_FACE:
        m = rng.integers(1, 4, 3) if rng.random() < 0.7 else rng.integers(0, 2, 3)
        total = max(int(m.sum()), 1)
        corners = rng.integers(-reach, reach + 1, (3, 3)) * total
        place = np.vstack([(m[:, None] * corners).sum(0) // total if m.any() else corners[0], corners])
    else:
        i, j = rng.integers(0, 5, 2)
        a, b = rng.integers(-reach, reach + 1, (2, 3))
        point, direction = a * 4 + (b - a) * i, rng.integers(-reach, reach + 1, 3)
        place = np.array([a * 4, b * 4, point - j * direction, point + (4 - j) * direction])
    velocity = rng.integers(-reach, reach + 1, (4, 3))
    return np.stack([place - n * velocity, place + (d - n) * velocity]).astype(float), Fraction(n, d)


def known_queries(rng, n, kind, reach=64):
    """(starts (n, 4, 3), ends, numerators (n,), denominators): n queries whose first contact is at numerator ÷ denominator exactly; of
    denominator 0, a miss.

    A plane with an integer normal holds a point of both features at that time. Before, all corners of one are strictly on one side and
    those of the other not: the first approaches along the normal, the second recedes. Many contacts happen at time 1; half of these queries
    become misses by one ulp, by which all corners of the second that touch the plane are moved away from it. Contacts are at corners, on
    edges and inside. Positions at the contact, velocities and the normal are small integers, times a power of two."""
    normal = rng.integers(-4, 5, (n, 3))
    normal[~normal.any(axis=1)] = [0, 0, 1]
    place = rng.integers(-reach, reach + 1, (n, 1, 3))

    def in_plane(count):
        return np.cross(normal[:, None], rng.integers(-4, 5, (n, count, 3)))

    def on_side(count, side):
        offsets = rng.integers(-reach, reach + 1, (n, count, 3))
        heights = (offsets * normal[:, None]).sum(2)
        return np.where((heights * side < 0)[..., None], -offsets, offsets)

    where, offsets = rng.integers(0, 3, n)[:, None, None], np.zeros((n, 4, 3), np.int64)
    flat = rng.random((n, 1, 1)) < 0.5
    if kind == VERTEX_FACE:
        a, b = in_plane(1), in_plane(1)
        loose = np.where(flat, in_plane(2), on_side(2, 1))
        offsets[:, 1:2] = np.where(where == 0, 0, a)                    # a corner, on an edge, inside
        offsets[:, 2:3] = np.where(where == 0, loose[:, :1], np.where(where == 1, -2 * a, b))
        offsets[:, 3:4] = np.where(where == 2, -a - b, loose[:, 1:])
        sides = np.array([-1, 1, 1, 1])
    else:
        a, b = in_plane(1), in_plane(1)
        below, above = np.where(flat, in_plane(1), on_side(1, -1)), np.where(flat, in_plane(1), on_side(1, 1))
        offsets[:, 0:1], offsets[:, 1:2] = np.where(where == 0, 0, a), np.where(where == 0, below, -3 * a)
        offsets[:, 2:3], offsets[:, 3:4] = np.where(where == 2, b, 0), np.where(where == 2, -b, above)
        sides = np.array([-1, -1, 1, 1])
    speed = rng.integers(-reach, reach + 1, (n, 4, 3))
    heights = (speed * normal[:, None]).sum(2)
    speed = np.where((heights * sides > 0)[..., None], -speed, speed)   # the first rises, the second falls
    still = ((speed * normal[:, None]).sum(2) == 0) & (sides < 0)
    speed = np.where(still[..., None], normal[:, None], speed)
    denominators = rng.integers(1, 9, n)
    numerators = np.minimum(rng.integers(0, 12, n), denominators)
    start = place + offsets - numerators[:, None, None] * speed
    end = place + offsets + (denominators - numerators)[:, None, None] * speed
    start, end = start.astype(float), end.astype(float)
    miss = (numerators == denominators) & (rng.random(n) < 0.5)
    axis = np.abs(normal).argmax(1)
    rows = np.flatnonzero(miss)
    for k in np.flatnonzero(sides > 0):
        at = rows, np.full(len(rows), k), axis[rows]
        touching = (offsets[rows, k] * normal[rows]).sum(1) == 0
        moved = np.nextafter(end[at], np.where(normal[rows, axis[rows]] > 0, np.inf, -np.inf))
        end[at] = np.where(touching, moved, end[at])
    scale = 2.0 ** rng.integers(-30, 31, (n, 1, 1))
    small = np.abs(end) < 2.0**-1000                                    # an ulp of 0: it would be lost
    scale = np.where(small.any(axis=(1, 2), keepdims=True), 1.0, scale)
    return start * scale, end * scale, numerators, np.where(miss, 0, denominators)
