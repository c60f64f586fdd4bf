"""Frustum culling: the faces that no plane leaves out, against rational arithmetic, for all families, policies and motions."""

import threading
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshes
import pliant as pl
import poses
from child import LATE, together
from morphs import BLENDED, EVERY, FORMS, TIGHTER, morph, targets, weights
from pliant import shapes
from pliant.query import frustum
from pliant.render.camera import Camera

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 2)
THREE = targets(BALL, 3)
CUBE = np.array([[s if j == k else 0 for j in range(3)] + [1] for k in range(3) for s in (1, -1)], float)


def sign(plane, point):
    """Of a x + b y + c z + d, in real numbers."""
    value = sum(Fraction(n) * Fraction(x) for n, x in zip(plane, (*point, 1.0), strict=True))
    return (value > 0) - (value < 0)


def reference(vertices, faces, planes):
    """Faces that no plane has strictly on its other side, corner by corner."""
    sides = np.array([[sign(plane, point) for plane in np.asarray(planes, float).tolist()] for point in vertices.tolist()])
    return np.flatnonzero(~(sides[faces] < 0).all(axis=1).any(axis=1)) if len(faces) else np.zeros(0, int)


def assert_visible(body, planes, faces=None):
    """As the reference says of where its vertices are; how many, of how many."""
    found = pl.frustum_cull(body, planes).face                          # first: nothing has been asked of the vertices
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, reference(body.vertices, body.faces if faces is None else faces, planes))
    return len(found), len(body)


def some_planes(rng, vertices, count=5):
    """Around the middle of the vertices: any, along axes, through vertices as float64 rounds them, short and long."""
    middle, size = vertices.mean(axis=0), np.abs(vertices - vertices.mean(axis=0)).max() or 1.0
    planes = []
    for k in range(count):
        n = rng.standard_normal(3) if k % 3 else np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
        through = vertices[rng.integers(len(vertices))] if k % 2 else middle - n / np.linalg.norm(n) * size * rng.uniform(-0.2, 0.9)
        planes.append([*n, -n @ through])
    return np.array(planes) * 10.0 ** rng.integers(-3, 4, (count, 1))


def both(counts):
    """Something was seen, and something was not."""
    return 0 < sum(some for some, _ in counts) < sum(every for _, every in counts)


# --- all bodies --------------------------------------------------------------------------------------------------------------------

def test_free_bodies(kept):
    body, rng, counts = pl.Body(BALL, FACES, **kept), np.random.default_rng(11), []
    for k in range(2 if OFF else 4):
        counts.append(assert_visible(body, some_planes(rng, BALL)))
        counts.append(assert_visible(body, some_planes(rng, BALL, 1)))
        body.update(shapes.bumpy(BALL, k + 1.0) * rng.uniform(0.5, 2, 3) + rng.standard_normal(3) * 3.0**k)
        counts.append(assert_visible(body, some_planes(rng, body.vertices)))
    assert both(counts)


def test_every_family_with_every_policy(volume_type, policy):
    rng, counts = np.random.default_rng(12), []
    body = pl.Body(BALL, FACES, volume=volume_type.name, policy=policy, leaf=2)
    for k in range(1 if OFF else 3):
        body.update(shapes.bumpy(BALL, k + 1.0, 0.4))
        counts += [assert_visible(body, some_planes(rng, BALL, n)) for n in (1, 3, 6)]
    assert both(counts)


def test_rigid_and_placed_bodies(kept):
    """Turned, far away, nearly rotations; vertices are where float64 puts them."""
    rng, counts = np.random.default_rng(13), []
    rigid, placed = pl.Body.rigid(BALL, FACES, **kept), pl.Body(BALL, FACES, **kept)
    moves = [(0.3, -0.2, 0.1), (7, 8, 9), (2.5e5, -2.5e5, 1e3), (1e15, 1, -1e15)]
    for k, move in enumerate(moves[:2] if OFF else moves):
        turn = poses.any_turn(rng) if k % 2 else poses.loosened(poses.any_turn(rng), rng)
        rigid.update(poses.matrix(turn, move))
        placed.update(shapes.bumpy(BALL, k + 1.0), transform=poses.matrix(turn, move))
        for body in (rigid, placed):
            counts += [assert_visible(body, some_planes(rng, body.vertices)) for _ in range(2)]
    assert both(counts)


@pytest.mark.parametrize("policy", [*BLENDED, "lazy", "bottom_up"], ids=str)
@pytest.mark.parametrize("form", EVERY[::3] if OFF else EVERY)
def test_morphing_bodies(form, policy):
    if form in FORMS[1:] and policy is TIGHTER:
        policy = "auto"
    rng, counts = np.random.default_rng(14), []
    for volume in ("aabb",) if OFF or form == "maps" else ("aabb", "slabcutball", "kdop18"):
        body = morph(form, THREE, FACES, policy=policy, volume=volume, leaf=3)
        for active in (1, 3) if OFF else (1, 2, 3):
            transform = poses.matrix(poses.any_turn(rng), rng.standard_normal(3)) if active > 1 else None
            body.update(weights(form, 3, rng, active), transform=transform)
            counts += [assert_visible(body, some_planes(rng, BALL)), assert_visible(body, some_planes(rng, body.vertices))]
    assert both(counts)


def test_only_leaves_that_planes_cross_blend_vertices():
    """A morphing body is culled without its vertices, but for a few."""
    vertices, faces = shapes.icosphere(1 if OFF else 4)
    body = pl.Body.morph([vertices, vertices * 1.5], faces, leaf=1 if OFF else 8)
    body.update([0.5, 0.5])
    found = pl.frustum_cull(body, [[0, 0, 1, -1.2]]).face
    assert 0 < len(found) < len(faces) / 2
    shape = body._bvh_at(body._motion.scale)
    assert 0 < (shape.leaves["stamp"] == shape.frame).sum() < len(shape.leaves) / 2
    np.testing.assert_array_equal(found, reference(body.vertices, faces, [[0, 0, 1, -1.2]]))


def test_welded_bodies():
    """Faces are where the lowest of the vertices at one place is."""
    soup, faces = meshes.soup(BALL[FACES])
    body = pl.Body(soup, faces, weld=True)
    rng = np.random.default_rng(15)
    body.update(soup + rng.standard_normal(soup.shape))
    counts = [assert_visible(body, some_planes(rng, BALL), body._welded_faces) for _ in range(3)]
    assert both(counts)


# --- touching ----------------------------------------------------------------------------------------------------------------------

SMALL = st.integers(-3, 3)


@settings(max_examples=10 if OFF else 200, deadline=None)
@given(st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=3, max_size=12),
       st.lists(st.tuples(SMALL, SMALL, SMALL, st.integers(-6, 6)).filter(lambda p: any(p[:3])), min_size=1, max_size=4),
       st.sampled_from([1.0, 0.1, 2.0**-300, 2.0**600, 3e-310]), st.sampled_from([1.0, 1 / 3, 1e-200, 2.0**300]), st.data())
def test_planes_through_vertices(vertices, planes, size, length, data):
    """Whole numbers, so that planes pass exactly through corners, edges and faces; at sizes at which float64 itself ends."""
    faces = np.array(data.draw(st.lists(st.tuples(*[st.integers(0, len(vertices) - 1)] * 3), min_size=1, max_size=12)))
    planes = np.array(planes, float) * length
    planes[:, 3] *= size
    if np.isfinite(planes).all() and planes[:, :3].any(axis=1).all():
        assert_visible(pl.Body(np.array(vertices) * size, faces, leaf=1), planes)


def test_touching_counts():
    body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    for offset, seen in ((-1.0, True), (-1 - 2.0**-52, False), (-1 + 2.0**-53, True)):
        assert pl.frustum_cull(body, [[1, 0, 0, offset]]).face.tolist() == [0] * seen
    assert pl.frustum_cull(body, [[0, 0, 1, 0], [0, 0, -1, 0]]).face.tolist() == [0]  # it lies in both
    tiny = np.nextafter(0, 1)
    assert pl.frustum_cull(body, [[0, 0, 1, -tiny]]).face.tolist() == []
    assert pl.frustum_cull(body, [[0, 0, 1, tiny]]).face.tolist() == [0]


def test_faces_around_a_corner_of_the_frustum_are_kept():
    """Outside of it, but of no one plane: the question is asked plane by plane."""
    body = pl.Body([[3, -1.5, 0], [-1.5, 3, 0], [3, 3, 0]], [[0, 1, 2]])
    assert pl.frustum_cull(body, CUBE).face.tolist() == [0]


# --- sizes and places ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-30, 1e-9, 1e12, 1e100, 1e200, 1e305])
def test_all_sizes(size, kept):
    rng, counts = np.random.default_rng(16), []
    body = pl.Body(BALL * size, FACES, **kept)
    for _ in range(1 if OFF else 3):
        planes = some_planes(rng, BALL)
        planes[:, 3] *= size
        planes /= np.abs(planes).max(axis=1, keepdims=True)
        if planes[:, :3].any(axis=1).all():
            counts.append(assert_visible(body, planes))
        assert_visible(body, some_planes(rng, BALL))                    # much too large or too small
    assert not counts or both(counts)


@pytest.mark.parametrize("away", [1e3, 1e9, 1e15, 1e300])
def test_far_away(away):
    rng, body = np.random.default_rng(17), pl.Body(BALL + away, FACES)
    counts = [assert_visible(body, some_planes(rng, body.vertices)) for _ in range(4)]
    fixed = pl.Body(BALL, FACES, origin=[away, -away, 0])
    counts += [assert_visible(fixed, some_planes(rng, BALL)) for _ in range(2)]
    assert both(counts)


def test_numbers_at_the_end_of_float64():
    """Nothing overflows that decides anything: points, planes and transforms of the largest and the least numbers."""
    most, least = np.finfo(float).max, 5e-324
    for point in ([most] * 3, [most, -most, most], [least] * 3, [most, least, 0], [0, 0, 0]):
        body = pl.Body([point] * 3, [[0, 1, 2]])
        moved = pl.Body.rigid(np.array([point]) * 1e-10, [[0, 0, 0]])
        moved.update(poses.matrix(poses.quarters()[5], (1e290, -1e290, 1e-290)))
        for n in ([most] * 3, [most, 1, least], [1, most, 1], [least, least, least], [1, 0, least]):
            for d in (most, -most, 1, -least, 0, least):
                assert_visible(body, [[*n, d]])
                assert_visible(moved, [[*n, d]])


@pytest.mark.parametrize("count", [62, 63, 200])
def test_many_planes(count):
    """More than bits of a number."""
    rng = np.random.default_rng(18)
    normals = rng.standard_normal((count, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    body = pl.Body(BALL * [1.2, 1, 1], FACES, leaf=1)
    some, every = assert_visible(body, np.column_stack([normals, np.full(count, 0.8 if OFF else 0.95)]))
    assert some < every
    assert_visible(body, np.column_stack([normals, np.full(count, 1.5)]))


# --- scenes --------------------------------------------------------------------------------------------------------------------------

def test_scenes():
    rng, scene = np.random.default_rng(19), pl.Scene()
    places = rng.uniform(-3, 3, (4, 3))
    ids = [scene.add(pl.Body(BALL + at, FACES, volume=volume)) for at, volume in zip(places, ("aabb", "sphere", "obb") * 3, strict=False)]
    scene.add(pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int)))
    scene.add(pl.Body.rigid(BALL, FACES))
    scene.remove(ids[1])
    scene.add(pl.Body(BALL, FACES))
    for _ in range(2 if OFF else 6):
        planes = some_planes(rng, BALL * 3)
        found = pl.frustum_cull(scene, planes)
        rows = [(number, face) for number in scene for face in reference(scene[number].vertices, scene[number].faces, planes).tolist()]
        assert list(zip(found.body.tolist(), found.face.tolist(), strict=True)) == rows
        assert len(found) == len(rows) and (found.body.dtype, found.face.dtype) == (np.int64, np.int32)
        assert ids[1] not in found.body


def test_empty_scenes_and_bodies():
    empty = pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert pl.frustum_cull(empty, CUBE).face.tolist() == [] and pl.frustum_cull(empty, CUBE).face.dtype == np.int32
    assert pl.frustum_cull(pl.Body(BALL, np.zeros((0, 3), int)), np.tile(CUBE, (20, 1))).face.tolist() == []
    for scene in (pl.Scene(), pl.Scene([empty])):
        found = pl.frustum_cull(scene, CUBE)
        assert (len(found), found.body.tolist(), found.face.tolist(), found.stats) == (0, [], [], pl.Stats())


def test_what_is_counted():
    """A body that the planes do not touch is neither refitted nor opened; one that they touch is opened where they do."""
    vertices, faces = shapes.icosphere(1 if OFF else 4)
    body = pl.Body(vertices, faces, policy="lazy")
    scene = pl.Scene([body])
    assert pl.frustum_cull(scene,
                           CUBE * [1, 1, 1, 2]).stats == pl.Stats() and len(pl.frustum_cull(scene, CUBE * [1, 1, 1, 2])) == len(faces)
    assert pl.frustum_cull(scene, [[1, 0, 0, -5]]).stats == pl.Stats() and not len(pl.frustum_cull(scene, [[1, 0, 0, -5]]))
    first, second = (pl.frustum_cull(scene, [[1, 0, 0, 0.5]]).stats for _ in range(2))
    assert first.n_u > 0 and second.n_u == 0 and first[:2] == second[:2]
    assert 0 < second.n_p < len(faces) and 0 < second.n_v
    assert second.n_p < len(faces) / 2 or OFF
    assert pl.frustum_cull(scene, [[0, 0, 1, 0]]).stats.n_exact > 0     # the equator has vertices at 0


# --- matrices and cameras ------------------------------------------------------------------------------------------------------------

def test_a_matrix_keeps_what_it_shows():
    """−w <= x, y, z <= w for any corner, plane by plane; a matrix whose sums do not round, so that the planes are those of real numbers."""
    matrix = np.array([[0.5, 0, 0, 0.25], [0, 0.75, 0, 0], [0.125, 0, -1.25, -2.5], [0, 0, -1, 1]])
    vertices = np.round(BALL * 3 * 64) / 64
    clip = [[sum(Fraction(m) * Fraction(x) for m, x in zip(row, (*point, 1.0), strict=True)) for row in matrix.tolist()]
            for point in vertices.tolist()]
    out = np.array([[sign * p[k] > p[3] for k in range(3) for sign in (-1, 1)] for p in clip])
    kept = np.flatnonzero(~out[FACES].all(axis=1).any(axis=1))
    assert 0 < len(kept) < len(FACES)
    assert pl.frustum_cull(pl.Body(vertices, FACES), matrix=matrix).face.tolist() == kept.tolist()
    assert_visible(pl.Body(vertices, FACES), frustum.matrix_planes(matrix))


def test_an_infinite_view_has_no_far_plane():
    matrix = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, -2], [0, 0, -1, 0]], float)
    assert len(frustum.matrix_planes(matrix)) == 5
    assert len(pl.frustum_cull(pl.Body(BALL - [0, 0, 1e6], FACES), matrix=matrix)) == len(FACES)
    assert len(pl.frustum_cull(pl.Body(BALL + np.array([0, 0, 5]), FACES), matrix=matrix)) == 0


def test_a_camera_sees_what_its_rays_hit():
    camera = Camera((4.0, 1.0, 0.5), (0.0, 0.3, 0.0), field_of_view=12.0, width=8 if OFF else 40, height=8 if OFF else 30)
    body = pl.Body(BALL, FACES)
    seen = pl.frustum_cull(body, camera.frustum()).face
    hit = np.setdiff1d(pl.cast(body, *camera.rays()).face, [-1])
    assert len(hit) and np.isin(hit, seen).all() and len(seen) < len(FACES)
    assert len(pl.frustum_cull(body, camera.frustum(3.0, 3.5))) < len(seen)
    assert np.array_equal(pl.frustum_cull(body, camera.frustum(0.0, 10.0)).face, seen)
    assert len(pl.frustum_cull(body, camera.frustum(10.0))) == 0
    with pytest.raises(ValueError, match="far: expected a finite number from 2 up, got 1"):
        camera.frustum(2, 1)


# --- what is refused -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("planes", "message"), [
    ([[1, 0, 0, 0], [0, np.nan, 0, 1]], r"frustum: row 1 is \[0.0, nan, 0.0, 1.0\], not finite"),
    ([[1, 0, 0, np.inf]], r"frustum: row 0 is \[1.0, 0.0, 0.0, inf\], not finite"),
    ([[1, 0, 0, 0], [0, 0, 0, 3]], r"frustum: row 1 is \[0.0, 0.0, 0.0, 3.0\], which is no plane"),
    ([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]], r"2 rows are bad"),
    ([1, 0, 0, 0], r"frustum: expected shape \(k, 4\).* got \(4,\)"),
    ([[1, 0, 0]], r"got \(1, 3\)"),
    (np.zeros((0, 4)), r"at least one plane, got \(0, 4\)"),
    ([[2**60, 0, 0, 0]], r"integers beyond 2\*\*53"),
])
def test_bad_planes_are_refused(planes, message):
    for target in (pl.Body(BALL, FACES), pl.Scene(), pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int))):
        with pytest.raises(ValueError, match=message):
            pl.frustum_cull(target, planes)


def test_other_bad_input_is_refused():
    body = pl.Body(BALL, FACES)
    for matrix, message in ((np.eye(3), r"matrix: expected a matrix of shape \(4, 4\)"), (np.full((4, 4), np.nan), "not finite"),
                            (np.zeros((4, 4)), "shows nothing"), (np.full((4, 4), 1e308), "shows nothing")):
        with pytest.raises(ValueError, match=message):
            pl.frustum_cull(body, matrix=matrix)
    for arguments in ({}, {"frustum": CUBE, "matrix": np.eye(4)}):
        with pytest.raises(TypeError, match="expected either frustum"):
            pl.frustum_cull(body, **arguments)
    with pytest.raises(TypeError, match="expected numbers"):
        pl.frustum_cull(body, [[1j, 0, 0, 0]])
    with pytest.raises(TypeError, match="target: expected a Body"):
        pl.frustum_cull(BALL, CUBE)


@pytest.mark.parametrize("given", [CUBE.tolist(), CUBE.astype(np.float32), CUBE.astype(int), np.asfortranarray(CUBE), CUBE[::-1]],
                         ids=["lists", "float32", "int", "Fortran", "backwards"])
def test_layouts(given):
    body = pl.Body(BALL * 1.3, FACES)
    assert pl.frustum_cull(body, given).face.tolist() == reference(BALL * 1.3, FACES, CUBE).tolist()


# --- threads and Ctrl-C ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["lazy", "hybrid", "morph"])
def test_several_threads_ask_while_one_updates(kind):
    """Every answer is that of one of the states, and the last one that of the last."""
    body = pl.Body.morph(THREE, FACES) if kind == "morph" else pl.Body(THREE[0], FACES, policy=kind)
    states, planes = np.eye(3) if kind == "morph" else THREE, some_planes(np.random.default_rng(21), BALL)
    right = [reference(vertices, FACES, planes).tolist() for vertices in THREE]
    assert len({len(answer) for answer in right}) > 1
    done = threading.Event()

    def move():
        for k in range(10 if OFF else 200):
            body.update(states[k % 3])
        done.set()

    def ask():
        while not done.wait(0):
            assert pl.frustum_cull(body, planes).face.tolist() in right

    together(move, ask, ask, ask)
    assert done.wait(LATE)
    body.update(states[2])
    assert pl.frustum_cull(body, planes).face.tolist() == right[2]


def test_it_goes_on_where_it_stopped(monkeypatch):
    """And is interrupted in between: the next query knows nothing of it."""
    body, planes = pl.Body(BALL, FACES, arity=2, leaf=1, policy="lazy"), [[0.2, 0.1, 1, -0.1]]
    monkeypatch.setattr(frustum, "CALL_BUDGET", 1)
    assert_visible(body, planes)
    body.update(BALL * 0.9)
    look, calls = frustum.traverse_planes, []

    def stop(*arguments):
        calls.append(look(*arguments))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return calls[-1]
    monkeypatch.setattr(frustum, "traverse_planes", stop)
    with pytest.raises(KeyboardInterrupt):
        pl.frustum_cull(body, planes)
    monkeypatch.setattr(frustum, "traverse_planes", look)
    assert_visible(body, planes)
