"""Hard pairs of triangles, seeded: the cases in which a predicate that rounds goes wrong.

`pairs(kind, n, rng)` gives two float64 arrays A, B of shape (n, 3, 3): triangle A[i] is to be tested against B[i].
`KINDS` names the kinds, `ALWAYS` and `NEVER` those with one known answer; every other kind has both.
`orders(p, q)` gives one pair in all the orders that must not change its answer.

The idea behind most kinds: aim at contact. Where coordinates are small integers, contact is exact and common.
Elsewhere a point of contact is computed in float64, and the rounding leaves the pair touching, crossing or
missing by about 1e-16 of its size: three outcomes, none of which a test may get wrong.
"""

from itertools import permutations

import numpy as np

KINDS = {
    "crossing": "random triangles with a common interior point",
    "apart": "random triangles on two sides of a random plane, boxes overlapping",
    "corner": "one corner in common, bit for bit",
    "edge": "two corners in common, bit for bit",
    "vertex_on_face": "a corner of one on the other, computed in float64",
    "edge_on_edge": "an edge of one through a point of an edge of the other, computed in float64",
    "near": "one of the former two, moved by 1e-12 to 1e-18 of its size",
    "coplanar_aligned": "integers in a plane along two axes",
    "coplanar_oblique": "integers in an oblique plane, exactly coplanar",
    "coplanar_rotated": "a sheet of triangles turned by a random rotation, coplanar but for rounding",
    "segment": "integers, a repeated corner against anything",
    "point": "integers, three equal corners against anything",
    "collinear": "integers, three corners on a line against anything",
    "degenerate": "integers, two degenerate triangles",
    "repeated": "a repeated corner, aimed at the other triangle in float64",
    "needle": "long and thin: corners within 1e-17 to 1e-3 of a line, aimed at the other triangle",
    "sliver": "flat: a corner nearly on the opposite edge, aimed at the other triangle",
    "lattice": "integers 0 to 3: many exact touches",
    "far": "hard pairs offset by 2.5e5 or 1e12",
    "tiny": "hard pairs of size 1e-75, 1e-200 or 1e-305, or integers times 5e-324",
    "huge": "hard pairs of size 1e102, 1e150 or 1e300",
    "mixed": "every coordinate of its own magnitude, 1e-300 to 1e300, some shared",
    "identical": "one triangle twice",
    "permuted": "any of the former, in a random one of its 72 orders",
}
ALWAYS = ("crossing", "corner", "edge", "identical")
NEVER = ("apart",)


def pairs(kind, n, rng):
    """n pairs of triangles of a kind, `(A, B)`, each (n, 3, 3) float64."""
    a, b = _MAKERS[kind](n, rng)
    return np.ascontiguousarray(a, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64)


def orders(p, q):
    """The pair in all 72 orders: six of p's corners, six of q's, and the arguments exchanged."""
    for i in permutations(range(3)):
        for j in permutations(range(3)):
            yield p[list(i)], q[list(j)]
            yield q[list(j)], p[list(i)]


# ------------------------------------------------------------------------------------------ ingredients


def _triangles(n, rng):
    """Random triangles of random size, within a few units of the origin."""
    return rng.standard_normal((n, 3, 3)) * rng.choice([0.1, 1.0, 3.0], (n, 1, 1)) + rng.standard_normal((n, 1, 3))


def _weights(n, rng, k=3):
    """Positive weights (n, k) that add up to about 1, none below 1/21."""
    weights = rng.uniform(0.1, 1.0, (n, k))
    return weights / weights.sum(axis=1, keepdims=True)


def _points_on(triangles, rng):
    """A rounded point on each triangle, (n, 3): inside it, or on an edge one time in four."""
    n = len(triangles)
    weights = _weights(n, rng)
    weights[rng.random(n) < 0.25, 2] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("nk,nkd->nd", weights, triangles)


def _normals(triangles):
    """Unit normals, (n, 3); zero for a degenerate triangle."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(lengths > 0.0, lengths, 1.0)


def _rotations(n, rng):
    """Random orthogonal matrices, (n, 3, 3)."""
    return np.linalg.qr(rng.standard_normal((n, 3, 3)))[0]


def _shuffled(triangles, rng):
    """Every triangle with its corners in a random order."""
    order = rng.permuted(np.tile(np.arange(3), (len(triangles), 1)), axis=1)
    return np.take_along_axis(triangles, order[:, :, None], axis=1)


def _blend(kinds, n, rng):
    """n pairs, each of a random one of the kinds."""
    choice = rng.integers(len(kinds), size=n)
    a, b = np.empty((n, 3, 3)), np.empty((n, 3, 3))
    for i, kind in enumerate(kinds):
        of_kind = choice == i
        a[of_kind], b[of_kind] = pairs(kind, int(of_kind.sum()), rng)
    return a, b


def _touch(target, other, rng):
    """Move `other` so that one of its corners, or a point of its first edge, comes onto `target`, rounded.

    A corner leaves the rest above the target; a point of the edge puts the two ends on two sides.
    """
    n = len(target)
    along = np.where(rng.random(n) < 0.7, 0.0, rng.uniform(0.1, 0.9, n))[:, None]
    contact = other[:, 0] + along * (other[:, 1] - other[:, 0])
    return other + (_points_on(target, rng) - contact)[:, None]


# ------------------------------------------------------------------------------------- general position


def _crossing(n, rng):
    a, b = _triangles(n, rng), _triangles(n, rng)
    inside_a = np.einsum("nk,nkd->nd", _weights(n, rng), a)
    inside_b = np.einsum("nk,nkd->nd", _weights(n, rng), b)
    return a, b + (inside_a - inside_b)[:, None]


def _apart(n, rng):
    """Mirror B to the far side of a plane that has A on the near side; keep the pairs whose boxes overlap."""
    a, b, missing = [np.empty((0, 3, 3))], [np.empty((0, 3, 3))], n
    while missing > 0:
        normal = rng.standard_normal((4 * missing, 1, 3))
        normal /= np.linalg.norm(normal, axis=2, keepdims=True)
        p, q = rng.standard_normal((2, 4 * missing, 3, 3))
        height_p, height_q = (p * normal).sum(axis=2, keepdims=True), (q * normal).sum(axis=2, keepdims=True)
        p, q = p + (np.abs(height_p) + 1e-3 - height_p) * normal, q - (np.abs(height_q) + 1e-3 + height_q) * normal
        overlap = np.all((p.min(axis=1) <= q.max(axis=1)) & (q.min(axis=1) <= p.max(axis=1)), axis=1)
        a.append(p[overlap][:missing])
        b.append(q[overlap][:missing])
        missing -= len(a[-1])
    return np.concatenate(a), np.concatenate(b)


# ---------------------------------------------------------------------------------------------- contact


def _corner(n, rng):
    a, b = _triangles(n, rng), _triangles(n, rng)
    b[:, 0] = a[:, 0]
    return _shuffled(a, rng), _shuffled(b, rng)


def _edge(n, rng):
    a, b = _triangles(n, rng), _triangles(n, rng)
    b[:, :2] = a[:, :2]
    return _shuffled(a, rng), _shuffled(b, rng)


def _vertex_on_face(n, rng):
    """B stands on A with one corner, the other two well above A's plane: rounding alone decides."""
    a, b = _triangles(n, rng), _triangles(n, rng)
    b[:, 0] = _points_on(a, rng)
    normal = _normals(a)[:, None]
    height = ((b[:, 1:] - b[:, :1]) * normal).sum(axis=2, keepdims=True)
    b[:, 1:] += (np.abs(height) + 0.1 - height) * normal
    return _shuffled(a, rng), _shuffled(b, rng)


def _edge_on_edge(n, rng):
    """Two edges that cross in a rounded point, the triangles on two sides of the plane of the edges."""
    a, b = _triangles(n, rng), _triangles(n, rng)
    s, t = rng.uniform(0.1, 0.9, (2, n, 1))
    contact = a[:, 0] + s * (a[:, 1] - a[:, 0])
    b[:, 0] = contact + rng.standard_normal((n, 3))
    b[:, 1] = b[:, 0] + (contact - b[:, 0]) / t
    normal = _normals(np.stack([a[:, 0], a[:, 1], b[:, 0]], axis=1))
    for corners, side in ((a, 1.0), (b, -1.0)):
        height = ((corners[:, 2] - contact) * normal).sum(axis=1, keepdims=True)
        corners[:, 2] += (side * (np.abs(height) + 0.1) - height) * normal
    return _shuffled(a, rng), _shuffled(b, rng)


def _near(n, rng):
    """Move the second triangle along a normal by 1e-12 to 1e-18 of the pair's size, up or down.

    Such a move rounds to nothing below about 1e-16, so in a third of the pairs the contact is at the origin, where
    any step is representable: A has the origin as its exact centroid, and B's corner alone is off by the step.
    """
    a, b = _blend(("vertex_on_face", "edge_on_edge"), n, rng)
    size = np.abs(np.concatenate([a, b], axis=1)).max(axis=(1, 2))
    step = (rng.choice([-1.0, 1.0], n) * size * 10.0 ** rng.uniform(-18.0, -12.0, n))[:, None]
    b += (step * _normals(a))[:, None]

    a_centred = rng.integers(-4096, 4097, (n, 3, 3)) / 1024.0
    a_centred[:, 2] = -a_centred[:, 0] - a_centred[:, 1]
    normal = _normals(a_centred)
    b_centred = rng.standard_normal((n, 3, 3))
    height = (b_centred * normal[:, None]).sum(axis=2, keepdims=True)
    b_centred += (np.abs(height) + 0.1 - height) * normal[:, None]
    b_centred[:, 0] = step * normal
    at_origin = rng.random((n, 1, 1)) < 1.0 / 3.0
    return np.where(at_origin, a_centred, a), np.where(at_origin, _shuffled(b_centred, rng), b)


# --------------------------------------------------------------------------------------------- coplanar


def _coplanar_aligned(n, rng):
    points = rng.integers(0, 7, (n, 6, 3)).astype(np.float64)
    points[np.arange(n), :, rng.integers(0, 3, n)] = rng.integers(-2, 3, (n, 1))
    return points[:, :3], points[:, 3:]


def _coplanar_oblique(n, rng):
    basis = rng.integers(-9, 10, (n, 2, 3))
    points = (rng.integers(0, 7, (n, 6, 2)) @ basis).astype(np.float64)
    return points[:, :3], points[:, 3:]


def _coplanar_rotated(n, rng):
    points = rng.integers(0, 7, (n, 6, 3)) * [1.0, 1.0, 0.0] + rng.standard_normal((n, 1, 3))
    points = points @ _rotations(n, rng)
    return points[:, :3], points[:, 3:]


# ------------------------------------------------------------------------------------------- degenerate


def _degenerate_triangles(shape, n, rng):
    """Degenerate triangles of small integers: "point", "segment" or "collinear"."""
    start = rng.integers(0, 4, (n, 1, 3))
    direction = rng.integers(-2, 3, (n, 1, 3))
    direction[~direction.any(axis=2)[:, 0]] = [1, 0, 0]
    steps = {"point": [0, 0, 0], "segment": [0, 0, 1], "collinear": [0, 1, 2]}[shape]
    steps = np.array(steps)[None, :, None] * rng.integers(1, 3, (n, 1, 1))
    if shape == "collinear":
        steps[:, 2] += rng.integers(0, 2, (n, 1))
    return _shuffled((start + steps * direction).astype(np.float64), rng)


def _aim(a, b, rng):
    """Integers stay integers: enlarge B four times, and move A's first corner to a lattice point of B.

    Half of the pairs meet so; a quarter misses by one in some coordinates, a quarter stays where it was.
    """
    n = len(a)
    b = 4.0 * b
    cuts = np.sort(rng.integers(0, 5, (n, 2)), axis=1)
    quarters = np.stack([cuts[:, 0], cuts[:, 1] - cuts[:, 0], 4 - cuts[:, 1]], axis=1)
    target = np.einsum("nk,nkd->nd", quarters, b) / 4.0
    aim = rng.random((n, 1))
    target += np.where(aim < 0.5, 0, rng.integers(-1, 2, (n, 3)))
    return np.where(aim[:, :, None] < 0.75, a + (target - a[:, 0])[:, None], a), b


def _degenerate_against_any(shape):
    def make(n, rng):
        return _aim(_degenerate_triangles(shape, n, rng), rng.integers(-1, 4, (n, 3, 3)), rng)

    return make


def _degenerate(n, rng):
    """Any two of the three shapes."""
    choice = rng.integers(3, size=(2, n))
    a, b = np.empty((2, n, 3, 3))
    for made, chosen in ((a, choice[0]), (b, choice[1])):
        for i, shape in enumerate(("point", "segment", "collinear")):
            of_shape = chosen == i
            made[of_shape] = _degenerate_triangles(shape, int(of_shape.sum()), rng)
    return _aim(a, b, rng)


def _repeated(n, rng):
    a, b = _triangles(n, rng), _triangles(n, rng)
    b = _touch(a, b, rng)
    b[:, 2] = b[np.arange(n), rng.integers(0, 2, n)]
    return _shuffled(a, rng), _shuffled(b, rng)


# ------------------------------------------------------------------------------------------- thin, small, large


def _needle(n, rng):
    a, b = np.empty((2, n, 3, 3))
    for made in (a, b):
        direction = rng.standard_normal((n, 1, 3)) * rng.choice([1.0, 1e3], (n, 1, 1))
        width = 10.0 ** rng.uniform(-17.0, -3.0, (n, 1, 1))
        made[:] = rng.uniform(-1.0, 1.0, (n, 3, 1)) * direction + width * rng.standard_normal((n, 3, 3))
    return _shuffled(a, rng), _shuffled(_touch(a, b, rng), rng)


def _sliver(n, rng):
    a, b = _triangles(n, rng), _triangles(n, rng)
    for made in (a, b):
        flat = rng.random(n) < 0.75
        on_edge = made[:, 0] + rng.uniform(-0.2, 1.2, (n, 1)) * (made[:, 1] - made[:, 0])
        on_edge += 10.0 ** rng.uniform(-18.0, -6.0, (n, 1)) * rng.standard_normal((n, 3))
        made[flat, 2] = on_edge[flat]
    return _shuffled(a, rng), _shuffled(_touch(a, b, rng), rng)


def _lattice(n, rng):
    return rng.integers(0, 4, (2, n, 3, 3)).astype(np.float64)


HARD = ("crossing", "vertex_on_face", "edge_on_edge", "near", "coplanar_rotated", "lattice", "collinear", "needle")


def _far(n, rng):
    a, b = _blend(HARD, n, rng)
    offset = rng.choice([2.5e5, 1e12], (n, 1, 1)) * rng.choice([-1.0, 1.0], (n, 1, 3))
    return a + offset, b + offset


def _scaled(scales):
    def make(n, rng):
        a, b = _blend(HARD, n, rng)
        scale = rng.choice(scales, (n, 1, 1))
        return a * scale, b * scale

    return make


def _tiny(n, rng):
    a, b = _scaled([1e-75, 1e-200, 1e-305])(n, rng)
    smallest = rng.random(n) < 0.25
    count = int(smallest.sum())
    a[smallest], b[smallest] = rng.integers(-5, 6, (2, count, 3, 3)) * 5e-324
    return a, b


def _mixed(n, rng):
    """Log-uniform coordinates; a third of B's are A's, a few are zero, so that boxes overlap and touch."""
    a, b = rng.choice([-1.0, 1.0], (2, n, 3, 3)) * 10.0 ** rng.uniform(-300.0, 300.0, (2, n, 3, 3))
    shared = rng.random((n, 3, 3)) < 0.35
    b[shared] = _shuffled(a, rng)[shared]
    a[rng.random((n, 3, 3)) < 0.1] = 0.0
    b[rng.random((n, 3, 3)) < 0.1] = 0.0
    return a, b


def _identical(n, rng):
    a, b = _blend(HARD, n, rng)
    a = np.where(rng.random((n, 1, 1)) < 0.5, a, b)
    return a, a.copy()


def _permuted(n, rng):
    a, b = _blend([kind for kind in KINDS if kind != "permuted"], n, rng)
    a, b = _shuffled(a, rng), _shuffled(b, rng)
    swapped = rng.random((n, 1, 1)) < 0.5
    return np.where(swapped, b, a), np.where(swapped, a, b)


_MAKERS = {
    "crossing": _crossing,
    "apart": _apart,
    "corner": _corner,
    "edge": _edge,
    "vertex_on_face": _vertex_on_face,
    "edge_on_edge": _edge_on_edge,
    "near": _near,
    "coplanar_aligned": _coplanar_aligned,
    "coplanar_oblique": _coplanar_oblique,
    "coplanar_rotated": _coplanar_rotated,
    "segment": _degenerate_against_any("segment"),
    "point": _degenerate_against_any("point"),
    "collinear": _degenerate_against_any("collinear"),
    "degenerate": _degenerate,
    "repeated": _repeated,
    "needle": _needle,
    "sliver": _sliver,
    "lattice": _lattice,
    "far": _far,
    "tiny": _tiny,
    "huge": _scaled([1e102, 1e150, 1e300]),
    "mixed": _mixed,
    "identical": _identical,
    "permuted": _permuted,
}
