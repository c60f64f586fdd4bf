"""`update(rows, changed=…)` is a full update that costs less: the same answers after any mixture of the two, whatever the policy."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from volume_checks import assert_true, lanes, shape_of, true_lanes

import meshes
import naive
import pliant as pl
import poses
from pliant import shapes
from pliant.errors import MeshError
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import LEAF_WIDTH, WIDTH_OF_ARITY
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
DIRECTIONS, FACES = shapes.icosphere(1 if OFF else 3)
N = len(DIRECTIONS)
SPHERE = shapes.bumpy(DIRECTIONS, 0.3)
OTHER = shapes.bumpy(DIRECTIONS, 1.7)[:, [1, 2, 0]] + [0.9, 0.2, 0.1]
KINDS = ("one", "clustered", "repeated") if OFF else ("one", "clustered", "scattered", "many", "all", "none", "repeated")


def chosen(kind, rng, vertices=SPHERE):
    """Some vertices (k,), near each other or not."""
    n = len(vertices)
    if kind == "clustered":
        return np.argsort(np.linalg.norm(vertices - vertices[rng.integers(n)], axis=1))[:max(n // 50, 2)]
    if kind == "repeated":
        return rng.integers(0, n, 6)[rng.integers(0, 6, 15)]
    return rng.choice(n, {"one": 1, "scattered": max(n // 40, 3), "many": n // 2, "all": n, "none": 0}[kind], replace=False)


def assert_as_new(body, now, other, policy="bottom_up"):
    """The body is where it should be, encloses it, and meets another as a body would that was made there; the pairs."""
    np.testing.assert_array_equal(body.vertices, now)
    found = pl.collide(body, other)
    expected = pl.collide(pl.Body(now, body.faces, policy=policy), other)
    np.testing.assert_array_equal(found.faces, expected.faces)
    assert_true(body)
    return found


# --- the same answers ------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("kind", KINDS)
def test_a_local_update_equals_a_full_one(policy, kind):
    """On unlike trees, over several frames; where a vertex is named more than once, the last row counts."""
    rng, other = np.random.default_rng(61), pl.Body(OTHER, FACES)
    for arity, leaf in [(2, 2)] if OFF else [(8, 8), (2, 1), (4, 3)]:
        body, now = pl.Body(SPHERE, FACES, policy=policy, arity=arity, leaf=leaf), SPHERE.copy()
        for _ in range(1 if OFF else 5):
            some = chosen(kind, rng)
            rows = now[some] + rng.standard_normal((len(some), 3)) * 0.2
            body.update(rows, changed=some)
            now[some] = rows
            assert len(assert_as_new(body, now, other)) > 0


@pytest.mark.formulas
def test_several_updates_between_questions(policy):
    """Local and full ones, borrowed and copied, in any order; some questions reach much and some little."""
    rng, body, now = np.random.default_rng(62), pl.Body(SPHERE, FACES, policy=policy, leaf=2), SPHERE.copy()
    others = [pl.Body(OTHER, FACES), pl.Body(OTHER + np.array([0.8, 0, 0]), FACES), pl.Body(*meshes.cube((-0.2, -0.2, 0.7), 0.4))]
    for k in range(4 if OFF else 60):
        for _ in range(rng.integers(1, 4)):
            if rng.random() < 0.2:
                now = shapes.bumpy(DIRECTIONS, 0.3 + k / 10)
                body.update(now, copy=bool(rng.random() < 0.5))
                now = now.copy()
            else:
                some = chosen(rng.choice(KINDS), rng, now)
                rows = now[some] + rng.standard_normal((len(some), 3)) * 0.05
                body.update(rows, changed=some)
                now[some] = rows
        assert_as_new(body, now, others[k % 3])


@pytest.mark.formulas
def test_only_what_was_true_is_made_true_again():
    """A lazy body that was asked little has little to do after a local update, and what is stale stays so until it is asked for."""
    body, corner = pl.Body(SPHERE, FACES, policy="lazy", arity=2, leaf=2), pl.Body(*meshes.cube((0.9, 0.9, -0.1), 0.2))
    pl.collide(body, corner)
    before, now, some = true_lanes(body), SPHERE.copy(), np.argsort(SPHERE[:, 0])[:3]
    assert 0 < before < lanes(body)
    now[some] *= 1.1                                                    # on the other side
    body.update(now[some], changed=some)
    assert pl.collide(body, corner).stats.n_u < before
    assert true_lanes(body) == before
    assert_true(body)
    assert_as_new(body, now, pl.Body(OTHER, FACES))


def test_indices_of_any_kind():
    """Every integer dtype and layout; they are read when they are given, and may be written to afterwards."""
    rows, other = SPHERE[[3, 5, 7]] * 2.5, pl.Body(OTHER * 2, FACES)
    now = SPHERE.copy()
    now[[3, 5, 7]] = rows
    readonly = np.array([3, 5, 7])
    readonly.flags.writeable = False
    for some in ([3, 5, 7], (3, 5, 7), np.array([3, 5, 7], np.uint8), np.array([3, 5, 7], ">i2"), np.arange(9)[3::2], readonly):
        body = pl.Body(SPHERE, FACES)
        pl.collide(body, other)
        body.update(rows.tolist() if isinstance(some, list) else rows, changed=some)
        assert_as_new(body, now, other)


@pytest.mark.formulas
def test_an_array_of_indices_may_be_used_again(policy):
    """The next vertices are written over the last ones before anybody asks."""
    body, other, now = pl.Body(SPHERE, FACES, policy=policy, arity=2, leaf=2), pl.Body(OTHER, FACES), SPHERE.copy()
    pl.collide(body, other)
    order, some, rows = np.argsort(-SPHERE[:, 0])[:6], np.zeros(2, np.int64), np.zeros((2, 3))
    for k in range(0, 6, 2):
        some[:], rows[:] = order[k:k + 2], SPHERE[order[k:k + 2]] + [0.7, 0, 0]
        body.update(rows, changed=some)
        now[some] = rows
    some[:], rows[:] = 0, 0
    assert_as_new(body, now, other)
    assert_as_new(body, now, pl.Body([[1.5, -3, -3], [1.5, 3, -3], [1.5, 0, 3]], [[0, 1, 2]]))


def test_seams_and_vertices_without_faces(policy):
    """Of welded vertices the lowest counts, whichever is told to move; what no face uses moves nothing."""
    faces = np.vstack([FACES[::2], FACES[1::2] + N])
    rows, other = np.vstack([SPHERE, SPHERE, [[9, 9, 9]]]), pl.Body(OTHER, FACES)
    body, whole = (pl.Body(rows, faces, policy=policy, weld=True) for _ in range(2))
    now = rows.copy()
    pl.collide(body, other)
    for some in (np.array([1, N + 1]), np.array([N + 2]), np.array([2 * N]), np.arange(5), np.array([2 * N, 4])):
        now[some] += [0.1, 0.2, 0.1]
        body.update(now[some], changed=some)
        whole.update(now)
        for ask in (lambda each: pl.collide(each, other), pl.self_collide):
            np.testing.assert_array_equal(ask(body).faces, ask(whole).faces)
        assert_true(body)


@pytest.mark.formulas
def test_bodies_without_anything():
    """No vertices, or no faces: nothing to do, and nothing breaks."""
    empty = pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int))
    box = empty.bounds.tolist()
    empty.update(np.zeros((0, 3)), changed=[])
    assert empty.bounds.tolist() == box
    points = pl.Body(SPHERE, np.zeros((0, 3), int))
    points.update([[7, 8, 9]], changed=[1])
    assert points.vertices[1].tolist() == [7, 8, 9]
    assert not pl.collide(points, pl.Body(OTHER, FACES))


# --- other questions -------------------------------------------------------------------------------------------------------------

def test_self_collision_and_contacts(policy):
    """A dent is pushed through the other side, vertex by vertex; everything that can be asked is to the bit what a new body says."""
    body, now = pl.Body(SPHERE, FACES, policy=policy), SPHERE.copy()
    other, met = pl.Body(*meshes.cube((-0.3, -0.3, 0.6), 0.6)), []
    for k, some in enumerate(np.array_split(np.argsort(-SPHERE[:, 2])[:max(N // 12, 4)], 2 if OFF else 4)):
        now[some] -= [0, 0, 2.4]
        body.update(now[some], changed=some)
        if k % 2:
            pl.collide(body, other)
        made = pl.Body(now, FACES)
        poses.assert_same(pl.self_collide(body, contacts=True), pl.self_collide(made, contacts=True))
        poses.assert_same(pl.collide(body, other, contacts=True), pl.collide(made, other, contacts=True))
        met.append(len(pl.self_collide(body)))
        assert_true(body)
    assert max(met) > 0


@pytest.mark.formulas
def test_a_transform_must_suit_all_vertices():
    """Those that stay as well as those that are given; but not where those were."""
    far, move = SPHERE * 1e308, poses.matrix(move=(1.5e308, 0, 0))
    body = pl.Body(far, FACES)
    with pytest.raises(MeshError, match="puts vertex"):
        body.update(SPHERE[:1], changed=[0], transform=move)
    np.testing.assert_array_equal(body.vertices, far)
    body.update(SPHERE, changed=np.arange(N), transform=move)
    np.testing.assert_array_equal(body.vertices, SPHERE + np.array([1.5e308, 0, 0]))


def test_a_transform_goes_with_its_update(policy):
    """A local update without a transform leaves the body where its vertices are, one with a transform is placed by that."""
    body, now, other = pl.Body(SPHERE, FACES, policy=policy), SPHERE.copy(), pl.Body(OTHER, FACES)
    turn, rng = poses.matrix(meshes.rotation([1, 2, 3], 0.7), (0.2, -0.1, 0.3)), np.random.default_rng(63)
    for transform in (turn, None, turn @ turn, turn, np.eye(4), None):
        some = chosen("clustered", rng)
        now[some] *= 1.1
        body.update(now[some], changed=some, transform=transform)
        assert np.array_equal(body.transform, np.eye(4) if transform is None else transform)
        placed = pl.Body(poses.moved(body.transform, now) if transform is not None else now, FACES)
        np.testing.assert_array_equal(body.vertices, placed.vertices)
        for ask in (lambda each: pl.collide(each, other), pl.self_collide):
            np.testing.assert_array_equal(ask(body).faces, ask(placed).faces)
        if transform is turn:
            body.update(transform=turn @ turn)                          # alone it keeps the vertices
            np.testing.assert_array_equal(body.vertices, poses.moved(turn @ turn, now))
    assert_true(body)


def test_a_scene_sees_local_updates(policy):
    """Boxes that grow into each other, and answers that are out of date."""
    tip = int(np.argmax(SPHERE[:, 0]))
    bodies = [pl.Body(SPHERE, FACES, policy=policy), pl.Body(SPHERE + np.array([4, 0, 0]), FACES, policy=policy)]
    scene = pl.Scene(bodies)
    for x in (0, 3.9, 3.95, 0, 2.0, 4.1):
        bodies[0].update([SPHERE[tip] + [x, 0, 0]], changed=[tip])
        found, right = scene.collide(), meshes.right_pairs(*bodies)
        assert found.faces.tolist() == right.tolist()
        assert (len(right) > 0) == (x > 3)
        again = scene.collide()
        assert again.faces.tolist() == right.tolist()
        assert again.stats == pl.Stats()


# --- how many volumes ------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("kind", ["one", "clustered", "scattered", "many", "all", "none"])
def test_never_more_than_a_full_pass(kind):
    """A cluster of a hundredth sets a small part, everything sets everything, and nothing sets nothing."""
    body, rng = pl.Body(SPHERE, FACES, policy="bottom_up", arity=2, leaf=2), np.random.default_rng(64)
    other, now = pl.Body(OTHER, FACES), SPHERE.copy()
    assert pl.collide(body, other).stats.n_u >= lanes(body)
    for _ in range(1 if OFF else 3):
        some = chosen(kind, rng)
        now[some] += 0.01
        body.update(now[some], changed=some)
        n_u = pl.collide(body, other).stats.n_u
        assert n_u <= lanes(body)
        assert pl.collide(body, other).stats.n_u == 0
        if kind == "none":
            assert n_u == 0
        elif kind in ("many", "all"):
            assert n_u == lanes(body)
        elif not OFF and kind != "scattered":
            assert 0 < n_u < lanes(body) / 8
    assert_true(body)


@pytest.mark.formulas
def test_what_comes_out_as_before_stops_there():
    """A vertex that stays, or moves inside the volumes around it, sets the lanes of its own leaves and no more."""
    vertices, faces = shapes.sheet(6, 6) if OFF else shapes.sheet(40, 40)
    vertices += [0, 0, 0.25] * (np.arange(len(vertices)) % 2)[:, None]
    body, other = pl.Body(vertices, faces, policy="bottom_up", arity=2, leaf=4), pl.Body(*meshes.cube((0.2, 0.2, 0), 0.3))
    pl.collide(body, other)
    middle = len(vertices) // 2
    leaves = len(np.unique(np.flatnonzero((shape_of(body).tree.corners == middle).any((1, 2)))))
    body.update([vertices[middle]], changed=[middle])
    assert pl.collide(body, other).stats.n_u == leaves


# --- refused ---------------------------------------------------------------------------------------------------------------------

ROW = [[1.0, 2.0, 3.0]]
REFUSED = [
    ("nan", [[1, np.nan, 3]], [0], MeshError, "vertices: row 0 .* not finite"),
    ("infinite", [[1, 2, 3], [np.inf, 2, 3]], [0, 1], MeshError, "vertices: row 1 .* not finite"),
    ("nan that is written over", [[np.nan, 2, 3], [1, 2, 3]], [0, 0], MeshError, "not finite"),
    ("negative", ROW, [-1], MeshError, f"changed: row 0 is -1, but indices go from 0 to {N - 1}"),
    ("beyond", [*ROW, *ROW], [0, N], MeshError, f"changed: row 1 is {N}"),
    ("huge", ROW, np.array([2**64 - 1], np.uint64), MeshError, "changed: row 0"),
    ("real", ROW, [0.0], TypeError, "changed: expected integer indices"),
    ("a short mask", ROW, np.zeros(1, bool), MeshError, "changed: expected a mask of shape"),
    ("words", ROW, ["a"], TypeError, "changed"),
    ("a number", ROW, 3, MeshError, r"changed: expected shape \(k,\)"),
    ("a table", ROW, [[0]], MeshError, r"changed: expected shape \(k,\)"),
    ("too few rows", ROW, [0, 1], MeshError, "expected 2 rows, one for each of changed, got 1"),
    ("too many rows", [*ROW, *ROW], [0], MeshError, "expected 1 rows, one for each of changed, got 2"),
    ("all rows", SPHERE, [0], MeshError, "expected 1 rows"),
    ("flat rows", [1, 2, 3], [0], MeshError, r"vertices: expected shape \(n, 3\)"),
    ("no rows", None, [0], TypeError, "nothing given"),
]


@pytest.fixture(scope="module")
def placed():
    """A body with a transform, and one that it meets."""
    body, other = pl.Body(SPHERE, FACES), pl.Body(OTHER, FACES)
    body.update(SPHERE, transform=poses.matrix(move=(0.1, 0, 0)))
    return body, other


@pytest.mark.formulas
@pytest.mark.parametrize(("rows", "some", "error", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_refused_changes_nothing(placed, rows, some, error, message):
    body, other = placed
    before = body.vertices, pl.collide(body, other).faces
    with pytest.raises(error, match=message):
        body.update(rows, changed=some)
    assert body.vertices.tobytes() == before[0].tobytes()
    assert body.transform[0, 3] == 0.1
    np.testing.assert_array_equal(pl.collide(body, other).faces, before[1])
    assert pl.collide(body, other).stats.n_u == 0
    with pytest.raises(TypeError, match="changed is given without vertices"):
        body.update(transform=np.eye(4), changed=[0])
    assert body.transform[0, 3] == 0.1


# --- any order -------------------------------------------------------------------------------------------------------------------

numbers = st.one_of(st.integers(-3, 3).map(float), st.builds(lambda m, e: m * 2.0**e, st.integers(-3, 3), st.sampled_from(
    [-1060, -300, -60, -20, 20, 40, 300, 1000])))
options = st.fixed_dictionaries({"policy": st.sampled_from(sorted(POLICIES)), "arity": st.sampled_from(sorted(WIDTH_OF_ARITY)),
                                 "leaf": st.integers(1, LEAF_WIDTH)})
STEPS = ("local", "local", "full", "borrow", "refuse", "ask", "ask itself")


@pytest.mark.formulas
@often(120, 50)
@given(st.data(), options, st.integers(4, 24), st.integers(1, 24))
def test_any_sequence_of_updates_and_questions(data, kept, n, n_faces):
    """Local updates of any size among all others: the body answers as the reference does about its vertices."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    now, faces = rng.integers(-3, 4, (n, 3)).astype(np.float64), rng.integers(0, n, (n_faces, 3))
    body, other = pl.Body(now, faces, **kept), pl.Body(*meshes.cube((-1, -1, -1), 2.0))
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=10)):
        some = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=5)), int)
        rows = np.array(data.draw(st.lists(st.tuples(numbers, numbers, numbers), min_size=len(some), max_size=len(some)))).reshape(-1, 3)
        if step == "local":
            body.update(rows, changed=some)
            now = now.copy()
            now[some] = rows
        elif step in ("full", "borrow"):
            now = now + rng.integers(-1, 2, now.shape)
            body.update(now, copy=step == "full")
        elif step == "refuse" and len(some):
            rows[-1, 0] = np.nan
            with pytest.raises(MeshError, match="finite"):
                body.update(rows, changed=some)
        elif step == "ask":
            assert pl.collide(body, other).faces.tolist() == naive.collide(now, faces, other.vertices, other.faces).tolist()
        elif step == "ask itself":
            meshes.assert_right_self(body, naive.self_collide(now, faces))
        assert np.array_equal(body.vertices, now)
        low, high = body.bounds
        assert (low <= now).all() and (now <= high).all()
    meshes.assert_right(body, other)
