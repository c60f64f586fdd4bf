"""A transform says where a body is: positions to the bit, boxes that hold them, matrices that are refused, files that keep them."""

import json
from fractions import Fraction

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from integer_spheres import answer
from pliant.errors import FileError, MeshError
from pliant.motion.rigid import IDENTITY, relative_transform, transform_corners, world_bounds

pytestmark = [pytest.mark.formulas]
OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
NAN, INF = float("nan"), float("inf")
CUBE, FACES = meshes.cube((-2, -2, -2), 4.0)
OTHER, MOVED = CUBE + np.array([3.0, 1.0, -1.0]), CUBE[:, [1, 2, 0]] * [1, 0.5, 2] + [0.25, -0.5, 1.0]
PLACE = poses.matrix(meshes.rotation([1, 2, 3], 1.0), (3.0, -2.0, 0.1))
SIZES = (1.0, 1e-9, 1e9, 1e-150, 1e150, 1e300, 2.0**-1060, 5e-324)


@pytest.fixture
def rng():
    return np.random.default_rng(61)


@pytest.fixture(params=[pl.Body, pl.Body.rigid], ids=["free", "rigid"])
def make(request):
    return request.param


def matrices(rng, far=1.0):
    """Turned at random, by quarters, hardly, not at all, in float32, loosely; near and far."""
    turns = [poses.any_turn(rng), poses.any_turn(rng), *poses.quarters()[::7], meshes.rotation([1, 2, 3], 1e-9), np.eye(3),
             meshes.rotation([0, 1, 1], np.pi), poses.any_turn(rng).astype(np.float32), poses.loosened(poses.any_turn(rng), rng)]
    return [poses.matrix(turn, rng.standard_normal(3) * far * scale) for turn in turns for scale in (0.0, 1.0, 1e6)]


# --- positions -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("size", SIZES, ids=str)
def test_positions_are_rounded_in_the_promised_order(make, rng, size):
    """By the formula on rows of NumPy, and by Python's floats one by one."""
    for at in matrices(rng, size)[:: 6 if OFF else 1]:
        vertices = rng.standard_normal((5, 3)) * size
        body = make(vertices, [[0, 1, 2], [2, 3, 4]])
        body.update(transform=at)
        np.testing.assert_array_equal(body.vertices, poses.moved(at, vertices))
        m, (x, y, z) = at.tolist(), vertices[3].tolist()
        assert body.vertices[3].tolist() == [m[k][0] * x + (m[k][1] * y + (m[k][2] * z + m[k][3])) for k in range(3)]
        corners = np.empty((2, 9))
        transform_corners(at[:3].reshape(-1), vertices.reshape(-1), body._welded_faces, np.array([[0, 1], [1, 0]], np.int32), 1, corners)
        np.testing.assert_array_equal(corners.reshape(2, 3, 3), body.vertices[body.faces[[1, 0]]])


def test_a_new_body_is_where_it_was_given(make):
    body = make(CUBE, FACES)
    assert body.transform.tolist() == np.eye(4).tolist()
    assert body.vertices.tobytes() == CUBE.tobytes()
    body.update(transform=np.eye(4))
    assert body.vertices.tobytes() == CUBE.tobytes()
    assert body._matrix is None                                          # nothing to do, so nothing is done


def test_transforms_replace_each_other(make):
    """They are not multiplied."""
    body = make(CUBE, FACES)
    for at in (PLACE, np.eye(4), PLACE, poses.matrix(move=(1, 2, 3))):
        body.update(transform=at)
        np.testing.assert_array_equal(body.transform, at)
        np.testing.assert_array_equal(body.vertices, poses.moved(at, CUBE))


def test_vertices_without_a_transform_are_where_they_are():
    body = pl.Body(CUBE, FACES)
    body.update(transform=PLACE)
    body.update(MOVED)
    assert body.transform.tolist() == np.eye(4).tolist()
    assert body.vertices.tobytes() == MOVED.tobytes()
    body.update(CUBE, transform=PLACE)
    np.testing.assert_array_equal(body.vertices, poses.moved(PLACE, CUBE))
    body.update(transform=PLACE @ PLACE)
    np.testing.assert_array_equal(body.vertices, poses.moved(PLACE @ PLACE, CUBE))


def test_what_is_given_out_is_the_callers_own(make):
    body = make(CUBE, FACES)
    body.update(transform=PLACE)
    body.transform[:] = 0
    body.vertices[:] = 0
    np.testing.assert_array_equal(body.transform, PLACE)
    np.testing.assert_array_equal(body.vertices, poses.moved(PLACE, CUBE))


def test_a_rigid_body_takes_its_matrix_with_or_without_a_name():
    one, two = pl.Body.rigid(CUBE, FACES), pl.Body.rigid(CUBE, FACES, policy="lazy", arity=2, leaf=3)
    one.update(PLACE)
    two.update(transform=PLACE)
    assert one.vertices.tobytes() == two.vertices.tobytes()
    assert "lazy" in repr(two)


QUARTER = [[0, -1, 0, 5], [1, 0, 0, 6], [0, 0, 1, 7], [0, 0, 0, 1]]
ACCEPTED = {
    "lists of integers": QUARTER,
    "three rows": QUARTER[:3],
    "float32": np.array(QUARTER, np.float32),
    "int8": np.array(QUARTER, np.int8),
    "big-endian": np.array(QUARTER, ">f8"),
    "Fortran order": np.asfortranarray(np.array(QUARTER, float)),
    "a view": np.kron(np.array(QUARTER, float), np.ones((2, 2)))[::2, ::2],
    "read-only": np.frombuffer(np.array(QUARTER, float).tobytes()).reshape(4, 4),
    "the last row almost": [*QUARTER[:3], [0, 1e-7, 0, 1 - 1e-7]],
}


@pytest.mark.parametrize("value", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_matrices_of_any_layout_are_taken(make, value):
    body = make(CUBE, FACES)
    body.update(transform=value)
    assert body.transform.tolist() == QUARTER
    assert body.vertices.tolist() == [[5 - y, 6 + x, 7 + z] for x, y, z in CUBE.tolist()]


def test_float32_matrices_pass_and_mean_what_they_say(make, rng):
    """To the bit; no rotation nearby is put in their place."""
    body = make(CUBE, FACES)
    for _ in range(20):
        at = poses.float32(poses.matrix(poses.any_turn(rng), rng.standard_normal(3)))
        body.update(transform=at)
        np.testing.assert_array_equal(body.vertices, poses.moved(at.astype(np.float64), CUBE))
        body.update(transform=poses.matrix(poses.loosened(poses.any_turn(rng), rng)))


# --- boxes ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("size", SIZES, ids=str)
def test_boxes_hold_the_placed_vertices(make, rng, size):
    """And are not much larger than a turned box must be."""
    for at in matrices(rng, size)[:: 6 if OFF else 1]:
        vertices = (rng.standard_normal((6, 3)) + rng.standard_normal(3)) * size
        body = make(vertices, [[0, 1, 2], [3, 4, 5]])
        body.update(transform=at)
        low, high = body.bounds
        assert (low <= body.vertices.min(0)).all()
        assert (body.vertices.max(0) <= high).all()
        extent = np.linalg.norm(np.ptp(vertices, axis=0) / size) * size
        assert (high - low <= extent * 1.01 + np.abs(body.vertices).max() * 1e-12 + 1e-321).all()


def test_boxes_hold_the_farthest_corner(rng):
    """Of a box itself: there the sums have nothing to spare but the allowance for rounding."""
    for size in (1.0, 1e-150, 1e150, 2.0**-1065, 2.0**-1072):
        for at in matrices(rng, size)[:: 6 if OFF else 1]:
            corners = meshes.cube((-1, -1, -1), 2.0)[0] * size
            found = np.empty(6)
            world_bounds(at[:3].reshape(-1), np.array([-size, -size, -size, 0, size, size, size, 0]), found)
            low, high = found.reshape(2, 3)
            placed = poses.moved(at, corners)
            assert (low <= placed.min(0)).all()
            assert (placed.max(0) <= high).all()


def test_the_box_of_a_body_without_transform_is_exact():
    body = pl.Body(CUBE, FACES)
    assert body.bounds.tolist() == [CUBE.min(0).tolist(), CUBE.max(0).tolist()]


# --- one body from the frame of another ------------------------------------------------------------------------------------------

def exactly(at, point):
    """Where real numbers put a point."""
    m = [[Fraction(x) for x in row] for row in at.tolist()]
    return [sum(m[k][j] * point[j] for j in range(3)) + m[k][3] for k in range(3)]


def solved(at, point):
    """The exact point that a matrix puts there: Cramer's rule."""
    m = [[Fraction(x) for x in row[:3]] for row in at.tolist()[:3]]
    right = [p - Fraction(row[3]) for p, row in zip(point, at.tolist(), strict=False)]

    def det(rows):
        (a, b, c), (d, e, f), (g, h, i) = rows
        return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    whole = det(m)
    return [det([[right[i] if j == k else m[i][j] for j in range(3)] for i in range(3)]) / whole for k in range(3)]


@pytest.mark.parametrize("far", [1.0, 1e6, 1e12])
def test_the_way_from_one_frame_to_another(rng, far):
    """`relate`, applied to a point of b, is off from the exact point of a's frame by less than its doubt; `back` undoes it."""
    for m_a, m_b in zip(matrices(rng, far), matrices(rng, far)[::-1], strict=True):
        origin_a, origin_b = rng.standard_normal(3) * far, rng.standard_normal(3) * far
        there, back = np.zeros((4, 4)), np.zeros((4, 4))
        rows = m_a[:3].reshape(-1).copy(), origin_a, 1.0, m_b[:3].reshape(-1).copy(), origin_b, 1.0
        loose, error_bound = relative_transform(*rows, 1.0, there[:3].reshape(-1), back[:3].reshape(-1))
        turn, there[3, 3], back[3, 3] = there[:3, :3], 1.0, 1.0
        assert np.abs((there @ back)[:3, 3]).max() <= error_bound
        np.testing.assert_allclose(turn @ back[:3, :3], np.eye(3), atol=2e-15)
        assert np.abs(turn.T @ turn - np.eye(3)).max() <= loose + 1e-15
        assert loose < 5e-5
        point = rng.uniform(-1, 1, 3)                                   # relative to b's origin
        world = exactly(m_b, [Fraction(p) + Fraction(o) for p, o in zip(point.tolist(), origin_b.tolist(), strict=True)])
        right = [x - Fraction(o) for x, o in zip(solved(m_a, world), origin_a.tolist(), strict=True)]
        found = turn @ point + there[:3, 3]
        assert all(abs(Fraction(f) - r) <= error_bound for f, r in zip(found.tolist(), right, strict=True))


# --- what is refused -------------------------------------------------------------------------------------------------------------

def changed(at, value):
    made = PLACE.copy()
    made[at] = value
    return made


REFUSED = {
    "flat": (np.arange(16.0), MeshError, ["(4, 4)", "(16,)"]),
    "a rotation alone": (np.eye(3), MeshError, ["(4, 4)", "(3, 3)"]),
    "four by three": (np.eye(4)[:, :3], MeshError, ["(4, 4)", "(4, 3)"]),
    "a stack": (np.eye(4)[None], MeshError, ["(1, 4, 4)"]),
    "empty": ([], MeshError, ["(0,)"]),
    "vertices": (CUBE, MeshError, ["(4, 4)", "(8, 3)"]),
    "ragged": ([[1, 0, 0, 0], [0, 1, 0], [0, 0, 1, 0]], MeshError, ["rows"]),
    "text": ("identity", TypeError, ["transform"]),
    "complex": (np.eye(4) * 1j, TypeError, ["complex128"]),
    "truth values": (np.eye(4, dtype=bool), TypeError, ["bool"]),
    "masked": (np.ma.masked_array(np.eye(4)), TypeError, ["mask"]),
    "not a number": (changed((1, 2), NAN), MeshError, ["row 1", "nan", "finite"]),
    "infinite": (changed((2, 3), -INF), MeshError, ["row 2", "-inf"]),
    "transposed": (PLACE.T, MeshError, ["last row", "transposed"]),
    "a last row of zeros": (changed(3, 0.0), MeshError, ["last row"]),
    "scaled": (np.diag([2.0, 2.0, 2.0, 1.0]), MeshError, ["not rigid", "2.0"]),
    "stretched a little": (np.diag([1.0, 1.0, 1 + 1e-4, 1.0]), MeshError, ["not rigid"]),
    "just too loose": (poses.matrix(poses.loosened(np.eye(3), np.random.default_rng(1), 1.05e-5)), MeshError, ["not rigid", "1e-05"]),
    "squeezed to nothing": (np.diag([0.0, 0.0, 0.0, 1.0]), MeshError, ["not rigid"]),
    "sheared": (changed((0, 1), PLACE[0, 1] + 0.01), MeshError, ["not rigid", "shear"]),
    "as large as can be": (np.diag([1e200, 1e200, 1e200, 1.0]), MeshError, ["not rigid"]),
    "beyond": (poses.matrix(np.full((3, 3), 1.7e308)), MeshError, ["not rigid"]),
    "a mirror": (np.diag([1.0, 1.0, -1.0, 1.0]), MeshError, ["mirror"]),
    "a mirror, turned": (PLACE @ np.diag([-1.0, -1.0, -1.0, 1.0]), MeshError, ["mirror"]),
}


@pytest.mark.parametrize(("value", "kind", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_matrix_changes_nothing(make, value, kind, words):
    body, other = make(CUBE, FACES), pl.Body(OTHER, FACES)
    for before in (np.eye(4), PLACE):
        body.update(transform=before)
        seen, moves = answer(body, other), body._version
        with pytest.raises((MeshError, TypeError)) as refusal:
            body.update(transform=value)
        assert type(refusal.value) is (pl.ArgumentTypeError if kind is TypeError else kind)
        assert "transform" in str(refusal.value)
        assert [word for word in words if word not in str(refusal.value)] == [], str(refusal.value)
        assert answer(body, other) == seen
        assert body.transform.tolist() == before.tolist()
        assert body._version == moves


def test_good_vertices_with_a_bad_matrix_and_the_other_way_round():
    """Neither is taken."""
    body, other = pl.Body(CUBE, FACES), pl.Body(OTHER, FACES)
    body.update(MOVED, transform=PLACE)
    seen = answer(body, other)
    for vertices, at in ((CUBE, 2 * PLACE), (CUBE * NAN, np.eye(4)), (CUBE[:-1], np.eye(4))):
        for copy in (True, False):
            with pytest.raises(MeshError):
                body.update(vertices, transform=at, copy=copy)
            assert answer(body, other) == seen
            assert body.transform.tolist() == PLACE.tolist()


def test_what_a_body_takes_is_said():
    free, rigid = pl.Body(CUBE, FACES), pl.Body.rigid(CUBE, FACES)
    rigid.update(PLACE)
    with pytest.raises(TypeError, match="vertices, a transform or both"):
        free.update()
    with pytest.raises(TypeError, match="a matrix"):
        rigid.update()
    for arguments, options in (((CUBE,), {"transform": PLACE}), ((), {"vertices": CUBE, "transform": PLACE})):
        with pytest.raises(TypeError, match="rigid"):
            rigid.update(*arguments, **options)
    for arguments, options in (((CUBE,), {}), ((), {"vertices": CUBE})):
        with pytest.raises(TypeError, match="matrix"):
            rigid.update(*arguments, **options)
    with pytest.raises(MeshError, match=r"\(n, 3\)"):
        free.update(PLACE)                                              # a free body takes it by name
    with pytest.raises(TypeError):
        rigid.update(PLACE, PLACE)
    np.testing.assert_array_equal(rigid.vertices, poses.moved(PLACE, CUBE))
    assert free.vertices.tobytes() == CUBE.tobytes()


def test_positions_that_would_overflow_are_refused(make):
    """As infinite vertices are; the body stays where it was."""
    body, at = make(meshes.cube()[0] * 1e308, meshes.cube()[1]), poses.matrix(PLACE[:3, :3])
    body.update(transform=at)
    with pytest.raises(MeshError, match="transform"):
        body.update(transform=poses.matrix(move=(1e308, 0, 0)))
    assert body.transform.tolist() == at.tolist()
    assert np.isfinite(body.vertices).all()
    body.update(transform=poses.matrix(move=(-1e308, 0, 0)))
    assert np.isfinite(body.vertices).all()


# --- files -------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("at", [None, PLACE, poses.float32(PLACE), PLACE[:3]], ids=["no transform", "float64", "float32", "three rows"])
def test_placed_bodies_come_back_as_they_were(tmp_path, make, policy, at):
    body, other, path = make(CUBE, FACES, policy=policy), pl.Body(OTHER, FACES), tmp_path / "body.pliant"
    if make is pl.Body:
        body.update(MOVED * (1 / 3), transform=at)
    elif at is not None:
        body.update(at)
    seen = answer(body, other)
    body.save(path)
    loaded = pl.Body.load(path)
    assert answer(loaded, other) == seen
    assert loaded.transform.tobytes() == body.transform.tobytes()
    for each in (body, loaded):
        each.update(transform=poses.matrix(PLACE[:3, :3].T, (1, 2, 3)))
    assert answer(loaded, other) == answer(body, other)
    if make is pl.Body:
        loaded.update(CUBE)
        assert loaded.vertices.tobytes() == CUBE.tobytes()
    else:
        with pytest.raises(TypeError, match="rigid"):
            loaded.update(CUBE, transform=PLACE)


@pytest.mark.parametrize(("name", "value"), [("rigid", None), ("rigid", 1), ("rigid", "yes"), ("transform", [[1, 0], [0, 1]]),
                                             ("transform", "identity"), ("transform", (2 * np.eye(4)).tolist()),
                                             ("transform", np.diag([1, 1, -1, 1]).tolist()), ("transform", {"x": 0})], ids=str)
def test_files_with_another_transform_are_refused(tmp_path, name, value):
    path = tmp_path / "body.pliant"
    pl.Body.rigid(CUBE, FACES).save(path)
    with np.load(path) as members:
        arrays = dict(members)
    meta = json.loads(arrays.pop("meta").tobytes())
    meta[name] = value
    with open(path, "wb") as file:
        np.savez(file, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    with pytest.raises(FileError, match=name) as refusal:
        pl.Body.load(path)
    assert str(path) in str(refusal.value)


def test_the_identity_is_what_it_says():
    assert IDENTITY.reshape(3, 4).tolist() == np.eye(3, 4).tolist()
