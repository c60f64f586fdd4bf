"""Bodies with a transform answer exactly as free bodies of the same vertices, whoever is placed and however boxes are compared."""

from itertools import product

import numba
import numpy as np
import pytest

import meshes
import naive
import pliant as pl
import poses
from pliant import shapes

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
WHO = ("first", "second", "both")
ANGLES = (1e-300, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3)


class Turning:
    """The frames of `Deforming`, each in a pose of its own; the right answers for the placed vertices are worked out once."""

    def __init__(self, deforming):
        self.faces, self._answers, self._frames = deforming.faces, {}, []
        for k, (a, b, _) in enumerate(deforming):
            rng = np.random.default_rng(70 + k)
            world = poses.matrix(poses.any_turn(rng), rng.standard_normal(3))  # both go there, so that they still meet
            stir = poses.matrix(meshes.rotation(rng.standard_normal(3), 0.1), rng.standard_normal(3) * 0.02)
            self._frames.append((a, b, world, world @ stir))

    def frames(self, who):
        """(vertices of a and b, matrices of a and b or None, right pairs) of every frame; who is placed?"""
        for k, (a, b, of_a, of_b) in enumerate(self._frames):
            m_a, m_b = (None if who == "second" else of_a), (None if who == "first" else of_b)
            # Who is not placed has been moved there by other means.
            v_a, v_b = (a if m_a is not None else poses.moved(of_a, a)), (b if m_b is not None else poses.moved(of_b, b))
            if k not in self._answers:
                self._answers[k] = naive.collide(poses.moved(of_a, a), self.faces, poses.moved(of_b, b), self.faces)
            yield v_a, v_b, m_a, m_b, self._answers[k]


@pytest.fixture(scope="session")
def turning(deforming):
    scene = Turning(deforming)
    counts = [len(right) for *_, right in scene.frames("both")]
    assert 0 in counts
    assert max(counts) > len(scene.faces) / 4
    return scene


def sphere(size=1.0):
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    return vertices * size, faces


def near_poses(rng, n, spread=1.2):
    """Matrices of bodies of unit size that are near each other; some nearly parallel, some at the same place."""
    for k in range(n):
        turn = meshes.rotation(rng.standard_normal(3), ANGLES[k % len(ANGLES)]) if k % 3 == 2 else poses.any_turn(rng)
        yield poses.matrix(turn, rng.standard_normal(3) * spread * (k % 5 > 0))


# --- options -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("who", WHO)
def test_deforming_bodies_in_other_poses_every_frame(options, who, turning):
    frames = list(turning.frames(who))
    a, b = pl.Body(frames[0][0], turning.faces, **options), pl.Body(frames[0][1], turning.faces, **options)
    for v_a, v_b, m_a, m_b, right in frames:
        a.update(v_a, transform=m_a)
        b.update(v_b, transform=m_b)
        poses.assert_placed(a, b, right)


def test_bodies_of_different_options(two_options, turning):
    frames = list(turning.frames("both"))
    a, b = (pl.Body(frames[0][k], turning.faces, **two_options[k]) for k in range(2))
    for v_a, v_b, m_a, m_b, right in frames:
        a.update(v_a, transform=m_a)
        b.update(v_b, transform=m_b)
        poses.assert_placed(a, b, right)


@pytest.mark.parametrize("rigid", [(True, False), (False, True), (True, True)], ids=["first", "second", "both"])
def test_rigid_bodies_in_any_pose(two_options, rigid):
    rng = np.random.default_rng(71)
    make = [pl.Body.rigid if each else pl.Body for each in rigid]
    a, b = make[0](*sphere(), **two_options[0]), make[1](*sphere(0.8), **two_options[1])
    met = 0
    for m_a, m_b in zip(near_poses(rng, 3), near_poses(rng, 3), strict=True):
        a.update(transform=m_a)
        b.update(transform=m_b)
        np.testing.assert_array_equal(a.vertices, poses.moved(m_a, sphere()[0]))
        met += len(poses.assert_placed(a, b)) > 0
        poses.assert_as_free(a, b)
    assert 0 < met


@pytest.mark.formulas
@pytest.mark.parametrize("who", WHO)
def test_ways_do_not_change_the_answer(kept, who):
    """A few poses, each in every way, with bodies that are rigid, free and both."""
    rng = np.random.default_rng(72)
    other = pl.Body(*sphere(0.9), **kept)
    for k, (m_a, m_b) in enumerate(zip(near_poses(rng, 1 if OFF else 12), near_poses(rng, 1 if OFF else 12), strict=True)):
        a = (pl.Body.rigid, pl.Body)[k % 2](*sphere(), **kept)
        if who != "second":
            a.update(transform=m_a)
        other.update(*(() if k % 3 else (sphere(0.5 + 0.1 * k)[0],)), transform=poses.matrix() if who == "first" else m_b)
        poses.assert_placed(a, other)


# --- just touching -----------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_boxes_that_touch_after_quarter_turns(policy):
    """Faces, edges and corners that coincide, to the bit: all numbers are whole."""
    rng = np.random.default_rng(73)
    quarters = poses.quarters()
    assert len(quarters) == 24
    a, b = pl.Body.rigid(*meshes.cube((-1, -1, -1), 2.0), policy=policy), pl.Body.rigid(*meshes.cube((-1, -1, -1), 2.0), policy=policy)
    moves = list(product((-2.0, 0.0, 2.0), repeat=3))
    for k, turn in enumerate(quarters[:3] if OFF else quarters):
        far = rng.integers(-(2**20), 2**20, 3).astype(np.float64)
        of_a = poses.matrix(quarters[(7 * k) % 24], far)
        for move in [moves[rng.integers(27)] for _ in range(1 if OFF else 3)]:
            a.update(of_a)
            b.update(poses.matrix(turn, far + move))
            assert len(poses.assert_placed(a, b)) > 0                   # closed sets: touching counts
            b.update(poses.matrix(turn, far + np.array([2.0 + 2.0**-30, 0, 0])))
            assert len(poses.assert_placed(a, b, np.zeros((0, 2), np.int32))) == 0


@pytest.mark.formulas
@pytest.mark.parametrize("size", [1.0, 1e-150, 2.0**-1060, 2.0**-1070], ids=["1", "1e-150", "2**-1060", "2**-1070"])
def test_boxes_that_touch_at_their_farthest_corner(size):
    """One number in common, which is as large as any that the placed body has; below 2**-1022 it is rounded as no other is."""
    rng = np.random.default_rng(80)
    corners, faces = meshes.cube((-1, -1, -1), 2.0)
    for _ in range(2 if OFF else 12):
        a = pl.Body.rigid(corners * size, faces)
        a.update(poses.matrix(poses.any_turn(rng)))
        far = a.vertices[a.vertices[:, 0].argmax()]
        b = pl.Body(np.array([[0, -4, -4], [0, 4, -4], [0, 0, 4]]) * size + np.array([far[0], 0, 0]), [[0, 1, 2]])
        assert len(poses.assert_placed(a, b)) > 0


@pytest.mark.parametrize("angle", [0.0, *ANGLES], ids=str)
@pytest.mark.parametrize("placed", ["one", "both"])
def test_boxes_with_nearly_parallel_axes(angle, placed):
    """Cross products of the axes vanish: such a direction must not part what touches."""
    rng = np.random.default_rng(74)
    for k in range(12):
        world = poses.matrix(poses.any_turn(rng), rng.standard_normal(3)) if placed == "both" else poses.matrix()
        turn = meshes.rotation(rng.standard_normal(3) if k % 2 else np.eye(3)[k // 2 % 3], angle)
        a, b = pl.Body(*meshes.cube((-0.5, -0.5, -0.5))), pl.Body.rigid(*meshes.cube((-0.5, -0.5, -0.5), 1.0))
        move = np.array([(1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 0.25, 1)][k % 4], np.float64)
        if placed == "both":
            a.update(transform=world)
        b.update(world @ poses.matrix(turn, move * (1 - 2.0**-40 * (k % 3))))
        poses.assert_placed(a, b)


@pytest.mark.formulas
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-5, 1.0], ids=str)
def test_flat_sheets_in_one_plane(kept, angle):
    """Coplanar in model space, and turned together: the roundings decide what meets, and all are those of the vertices."""
    n = 3 if OFF else 6
    grid = np.array([(x, y, 0.0) for x in range(n) for y in range(n)])
    faces = [(n * i + j, n * i + j + 1, n * i + n + j) for i in range(n - 1) for j in range(n - 1)]
    rng = np.random.default_rng(75)
    a, b = pl.Body(grid, faces, **kept), pl.Body.rigid(grid + np.array([0.5, 0.25, 0.0]), faces, **kept)
    world = poses.matrix(poses.any_turn(rng), rng.standard_normal(3))
    a.update(transform=world)
    b.update(world @ poses.matrix(meshes.rotation([0, 0, 1], angle)))
    poses.assert_placed(a, b)


# --- far, tiny, huge, loose ----------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12, 1e15])
def test_far_from_the_origin(policy, offset):
    """Of the world, and of the model: where positions are coarse, roundings decide."""
    rng = np.random.default_rng(76)
    for k in range(1 if OFF else 4):
        turn, far = poses.any_turn(rng), rng.standard_normal(3) * offset
        a, b = pl.Body(*sphere(), policy=policy), pl.Body.rigid(*sphere(), policy=policy)
        a.update(transform=poses.matrix(turn, far))
        b.update(poses.matrix(poses.any_turn(rng), far + rng.standard_normal(3) * 0.5))
        poses.assert_placed(a, b)
        if OFF:
            continue
        away = pl.Body.rigid(sphere()[0] + far, sphere()[1], policy=policy)  # and a pose that brings it to the other
        away.update(poses.matrix(turn, a.transform[:3, 3] - turn @ far + rng.standard_normal(3) * 0.3 * k))
        poses.assert_placed(a, away)


@pytest.mark.formulas
@pytest.mark.parametrize("name", meshes.SIZES)
def test_of_any_size(name):
    """Both of one size, which may be absurd, anywhere."""
    offset, size = meshes.SIZES[name]
    size = min(size, 1e307)                                             # a turned box is larger than itself
    rng = np.random.default_rng(77)
    for _ in range(1 if OFF else 6):
        far = rng.standard_normal(3) * offset
        a, b = pl.Body.rigid(*sphere(size)), pl.Body(*sphere(size))
        a.update(poses.matrix(poses.any_turn(rng), far))
        b.update(sphere(size * 0.7)[0], transform=poses.matrix(poses.any_turn(rng), far + rng.standard_normal(3) * 0.5 * size))
        poses.assert_placed(a, b)


@pytest.mark.formulas
@pytest.mark.parametrize(("size", "other"), [(1.0, 1e-3), (1.0, 1e-9), (1.0, 1e-30), (1e150, 1e-150), (1e-150, 1e-146), (1e30, 1.0),
                                             (2.0**-1070, 1.0), (1e150, 1e147)], ids=str)
def test_of_different_sizes(size, other):
    """The small one lies on a face of the large one, crosses it, or is beside it; either is the first, either or both are placed."""
    rng = np.random.default_rng(78)
    corners, faces = meshes.cube((-0.5, -0.5, -0.5))
    for k in range(1 if OFF else 8):
        turn = poses.any_turn(rng)
        large, small = pl.Body.rigid(corners * size, faces), pl.Body.rigid(corners * other, faces)
        large.update(poses.matrix(turn, rng.standard_normal(3) * size * (k % 2)))
        spot = large.vertices[large.faces[rng.integers(12)]].mean(0)
        small.update(poses.matrix(poses.any_turn(rng), spot + rng.standard_normal(3) * other * 0.3))
        poses.assert_placed(large, small)
        poses.assert_placed(pl.Body(large.vertices, faces), small)
        poses.assert_placed(large, pl.Body(small.vertices, faces))


@pytest.mark.formulas
@pytest.mark.parametrize("kind", ["float32", "1e-6", "as loose as may be"])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_matrices_that_are_rotations_only_almost(kind, size):
    """They are taken for what they are, not for the nearest rotation: a small body meets a large one where its faces really are."""
    rng = np.random.default_rng(79)
    corners, faces = meshes.cube((-0.5, -0.5, -0.5))
    met = 0
    for _ in range(1 if OFF else 20):
        turn = poses.any_turn(rng)
        turn = turn.astype(np.float32) if kind == "float32" else poses.loosened(turn, rng, 1e-6 if kind == "1e-6" else poses.MOST_LOOSE)
        large = pl.Body.rigid(corners * size, faces)
        large.update(poses.matrix(turn, rng.standard_normal(3)))
        triangle = large.vertices[large.faces[rng.integers(12)]]
        spot = triangle.mean(0)
        normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
        normal /= np.linalg.norm(normal)
        for depth in (-1e-4, 1e-4):                                     # just in the face, just beside it
            small = pl.Body((corners + 0.5) * 1e-3 * [1, 1, 0.1] @ frame_of(normal).T + (spot + depth * normal), faces)
            met += len(poses.assert_placed(small, large)) > 0
    assert OFF or met > 0


def frame_of(normal):
    """A rotation whose last column is this unit vector."""
    across = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    across /= np.linalg.norm(across)
    return np.stack([across, np.cross(normal, across), normal], 1)
