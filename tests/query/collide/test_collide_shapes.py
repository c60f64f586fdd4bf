"""`collide` gives what the reference gives on meshes that trees or inexact tests find hard: degenerate, flat, tiny, huge, far away."""

import threading

import numba
import numpy as np
import pytest

import adversarial
import meshes
import pliant as pl
from pliant import shapes
from pliant.tree.nodes import MAX_LEVELS
from test_naive import WRITTEN

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
UP = 2.0**-52
TINIEST, MOST = 5e-324, 1.7976931348623157e308


def tilted(mesh, angle=0.7, axis=(1, 2, 3)):
    return mesh[0] @ meshes.rotation(axis, angle).T, mesh[1]


def moved(mesh, offset, size=1.0):
    return mesh[0] * size + offset, mesh[1]


# --- soups: all first triangles of a kind against all second ones ------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_soups_of_hard_pairs(kind, kept):
    first, second = adversarial.pairs(kind, 4 if OFF else 40, np.random.default_rng(21))
    found = meshes.assert_right(pl.Body(*meshes.soup(first), **kept), pl.Body(*meshes.soup(second), **kept))
    if kind in adversarial.ALWAYS:
        assert len(found) >= len(first)


@pytest.mark.parametrize("away", [0.0, 30.0, 1e3, 1e5], ids=["at its own place", "near", "farther", "far"])
@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_hard_pairs_one_at_a_time(kind, away):
    """Two bodies of one face follow the pairs: float32 sees each at its own scale, or from origins so far away that it rounds a lot."""
    first, second = adversarial.pairs(kind, 300, np.random.default_rng(22))
    origins = ([away, -0.7 * away, 0.3 * away], [-0.9 * away, 0.4 * away, away]) if away else (None, None)
    a, b = (pl.Body(np.eye(3), [[0, 1, 2]], origin=origin) for origin in origins)
    wrong = []
    for p, q in zip(first, second, strict=True):
        a.update(p)
        b.update(q)
        if len(pl.collide(a, b)) != len(meshes.right_pairs(a, b)):
            wrong.append((p.tolist(), q.tolist()))
    assert not wrong, (len(wrong), wrong[0])


@pytest.mark.formulas
@pytest.mark.parametrize(("p", "q", "meet"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_written_answers(p, q, meet):
    a, b = pl.Body(p, [[0, 1, 2]]), pl.Body(q, [[2, 0, 1]])
    assert len(meshes.assert_right(a, b)) == meet


# --- flat ----------------------------------------------------------------------------------------------------------------------

GRID = shapes.sheet(3, 3) if OFF else shapes.sheet(8, 8)
FLAT = {
    "the same": (GRID, GRID),
    "by half a cell": (GRID, moved(GRID, [1 / 16, 1 / 16, 0])),
    "by an irrational bit": (GRID, moved(GRID, [np.sqrt(2) / 10, np.pi / 20, 0])),
    "side by side": (GRID, moved(GRID, [1, 0, 0])),
    "side by side, a gap of an ulp": (GRID, moved(GRID, [1 + UP, 0, 0])),
    "corner to corner": (GRID, moved(GRID, [1, 1, 0])),
    "rotated in the plane": (GRID, tilted(GRID, 0.5, (0, 0, 1))),
    "of two cell sizes": (GRID, moved(GRID, [0.1, 0.2, 0], 0.37)),
    "parallel, above by an ulp": (moved(GRID, [0, 0, 1]), moved(GRID, [0, 0, 1 + UP])),
    "crossing at right angles": (GRID, tilted(moved(GRID, [0, -0.5, 0]), np.pi / 2, (1, 0, 0))),
}


@pytest.mark.formulas
@pytest.mark.parametrize("tilt", [False, True], ids=["aligned", "tilted"])
@pytest.mark.parametrize("name", FLAT)
def test_flat_sheets(name, tilt, kept):
    """Two sheets in one plane, or nearly so; tilted, rounding takes every vertex out of the plane a little."""
    first, second = (tilted(mesh) if tilt else mesh for mesh in FLAT[name])
    found = meshes.assert_right(pl.Body(*first, **kept), pl.Body(*second, **kept))
    assert len(found) > 0 or tilt or "ulp" in name


def test_flat_sheets_along_the_axes_need_little_exact_arithmetic():
    """Coplanar neighbours are ordinary: filters settle what is apart, and what overlaps plainly."""
    grid = shapes.sheet(40, 40)
    a, b = pl.Body(*grid), pl.Body(*moved(grid, [0.0123, 0.0071, 0]))
    stats = pl.collide(a, b).stats
    assert stats.n_p > 10_000
    assert stats.n_exact < stats.n_p / 20


# --- touching --------------------------------------------------------------------------------------------------------------------

CUBES = {
    "face": ((1, 0, 0), True),
    "edge": ((1, 1, 0), True),
    "vertex": ((1, 1, 1), True),
    "part of a face": ((1, 0.5, 0.25), True),
    "within": ((0, 0, 0), True),
    "beyond the face by an ulp": ((1 + UP, 0, 0), False),
    "beyond the vertex by an ulp": ((-1 - UP, -1, -1), False),
}


@pytest.mark.formulas
@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 2.0**1022])
@pytest.mark.parametrize("name", CUBES)
def test_touching_cubes(name, size):
    offset, meet = CUBES[name]
    first, second = meshes.cube(), meshes.cube(offset)
    assert bool(meshes.assert_right(pl.Body(first[0] * size, first[1]), pl.Body(second[0] * size, second[1]))) == meet


@pytest.mark.formulas
@pytest.mark.parametrize("away", [0.0, 30.0, 1e3, 1e5])
def test_boxes_with_one_point_in_common(away):
    """One body in one octant, the other in the opposite one, a corner of each at the same place: float32 must not part them."""
    rng = np.random.default_rng(24)
    for turn in range(10 if OFF else 600):
        if turn % 10 == 0:                                              # near the corner, or far from it
            origins = rng.standard_normal((2, 3)) * rng.choice([1.0, away], (2, 1))
            a, b = (pl.Body(np.eye(3), [[0, 1, 2]], origin=origin if away else None) for origin in origins)
        corner, sides = rng.standard_normal(3), rng.choice([-1.0, 1.0], 3)
        first, second = np.abs(rng.standard_normal((2, 3, 3))) * 10.0 ** rng.integers(-6, 1)
        first[0] = second[2] = 0
        a.update(corner + sides * first)
        b.update(corner - sides * second)
        assert len(pl.collide(a, b)) == 1
        assert len(pl.collide(b, a)) == 1


@pytest.mark.formulas
def test_a_small_cube_inside_a_large_one_touches_nothing():
    assert not meshes.assert_right(pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.25, 0.25, 0.25), 0.5)))
    assert meshes.assert_right(pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.25, 0.25, 0.5), 0.5)))


# --- far, tiny, huge -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("name", meshes.SIZES)
def test_places_and_sizes(name, deforming, kept):
    """The moving pair elsewhere and in another size, rounded as it comes; all pairs right there."""
    offset, size = meshes.SIZES[name]
    frames = list(deforming)[1:3]
    a, b = (pl.Body(frames[0][k], deforming.faces, **kept) for k in range(2))
    for first, second, _ in frames[:1] if OFF else frames:
        a.update(first * size + offset)
        b.update(second * size + offset)
        assert len(meshes.assert_right(a, b)) > (10 if OFF else 50)


@pytest.mark.formulas
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize(("place", "size"), [
    (2.0, TINIEST), (1e10, 1e-300), (-3e300, 1e-20), (1e-290, TINIEST), (-MOST, TINIEST), (MOST, 1.0),
])
def test_small_in_a_plane_far_out(place, size, axis, kept):
    """Far away along one axis, where all corners are at the same place, and tiny along the others."""
    vertices, faces = GRID
    first, second = np.round(vertices * 8) * size, np.round(vertices[:, [1, 0, 2]] * 6 + 1) * size
    first[:, 2] = second[:, 2] = place
    a, b = (pl.Body(np.roll(rows, axis, axis=1), faces[:2] if OFF else faces, **kept) for rows in (first, second))
    assert len(meshes.assert_right(a, b)) > 0


@pytest.mark.formulas
def test_so_far_away_that_all_is_one_point(kept):
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    a, b = (pl.Body(vertices + offset, faces, **kept) for offset in (0, 1e300))
    assert not meshes.assert_right(a, b, np.zeros((0, 2), np.int32))
    a.update(vertices + 1e300)
    n = len(faces)
    meshes.assert_right(a, b, np.stack(np.divmod(np.arange(n * n), n), 1))


SPHERE = shapes.icosphere(0 if OFF else 2)


@pytest.mark.formulas
@pytest.mark.parametrize(("large", "small"), [(1.0, 1e-3), (1e5, 1e-6), (1e12, 1e-12), (1e200, 1e-200), (1e307, 1.0), (1.0, TINIEST)])
def test_a_small_body_at_the_surface_of_a_large_one(large, small, kept):
    """It touches a vertex of the large one from outside with a corner of its own; a little farther out it does not."""
    spike = meshes.soup(np.array([[[0, 0, 0], [1, 0, 2], [0, 1, 2]], [[0, 0, 0], [-1, 0, 2], [0, -1, 3]]]) * small)
    top = np.array([0, 0, large])
    a = pl.Body(SPHERE[0] * large, SPHERE[1], **kept)
    b = pl.Body(spike[0] + top, spike[1], **kept)
    assert top.tolist() in a.vertices.tolist()
    assert len(meshes.assert_right(a, b)) >= 2 * 5
    b.update(spike[0] + [0, 0, np.nextafter(large, np.inf)])
    meshes.assert_right(a, b)
    b.update(spike[0])                                                  # deep inside
    meshes.assert_right(a, b)


@pytest.mark.formulas
def test_magnitudes_within_one_body(kept):
    """Faces of 1e-300 and 1e300 side by side, in both bodies."""
    sizes = 10.0 ** np.array([-320, -300, -100, -10, 0, 3, 40, 200, 300])[:, None, None]
    first, second = sizes * np.eye(3), sizes * [[0, 0, 0], [1, 1, 0.5], [1, 1, 1]]
    found = meshes.assert_right(pl.Body(*meshes.soup(first), **kept), pl.Body(*meshes.soup(second), **kept))
    assert len(found) >= len(sizes)


@pytest.mark.formulas
def test_subnormal_lattice(kept):
    rng = np.random.default_rng(23)
    first, second = rng.integers(-5, 6, (2, 5 if OFF else 40, 3, 3)) * TINIEST
    assert len(meshes.assert_right(pl.Body(*meshes.soup(first), **kept), pl.Body(*meshes.soup(second), **kept))) > 0


@pytest.mark.formulas
def test_from_end_to_end_of_float64(kept):
    """Bodies that span all there is, and a body of the smallest size in their middle."""
    wide = np.array([[-MOST, -MOST, 0], [MOST, -MOST, 0], [0, MOST, 0], [0, 0, MOST], [0, 0, -MOST], [MOST, 0, 0]])
    a, b = pl.Body(wide, [[0, 1, 2], [0, 1, 3]], **kept), pl.Body(wide, [[3, 4, 5], [0, 2, 5]], **kept)
    assert len(meshes.assert_right(a, b)) > 0
    b.update(np.sign(wide) * TINIEST)
    assert len(meshes.assert_right(a, b)) > 0


# --- what trees find hard ----------------------------------------------------------------------------------------------------------

def depth(body):
    return body._bvh_at(body._motion.scale).tree.depth


@pytest.mark.formulas
def test_many_copies_of_one_face(builds):
    """Every copy is found; the tree halves what it cannot tell apart."""
    n = 30 if OFF else 1000
    triangle = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
    probes = np.array([[[1, 1, -1], [1, 1, 1], [2, 2, 1]], [[9, 9, 9], [9, 9, 8], [9, 8, 9]], [[4, 0, 0], [5, 0, 1], [5, 0, 0]]])
    a, b = pl.Body(triangle, np.tile([0, 1, 2], (n, 1)), **builds), pl.Body(*meshes.soup(probes))
    found = meshes.assert_right(a, b, np.stack([np.repeat(np.arange(n), 2), np.tile([0, 2], n)], 1))
    assert len(found) == 2 * n
    assert depth(a) <= n.bit_length() + 1


@pytest.mark.formulas
@pytest.mark.parametrize("name", ["collinear segments", "points on a line", "points in one place", "nested"])
def test_faces_that_boxes_hardly_part(name, builds):
    n = 20 if OFF else 200
    k = np.arange(n, dtype=np.float64)[:, None, None]
    line = np.array([[1.0, 2.0, 3.0]])
    triangles = {
        "collinear segments": (k + np.array([[0.0], [0.5], [1.0]])) * line,
        "points on a line": (k + np.zeros((3, 1))) * line,
        "points in one place": np.ones((n, 3, 3)) + 0 * k,
        "nested": (k + 1) * (np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0]]) + 0.0),
    }[name]
    probes = [[[7, 14, 21], [7, 14, 22], [8, 14, 21]], [[3.25, 6.5, 9.75], [3.75, 7.5, 11.25], [0, 0, 1]],
              [[1, 1, 1], [1, 1, 0], [0, 1, 1]]]
    a, b = pl.Body(*meshes.soup(triangles), **builds), pl.Body(*meshes.soup(probes))
    assert len(meshes.assert_right(a, b)) > 0
    assert depth(a) <= MAX_LEVELS


@pytest.mark.formulas
@pytest.mark.parametrize("base", [2.0, 0.5, 1.1, 16.0])
def test_exponentially_spaced_faces(base, builds):
    """Faces at 1, 2, 4, 8, …: a plane in the middle parts one from all others, yet the tree is no list."""
    n = min(30 if OFF else 1000, int(1000 / abs(np.log2(base))))
    mesh = meshes.in_row(n, lambda k: base**k)
    a, b = pl.Body(*mesh, **builds), pl.Body(mesh[0][::-1][:60], np.arange(60).reshape(-1, 3))
    assert len(meshes.assert_right(a, b)) >= 20 or n < 20
    assert depth(a) <= min(MAX_LEVELS, 2 * n)


def test_deep_trees():
    """The deeper the trees, the more room the search needs; it is there before the search begins, whatever memory held before."""
    mesh = meshes.in_row(2000, lambda k: 1.1 ** (k // 2))
    a, b = (pl.Body(*mesh, arity=8, leaf=1) for _ in range(2))
    right = {(k, k) for k in range(len(a))}

    def ask():
        junk = [np.full(size, -0x123456789ABCDEF) for size in range(500, 4000, 7)]
        del junk
        found.append(pl.collide(a, b).faces.tolist())

    found = []
    for _ in range(3):                                                  # in new threads, which have no room from earlier queries
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join()
    assert len(found) == 3
    assert right <= set(map(tuple, found[0]))
    assert found[0] == found[1] == found[2]


@pytest.mark.formulas
def test_identical_bodies(kept):
    """Two bodies in one place: every face meets at least itself."""
    vertices, faces = shapes.icosphere(0 if OFF else 2)
    found = meshes.assert_right(pl.Body(vertices, faces, **kept), pl.Body(vertices, faces, **kept))
    assert {(k, k) for k in range(len(faces))} <= set(map(tuple, found.faces.tolist()))
