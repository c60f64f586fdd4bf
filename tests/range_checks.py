"""Every query on one pair of meshes, against exact answers: what `test_range*.py` and `benchmarks/range.py` sweep over sizes 2**k.

A case is two meshes of about unit size, with coordinates that are multiples of a power of two: times 2**k nothing rounds, unless numbers
become subnormal. The reference (`naive*.py`, rational arithmetic) is always asked about the coordinates as they are; since a power of two
in front of all of them changes no answer but lengths, it sees them divided by it, and what it said once is kept.

What must hold: pairs of faces are exact. Distances are right to 1e-12 of the size of the two faces and of their distance, plus two units of
the smallest subnormal number; the faces that are named are as near as the nearest, within that. Rays: `ray_checks.py`. Contacts:
`query/contact_checks.py`.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

import naive
import naive_distances
import naive_winding
import pliant as pl
from contact_checks import check_contacts
from ray_checks import assert_rays

TOLERANCE, LEAST = Fraction(1, 10**12), 2 * Fraction(5e-324)
MOST_EXPONENT = 1021                                                    # of a coordinate: differences are finite, too
N_CONTACTS = 3


class Case(NamedTuple):
    """Two meshes, and a distance that some of their faces are nearer than and others not."""
    a: np.ndarray
    faces_a: np.ndarray
    b: np.ndarray
    faces_b: np.ndarray
    tolerance: float
    exact: bool = True                                                  # nothing has been rounded: closed meshes still are what they were


# --- meshes -------------------------------------------------------------------------------------------------------------------------------

@lru_cache
def ball():
    """(vertices, faces): a dented octahedron, each face in four; closed, seen from outside counter-clockwise; multiples of 2**-10."""
    axes, faces, names = np.vstack([np.eye(3), -np.eye(3)]), [], {}
    for x in (0, 3):
        for y in (1, 4):
            for z in (2, 5):
                a, b, c = axes[x], axes[y], axes[z]
                if np.linalg.det([a, b, c]) < 0:
                    b, c = c, b
                p, q, r = a + b, b + c, c + a
                faces += [[names.setdefault(tuple(u), len(names)) for u in face] for face in ((a, p, r), (p, b, q), (r, q, c), (p, q, r))]
    rows = np.array(list(names))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True) * np.random.default_rng(3).uniform(0.7, 1, (len(rows), 1))
    return np.round(rows * 1024) / 1024, np.array(faces)


def soup(seed, n=24):
    """(vertices, faces): n triangles anywhere in a cube, all corners on a lattice; many meet, some lie in one plane."""
    rows = np.random.default_rng(seed).integers(-9, 10, (n, 3, 3)) / 16
    return rows.reshape(-1, 3), np.arange(3 * n).reshape(-1, 3)


CHIP = np.array([[0.0, 0, 0], [1, 0, 0.5], [0, 1, 0.25]])
ONE = np.array([[0, 1, 2]])


@lru_cache
def cases():
    """{name: Case}: meeting, beside and far from each other, near and far from the origin, and one of them small."""
    rows, faces = ball()
    turned = rows[:, [1, 2, 0]] * [-1, 1, -1]
    plate, square = np.array([[-4.0, -4, 0], [4, -4, 0], [4, 4, 0], [-4, 4, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
    middle = np.round(rows[faces[5]].mean(axis=0) * 4096) / 4096
    made = {
        "crossing": Case(rows, faces, turned + [0.875, 0.25, 0.125], faces, 0.0625),
        "beside": Case(rows, faces, turned + [2.0625, 0.25, 0.125], faces, 0.75),
        "300 sizes apart": Case(rows, faces, turned + [500, 250.5, 0.125], faces, 558.5),
        "900 sizes apart": Case(rows, faces, turned + [1700, 10.5, 0.125], faces, 1699.0),
        "20000 sizes apart": Case(rows, faces, turned + [30000, 10.5, 4000], faces, 30265.0),
        "far from the origin": Case(rows + 2.0**20, faces, turned + [2.0**20 + 0.875, 2.0**20 + 0.25, 2.0**20], faces, 0.0625),
        "soups": Case(*soup(0), *soup(1), 1 / 16),
        "on a plate": Case(rows - [0, 0, rows[:, 2].min()], faces, plate, square, 0.125),
    }
    for j in (12, 30, 42):                                              # 42: the last bits of its place
        small = np.ldexp(CHIP, -j)
        made |= {f"2**-{j}, at a face": Case(rows, faces, small + middle, ONE, 0.25),
                 f"2**-{j}, at a corner": Case(rows, faces, small + rows[faces[0, 0]], ONE, 0.25),
                 f"2**-{j}, away": Case(rows, faces, small + [3, 1, 0.5], ONE, 2.5)}
    for j in (60, 130, 300, 700):                                       # float32 knows nothing of its size at the scale of the other
        made |= {f"2**-{j}, through a plate": Case(np.ldexp(CHIP - [0, 0, 0.25], -j), ONE, plate + [0.5, 0.25, 0], square, 2.0),
                 f"2**-{j}, above a plate": Case(np.ldexp(CHIP + [0, 0, 0.125], -j), ONE, plate + [0.5, 0.25, 0], square, 2.0)}
    return made


def scaled(case, k):
    """A case times 2**k; None if that is too large for float64."""
    if np.frexp(max(np.abs(case.a).max(), np.abs(case.b).max(), case.tolerance))[1] + k > MOST_EXPONENT:
        return None
    with np.errstate(under="ignore"):
        a, b = np.ldexp(case.a, k), np.ldexp(case.b, k)
        exact = (np.ldexp(a, -k) == case.a).all() and (np.ldexp(b, -k) == case.b).all()
        return case._replace(a=a, b=b, tolerance=float(np.ldexp(case.tolerance, k)), exact=bool(exact))


# --- the reference ------------------------------------------------------------------------------------------------------------------------

def common_power(*arrays):
    """(arrays over a power of two, its exponent): the largest coordinate is about 1, unless something would round."""
    with np.errstate(under="ignore"):
        power = int(np.frexp(max(np.abs(array).max(initial=0.0) for array in arrays))[1])
        made = [np.ldexp(array, -power) for array in arrays]
        exact = all((np.ldexp(less, power) == array).all() for less, array in zip(made, arrays, strict=True))
    return (made, power) if exact else (arrays, 0)


def key(array):
    """What a cache can keep it by."""
    array = np.ascontiguousarray(array)
    return array.tobytes(), array.shape, array.dtype.str


def array_of(known):
    return np.frombuffer(known[0], known[2]).reshape(known[1])


@lru_cache(maxsize=4096)
def ask_kept(question, *known):
    return question(*(array_of(one) if isinstance(one, tuple) else one for one in known))


def ask(question, lengths, *others):
    """What the reference says about these arrays of lengths, and others; and the power of two that its lengths are short of."""
    rows, power = common_power(*(np.asarray(array, np.float64) for array in lengths))
    return ask_kept(question, *map(key, rows), *map(key, others)), power


def reference_distance(a, b, faces_a, faces_b):
    return naive_distances.distance(a, faces_a, b, faces_b)


def reference_within(a, b, tolerance, faces_a, faces_b):
    return naive_distances.within(a, faces_a, b, faces_b, float(tolerance[0]))


def reference_closest(a, points, faces_a):
    return naive_distances.closest(a, faces_a, points)


def reference_self_distance(a, faces):
    return naive_distances.self_distance(a, faces)


def reference_self_within(a, tolerance, faces):
    return naive_distances.self_within(a, faces, float(tolerance[0]))


def reference_square(p, q):
    return naive_distances.triangle_triangle(p, q) if q.ndim == 2 else naive_distances.point_triangle(q, p)


def corners_of(vertices, faces):
    return vertices[np.asarray(faces)]


# --- comparisons --------------------------------------------------------------------------------------------------------------------------

def extent(*corners):
    """The largest difference of two coordinates of corners, no point far from the others: the size of faces and of their distance."""
    rows = np.vstack(corners)
    return max(Fraction(high) - Fraction(low) for low, high in zip(rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True))


def near_root(found, square, size):
    """Is `found` the root of a square, within the tolerance for such a size?"""
    if not np.isfinite(found):
        return False
    margin, found = TOLERANCE * size + LEAST, Fraction(found)
    return max(found - margin, Fraction(0)) ** 2 <= square <= (found + margin) ** 2


def assert_distance(found, square, p, q, name):
    """One distance and the corners of the faces between which it is."""
    assert near_root(found, square, extent(p, q)), f"{name}: {found} instead of {float(square) ** 0.5 if square < 10**300 else square}"


def square_of(square, power):
    return square * Fraction(4) ** power


def assert_nearest(found, square, measured, p, q, name):
    """A distance, and that the faces it names are as far apart as it says."""
    assert_distance(found, square, p, q, name)
    assert_distance(found, measured, p, q, f"{name}, the faces named")


def squares(p, q):
    """The exact squared distance of two triangles, or of a triangle and a point."""
    known, power = ask(reference_square, (p, q))
    return square_of(known, power)


def assert_pairs(found, right, name):
    found, right = list(map(tuple, found)), list(map(tuple, right))
    missing, extra = sorted(set(right) - set(found)), sorted(set(found) - set(right))
    assert found == right, f"{name}: {len(missing)} of {len(right)} pairs missing, as {missing[:2]}; {len(extra)} too many, as {extra[:2]}"


def assert_within(found, right, case, p, q, name):
    """Pairs and distances; a pair at the tolerance itself may be in or out, since distances are compared as they are rounded."""
    (pairs, lengths), power = right
    known = {tuple(pair): square_of(square, power) for pair, square in zip(pairs, lengths, strict=True)}
    rows = list(map(tuple, found.faces.tolist()))
    for pair, length in zip(rows, found.distances.tolist(), strict=True):
        square = known[pair] if pair in known else squares(p[pair[0]], q[pair[1]])
        assert_distance(length, square, p[pair[0]], q[pair[1]], f"{name}, faces {pair}")
        assert length <= case.tolerance
    for pair in set(known) - set(rows):
        size = TOLERANCE * extent(p[pair[0]], q[pair[1]]) + LEAST
        assert known[pair] >= max(Fraction(case.tolerance) - size, Fraction(0)) ** 2, f"{name}: misses faces {pair}"


# --- queries of two bodies ----------------------------------------------------------------------------------------------------------------

def check_collide(case, a, b):
    right, _ = ask(naive_collide, (case.a, case.b), case.faces_a, case.faces_b)
    found = pl.collide(a, b, contacts=True)
    assert_pairs(found.faces.tolist(), right.tolist(), "collide")
    some = pl.Pairs(found.faces[:N_CONTACTS], found.stats, segments=found.segments[:N_CONTACTS], normals=found.normals[:N_CONTACTS],
                    depths=found.depths[:N_CONTACTS], coplanar=found.coplanar[:N_CONTACTS])
    check_contacts(some, corners_of(case.a, case.faces_a), corners_of(case.b, case.faces_b))


def naive_collide(a, b, faces_a, faces_b):
    return naive.collide(a, faces_a, b, faces_b)


def check_distance(case, a, b):
    (square, _), power = ask(reference_distance, (case.a, case.b), case.faces_a, case.faces_b)
    found = pl.distance(a, b)
    assert (found.faces >= 0).all(), "distance: no faces"
    p, q = case.a[case.faces_a[found.faces[0]]], case.b[case.faces_b[found.faces[1]]]
    assert_nearest(found.distance, square_of(square, power), squares(p, q), p, q, "distance")


def check_within(case, a, b):
    right = ask(reference_within, (case.a, case.b, [case.tolerance]), case.faces_a, case.faces_b)
    p, q = corners_of(case.a, case.faces_a), corners_of(case.b, case.faces_b)
    assert_within(pl.within(a, b, case.tolerance), right, case, p, q, "within")


# --- queries of one body ------------------------------------------------------------------------------------------------------------------

def points_of(case):
    """Corners, middles of edges, the other mesh, inside, and far away."""
    a, size = case.a, np.ldexp(1.0, int(np.frexp(np.abs(case.a - case.a[0]).max())[1]))
    with np.errstate(over="ignore", under="ignore"):
        points = np.vstack([a[:3], a[case.faces_a[:1, 0]] * 0.5 + a[case.faces_a[:1, 1]] * 0.5, (a * (1 / len(a))).sum(axis=0), case.b[:3],
                            a[-1] + size * np.array([4.0, 2, 1]), a[-2] - size * np.array([200.0, 3, 900])])
    return points[(np.abs(points) <= 2.0**MOST_EXPONENT).all(axis=1)]


def check_closest(case, a, b):
    points, corners = points_of(case), corners_of(case.a, case.faces_a)
    right, power = ask(reference_closest, (case.a, points), case.faces_a)
    found = pl.closest(a, points)
    for k, (square, _) in enumerate(right):
        assert found.face[k] >= 0, f"closest: nothing is near {points[k].tolist()}"
        p = corners[found.face[k]]
        assert_nearest(found.distance[k], square_of(square, power), squares(p, points[k]), p, points[k], f"closest, point {k}")
    if len(case.faces_a) == len(ball()[1]):
        signed = pl.closest(a, points, signed=True)
        np.testing.assert_array_equal(np.abs(signed.distance), found.distance, "closest, signed")
        if case.exact:
            assert signed.distance[4] < 0 and (signed.distance[8:] > 0).all(), f"closest: the signs of {signed.distance.tolist()}"


def check_inside(case, a, b):
    """Exact for closed meshes; a point is on the surface of any where its distance is 0."""
    points = points_of(case)
    found, distances = pl.inside(a, points), pl.closest(a, points).distance
    np.testing.assert_array_equal(found.on_surface, distances == 0, "inside: on the surface")
    if len(case.faces_a) == len(ball()[1]) and case.exact:
        right = [naive_winding.winding_number(case.a, case.faces_a, point) for point in points]
        np.testing.assert_array_equal(found.winding_number, np.array(right, float), "inside: winding numbers")


def rays_of(case):
    """Rays at the mesh and past it, from near and far."""
    points, size = case.a, np.ldexp(1.0, int(np.frexp(np.abs(case.a - case.a[0]).max())[1]))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        middle = (points * (1 / len(points))).sum(axis=0)
        ways = np.array([[1.0, 0, 0], [0, -1, 0], [0.5, 0.25, 1], [-1, 3, 2], [-0.125, -1, 0.0625]])
        origins = np.vstack([middle + 3 * size * ways, points[0] + 300 * size * ways, middle + 0 * ways])
        directions = np.vstack([-ways, -ways * 2.0**10, ways])
        directions[3] = [0, 1, 0]
    good = (np.abs(origins) <= 2.0**MOST_EXPONENT).all(axis=1)
    return origins[good], directions[good]


def check_rays(case, a, b):
    assert_rays(a, *rays_of(case))


def check_lengths(case, a, b):
    """Rays whose directions are lengths: t is about 1."""
    origins, directions = rays_of(case)
    size = np.ldexp(1.0, int(np.frexp(np.abs(case.a - case.a[0]).max())[1]))
    with np.errstate(over="ignore", under="ignore"):
        directions = directions * size
    good = (np.abs(directions) <= 2.0**MOST_EXPONENT).all(axis=1) & (directions != 0).any(axis=1)
    assert_rays(a, origins[good], directions[good])


def check_visible(case, a, b):
    """Faces on one side of planes through corners, and beside them."""
    for normal in ([1.0, 0, 0], [0, -1.0, 0], [0.5, 0.25, -1.0]):
        for corner in (case.a[0], case.a[1] * 0.5 + case.a[2] * 0.5):
            n = list(map(Fraction, normal))
            at = sum(x * Fraction(y) for x, y in zip(n, corner.tolist(), strict=True))
            plane = [*normal, float(-at)]
            level = Fraction(plane[3])
            heights = [sum(x * Fraction(y) for x, y in zip(n, vertex, strict=True)) + level for vertex in case.a.tolist()]
            right = [f for f, face in enumerate(case.faces_a.tolist()) if max(heights[v] for v in face) >= 0]
            found = pl.frustum_cull(a, [plane]).face.tolist()
            assert found == right, f"visible: {len(found)} faces instead of {len(right)} for {plane}"


# --- one body against itself, and scenes --------------------------------------------------------------------------------------------------

def joined(case):
    """(vertices, faces): both meshes as one."""
    return np.vstack([case.a, case.b]), np.vstack([case.faces_a, case.faces_b + len(case.a)])


def naive_self_collide(a, faces):
    return naive.self_collide(a, faces)


def check_self(case, body):
    vertices, faces = joined(case)
    right, _ = ask(naive_self_collide, (vertices,), faces)
    assert_pairs(pl.self_collide(body).faces.tolist(), right.tolist(), "self_collide")
    (square, _), power = ask(reference_self_distance, (vertices,), faces)
    corners, found = corners_of(vertices, faces), pl.self_distance(body)
    assert (found.faces >= 0).all(), "self_distance: no faces"
    p, q = corners[found.faces[0]], corners[found.faces[1]]
    assert_nearest(found.distance, square_of(square, power), squares(p, q), p, q, "self_distance")
    right = ask(reference_self_within, (vertices, [case.tolerance]), faces)
    assert_within(pl.self_within(body, case.tolerance), right, case, corners, corners, "self_within")


def check_scene(case, a, b):
    scene = pl.Scene([a, b])
    right, _ = ask(naive_collide, (case.a, case.b), case.faces_a, case.faces_b)
    assert_pairs(scene.collide().faces.tolist(), right.tolist(), "Scene.collide")
    (square, _), power = ask(reference_distance, (case.a, case.b), case.faces_a, case.faces_b)
    found = scene.distance()
    p, q = case.a[case.faces_a[found.faces[0]]], case.b[case.faces_b[found.faces[1]]]
    assert_nearest(found.distance, square_of(square, power), squares(p, q), p, q, "Scene.distance")
    right = ask(reference_within, (case.a, case.b, [case.tolerance]), case.faces_a, case.faces_b)
    assert_within(scene.within(case.tolerance), right, case, corners_of(case.a, case.faces_a), corners_of(case.b, case.faces_b),
                  "Scene.within")
    assert_rays(scene, *rays_of(case))


def check_image(case, a, b):
    right, _ = ask(naive_collide, (case.a, case.b), case.faces_a, case.faces_b)
    assert_pairs(pl.collide(a, b, engine="image").faces.tolist(), right.tolist(), 'collide(engine="image")')


PAIRS = {"collide": check_collide, "distance": check_distance, "within": check_within, "closest": check_closest, "inside": check_inside,
         "rays": check_rays, "lengths": check_lengths, "visible": check_visible, "scene": check_scene, "image": check_image}
