"""`inside`: winding numbers of closed bodies against rational arithmetic, of open ones against sums of solid angles; every motion."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshes
import naive_distances
import naive_winding
import near_pairs
import pliant as pl
from pliant import shapes
from pliant.core import threads as pool

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = pytest.mark.formulas
TURN = np.array([[0.36, 0.48, -0.8, 0.1], [-0.8, 0.6, 0.0, 0.2], [0.48, 0.64, 0.6, -0.3]])
TURNS = {"none": np.eye(4), "some": TURN, "quarter": np.array([[0.0, -1, 0, 2], [1, 0, 0, 0], [0, 0, 1, 1]]),
         "over": np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0]])}


def bumpy(level=1, seed=1):
    vertices, faces = shapes.icosphere(level)
    return vertices * np.random.default_rng(seed).uniform(0.6, 1.4, (len(vertices), 1)), faces


def around(vertices, n, seed=0):
    """Points around a mesh, inside, outside, far away and close to its vertices."""
    rng, size = np.random.default_rng(seed), np.ptp(vertices, axis=0).max()
    near = vertices[rng.integers(len(vertices), size=n // 4)] + rng.normal(size=(n // 4, 3)) * 1e-3 * size
    far = rng.normal(size=(n // 8, 3)) * 50 * size
    return np.vstack([vertices.mean(axis=0) + rng.uniform(-0.7, 0.7, (n, 3)) * size, near, far])


def assert_exact(found, vertices, faces, points):
    """The winding numbers of the rational reference."""
    right = [naive_winding.winding_number(vertices, faces, point) for point in points]
    assert [None if on else w for on, w in zip(found.on_surface.tolist(), found.winding_number.tolist(), strict=True)] == right
    assert np.isnan(found.winding_number).tolist() == found.on_surface.tolist()
    assert found.inside.tolist() == [w is None or w > 0 for w in right]
    assert not found.error.any()
    return right


def assert_fractions(found, vertices, faces, points):
    """Winding numbers within the bounds of their errors."""
    right = naive_winding.solid_angles(vertices, faces, points)
    off = ~found.on_surface
    assert (np.abs(found.winding_number - right)[off] <= found.error[off]).all()
    assert found.inside[off].tolist() == (found.winding_number > 0.5)[off].tolist() and found.inside[~off].all()
    return right


# --- closed ------------------------------------------------------------------------------------------------------------------

def test_closed_bodies(options):
    vertices, faces = bumpy()
    points = np.vstack([around(vertices, 8 if OFF else 60), vertices.mean(axis=0)])
    right = assert_exact(pl.inside(pl.Body(vertices, faces, **options), points), vertices, faces, points)
    assert {0, 1} <= set(right)


@pytest.mark.parametrize("turn", TURNS)
def test_transforms(turn):
    """Positions in the world are rounded; what is exact is the winding number of these."""
    for vertices, faces in (bumpy(), meshes.cube((-0.5, -0.5, -0.5))):
        body = pl.Body.rigid(vertices, faces)
        body.update(TURNS[turn])
        world = body.vertices
        points = np.vstack([around(world, 8 if OFF else 60), world[:8], world[faces[:8]].mean(axis=1),
                            world[faces[:4, 0]] * 0.5 + world[faces[:4, 1]] * 0.5])
        assert_exact(pl.inside(body, points), world, faces, points)


def test_overlaps_count_twice_and_inward_faces_below():
    vertices, faces = meshes.cube()
    twice = pl.Body(np.vstack([vertices, vertices + 0.25]), np.vstack([faces, faces + 8]))
    assert pl.inside(twice, [[0.5, 0.5, 0.5], [0.1, 0.1, 0.1], [-1, 0, 0]]).winding_number.tolist() == [2, 1, 0]
    found = pl.inside(pl.Body(vertices, faces[:, ::-1]), [[0.5, 0.5, 0.5]])
    assert found.winding_number.tolist() == [-1] and not found.inside[0]


def test_a_cavity_is_outside():
    vertices, faces = meshes.cube()
    hollow = pl.Body(np.vstack([vertices, 0.25 + 0.5 * vertices]), np.vstack([faces, faces[:, ::-1] + 8]))
    assert pl.inside(hollow, [[0.5, 0.5, 0.5], [0.1, 0.5, 0.5], [2, 2, 2]]).inside.tolist() == [False, True, False]


def test_edges_of_four_faces():
    """Winding numbers are integers without a border, also where `closest` refuses a sign."""
    vertices, faces = meshes.cube()
    other = np.where(faces == 0, 8, faces) + 8
    a, b = pl.Body(vertices, faces), np.vstack([vertices, vertices + [1, 1, 0]])
    both = pl.Body(b, np.vstack([faces, faces + 8]), weld=True)
    assert len(other) == 12 and len(pl.inside(a, [[0.5] * 3])) == 1
    assert_exact(pl.inside(both, around(b, 20)), b, np.vstack([faces, faces + 8]), around(b, 20))


@settings(max_examples=10 if OFF else 150, deadline=None)
@given(st.data())
def test_lattices(data):
    """Tetrahedra with corners on a lattice, and points on it: on corners, edges and faces, in line with them, degenerate faces."""
    size = st.tuples(*[st.integers(0, 4)] * 3)
    corners = np.array(data.draw(st.lists(size, min_size=4, max_size=8)), np.float64)
    picks = data.draw(st.lists(st.lists(st.integers(0, len(corners) - 1), min_size=4, max_size=4), min_size=1, max_size=3))
    faces = np.array([[p[i] for i in face] for p in picks for face in ([0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3])], np.int32)
    points = np.array(data.draw(st.lists(st.tuples(*[st.integers(-1, 9)] * 3), min_size=1, max_size=12)), np.float64) / 2
    assert_exact(pl.inside(pl.Body(corners, faces, leaf=2), points), corners, faces, points)


@pytest.mark.parametrize("name", meshes.SIZES)
def test_sizes(name):
    offset, size = meshes.SIZES[name]
    for unit, faces in (bumpy(0), meshes.cube()):
        vertices = offset + size * unit
        points = np.vstack([(vertices / len(vertices)).sum(axis=0) + size * np.random.default_rng(2).uniform(-1, 1, (6, 3)), vertices[:3]])
        points = points[np.isfinite(points).all(axis=1)]
        assert_exact(pl.inside(pl.Body(vertices, faces), points), vertices, faces, points)


# --- open --------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("share", [0.3, 0.95])
@pytest.mark.parametrize("level", [1] if OFF else [1, 3])
def test_open_bodies(level, share):
    """Few faces left: a long border. Nearly all: a cap."""
    vertices, faces = bumpy(level)
    faces = faces[np.random.default_rng(4).random(len(faces)) < share]
    body, points = pl.Body(vertices, faces), np.vstack([around(vertices, 8 if OFF else 400), vertices.mean(axis=0)])
    right = assert_fractions(pl.inside(body, points), vertices, faces, points)
    assert np.ptp(right) > 0.1
    body.update(vertices * [1, 2, 0.5])
    assert_fractions(pl.inside(body, points), vertices * [1, 2, 0.5], faces, points)


def test_soups():
    corners = np.random.default_rng(5).normal(size=(20 if OFF else 500, 3, 3))
    vertices, faces = meshes.soup(corners)
    points = around(vertices, 8 if OFF else 200)
    assert_fractions(pl.inside(pl.Body(vertices, faces), points), vertices, faces, points)


def test_both_ways_agree(monkeypatch):
    """With the cap, and by the faces alone; what the cap gives is the better one."""
    from pliant.query.proximity import inside as module
    vertices, faces = bumpy(1 if OFF else 3)
    faces = faces[vertices[faces].mean(axis=1)[:, 2] < 0.6]
    points = around(vertices, 8 if OFF else 300)
    capped = pl.inside(pl.Body(vertices, faces), points)
    monkeypatch.setattr(module, "MAX_BORDER", -1.0)
    plain = pl.inside(pl.Body(vertices, faces), points)
    assert (np.abs(capped.winding_number - plain.winding_number) <= capped.error + plain.error).all()
    assert capped.error.mean() < plain.error.mean()


def test_points_on_the_cap():
    """The cube without a side: the square that closes it is no surface of its own."""
    vertices, faces = meshes.cube()
    top = vertices[faces].min(axis=1)[:, 2] == 1
    body, points = pl.Body(vertices, faces[~top]), np.array([[0.25, 0.5, 1], [0.5, 0.5, 1], [0.5, 0.5, 0.5], [0.5, 0.5, 0]])
    found = pl.inside(body, points)
    assert found.on_surface.tolist() == [False, False, False, True]
    assert_fractions(found, vertices, faces[~top], points)


def test_one_face():
    body = pl.Body([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
    found = pl.inside(body, [[1, 1, 1e-13], [1, 1, -1e-13], [1, 1, 0], [0, 0, 0], [2, 0, 0], [5, 0, 0], [1e30, 0, 0]])
    assert np.abs(found.winding_number[:2] - [-0.5, 0.5]).max() <= found.error.max()
    assert found.on_surface.tolist() == [False, False, True, True, True, False, False]
    assert found.winding_number[-1] == 0


# --- motions -----------------------------------------------------------------------------------------------------------------

def bodies_of_all_motions(faces_of):
    """(body, update of frame k) for each motion."""
    vertices, faces = bumpy(1)
    faces, wide, flat = faces_of(faces), vertices * [2, 1, 1], vertices * [1, 1, 0.4]
    weights = np.column_stack([0.5 + 0.4 * np.tanh(vertices[:, 0]), 0.5 - 0.4 * np.tanh(vertices[:, 0])])
    maps = [np.stack([np.eye(3, 4), np.eye(3, 4) * (1 + 0.3 * k)]) for k in range(3)]
    frames = [vertices, wide, flat]
    return {
        "free": (pl.Body(vertices, faces), lambda body, k: body.update(frames[k])),
        "rigid": (pl.Body.rigid(vertices, faces), lambda body, k: body.update(list(TURNS.values())[k])),
        "morph": (pl.Body.morph(frames, faces), lambda body, k: body.update(np.eye(3)[k])),
        "blended": (pl.Body.blended(vertices, faces, weights), lambda body, k: body.update(maps[k])),
    }


@pytest.mark.parametrize("motion", ["free", "rigid", "morph", "blended"])
@pytest.mark.parametrize("kind", ["closed", "capped", "soup"])
def test_motions(motion, kind):
    keep = {"closed": slice(None), "capped": slice(2, None), "soup": slice(None, None, 4)}[kind]
    body, update = bodies_of_all_motions(lambda faces: faces[keep])[motion]
    for k in (1, 2, 0):
        update(body, k)
        points = around(body.vertices, 8 if OFF else 60, k)
        found = pl.inside(body, points)
        (assert_exact if kind == "closed" else assert_fractions)(found, body.vertices, body.faces, points)


@pytest.mark.parametrize("kind", ["closed", "capped", "soup"])
def test_vertices_that_move_alone(kind):
    vertices, faces = bumpy(2)
    faces = faces[{"closed": slice(None), "capped": slice(2, None), "soup": slice(None, None, 4)}[kind]]
    body, points = pl.Body(vertices, faces), around(vertices, 8 if OFF else 60)
    pl.inside(body, points)
    body.update([[0.0, 0, 3], [0, 0, -3]], changed=[5, 6])
    (assert_exact if kind == "closed" else assert_fractions)(pl.inside(body, points), body.vertices, faces, points)


def test_copies_are_independent():
    vertices, faces = bumpy(1)
    one = pl.Body.rigid(vertices, faces[2:])
    pl.inside(one, [[0, 0, 0]])
    other = one.copy()
    other.update(np.array([[1.0, 0, 0, 9], [0, 1, 0, 0], [0, 0, 1, 0]]))
    assert pl.inside(other, [[0, 0, 0], [9, 0, 0]]).inside.tolist() == [False, True]
    assert pl.inside(one, [[0, 0, 0], [9, 0, 0]]).inside.tolist() == [True, False]


# --- many points, no points, wrong points ----------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="many points")
@pytest.mark.parametrize("keep", [slice(None), slice(9, None), slice(None, None, 3)])
def test_many_points_in_several_threads(keep):
    """The order of points, groups that share an answer and threads change nothing."""
    vertices, faces = bumpy(3)
    faces = faces[keep]
    body, points = pl.Body(vertices, faces), np.random.default_rng(8).uniform(-1.5, 1.5, (30_000, 3))
    with pool.use_threads(3):
        found = pl.inside(body, points)
    right = naive_winding.solid_angles(vertices, faces, points[::50])
    assert np.abs(found.winding_number[::50] - right).max() <= found.error.max() + 1e-9
    with pool.use_threads(1):
        assert pl.inside(body, points).winding_number.tolist() == found.winding_number.tolist()
        few = [pl.inside(body, points[k:k + 1]) for k in range(0, 30_000, 1000)]
    assert [one.inside[0] for one in few] == found.inside[::1000].tolist()


@pytest.mark.skipif(OFF, reason="many points")
def test_signs_are_those_of_closest():
    vertices, faces = bumpy(3)
    points = around(vertices, 3000)
    body = pl.Body(vertices, faces)
    signed = pl.closest(body, points, signed=True)
    assert (signed.distance < 0).tolist() == pl.inside(body, points).inside.tolist()


def test_no_faces_and_no_points():
    empty = pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert pl.inside(empty, [[0, 0, 0]]).winding_number.tolist() == [0]
    vertices, faces = meshes.cube()
    for body in (pl.Body(vertices, faces), pl.Body(vertices, faces[2:]), empty):
        assert len(pl.inside(body, np.zeros((0, 3)))) == 0
    assert pl.inside(pl.Body(vertices, faces), [0.5, 0.5, 0.5]).inside.tolist() == [True]
    assert repr(pl.inside(pl.Body(vertices, faces), [0.5, 0.5, 0.5])) == "Inside(1 points, 1 inside)"


def test_wrong_points():
    body = pl.Body(*meshes.cube())
    with pytest.raises(pl.MeshError, match=r"points: row 1 is \[0.0, nan, 0.0\], not finite"):
        pl.inside(body, [[0, 0, 0], [0, np.nan, 0]])
    with pytest.raises(pl.MeshError, match="points"):
        pl.inside(body, [[0, 0]])
    with pytest.raises(pl.ArgumentTypeError, match="body: expected a Body, got a Scene"):
        pl.inside(pl.Scene([body]), [[0, 0, 0]])


def test_distance_zero_is_on_the_surface():
    vertices, faces = near_pairs.frames()[0][0], near_pairs.scene().faces
    points = np.vstack([vertices[:10], vertices[faces[:10]].mean(axis=1), around(vertices, 8)])
    found = pl.inside(pl.Body(vertices, faces), points)
    right = [min(naive_distances.point_triangle(point, vertices[face]) for face in faces) == 0 for point in points]
    assert found.on_surface.tolist() == right
