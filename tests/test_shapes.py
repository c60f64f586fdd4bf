"""Procedural meshes are what they say: closed, oriented outward, of the promised size, and the same every time."""

from collections import Counter

import numpy as np
import pytest

from pliant import shapes

pytestmark = pytest.mark.formulas


def directed_sides(faces):
    return Counter(map(tuple, faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()))


def assert_closed(faces):
    """Every side is used once in each direction."""
    sides = directed_sides(faces)
    assert set(sides.values()) == {1}
    assert all((b, a) in sides for a, b in sides)


def volume(vertices, faces):
    """Six times it, by the divergence theorem: positive if faces look outward."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum()


@pytest.mark.parametrize("k", range(5))
def test_icospheres(k):
    vertices, faces = shapes.icosphere(k)
    assert vertices.shape == (10 * 4**k + 2, 3) and vertices.dtype == np.float64
    assert faces.shape == (20 * 4**k, 3) and faces.dtype == np.int32
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1.0, rtol=1e-14)
    assert_closed(faces)
    assert set(faces.ravel().tolist()) == set(range(len(vertices)))
    a, b, c = vertices[faces].transpose(1, 0, 2)
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a + b + c) > 0).all()
    assert len(np.unique(np.round(vertices, 9), axis=0)) == len(vertices)


def test_finer_spheres_are_rounder():
    sizes = [volume(*shapes.icosphere(k)) for k in range(5)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == pytest.approx(6 * 4 / 3 * np.pi, rel=0.01)


@pytest.mark.parametrize("k", [-1, 0.5, 1.5])
def test_other_subdivisions_are_refused(k):
    with pytest.raises(ValueError, match=f"subdivisions .*{k}"):
        shapes.icosphere(k)


@pytest.mark.parametrize(("nx", "ny"), [(1, 1), (3, 2), (1, 7)])
def test_sheets(nx, ny):
    vertices, faces = shapes.sheet(nx, ny)
    assert vertices.shape == ((nx + 1) * (ny + 1), 3) and faces.shape == (2 * nx * ny, 3)
    assert faces.dtype == np.int32 and set(faces.ravel().tolist()) == set(range(len(vertices)))
    assert (vertices[:, 2] == 0).all() and vertices.min() == 0 and vertices[:, :2].max(axis=0).tolist() == [1, 1]
    a, b, c = vertices[faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    np.testing.assert_allclose(normals[:, 2], 1 / (nx * ny))
    assert normals[:, 2].sum() == pytest.approx(2.0)
    border = [side for side in directed_sides(faces) if side[::-1] not in directed_sides(faces)]
    assert len(border) == 2 * (nx + ny)


@pytest.mark.parametrize(("nx", "ny", "name"), [(0, 1, "nx"), (1, 0, "ny"), (2, -1, "ny"), (1.5, 1, "nx")])
def test_other_sheets_are_refused(nx, ny, name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        shapes.sheet(nx, ny)


def test_bumps_stay_within_their_amplitude():
    directions, faces = shapes.icosphere(4)
    for amplitude in (0.0, 0.08, 0.3):
        for time in (0.0, 1.7, 100.0):
            vertices = shapes.bumpy(directions, time, amplitude)
            radius = np.linalg.norm(vertices, axis=1)
            assert (np.abs(radius - 1) <= amplitude + 1e-14).all()
            np.testing.assert_allclose(vertices / radius[:, None], directions, atol=1e-14)
    assert radius.max() - radius.min() > 0.3
    assert volume(vertices, faces) > 0


def test_a_short_step_moves_little():
    directions, _ = shapes.icosphere(4)
    moved = np.linalg.norm(shapes.bumpy(directions, 0.52) - shapes.bumpy(directions, 0.5), axis=1)
    assert 0 < moved.max() < 0.005


@pytest.mark.parametrize("directions", [np.zeros(3), np.zeros((4, 2)), np.zeros((2, 2, 3))])
def test_other_directions_are_refused(directions):
    with pytest.raises(ValueError, match="directions must have shape"):
        shapes.bumpy(directions, 0.0)


# ------------------------------------------------------------------------------------------------ the moving scene

@pytest.mark.parametrize("faces", [320, 1280])
def test_the_pair_is_closed_and_starts_and_ends_apart(faces):
    scene = shapes.bumpy_pair(faces, 11)
    assert scene.faces.shape == (faces, 3) and scene.faces.flags.c_contiguous
    assert_closed(scene.faces)
    gaps = []
    for k in range(11):
        a, b = scene.frame(k)
        assert volume(a, scene.faces) > 0 and volume(b, scene.faces) > 0
        gaps.append(np.linalg.norm(b.mean(axis=0) - a.mean(axis=0)))
    assert gaps[0] > 2.1 and gaps[-1] > 2.1
    assert np.argmin(gaps) == 5 and gaps[5] < 0.2
    assert all(np.isfinite(vertices).all() for vertices in scene.frame(5))


def test_frames_are_the_same_every_time():
    one, two = shapes.bumpy_pair(320, 7), shapes.bumpy_pair(320, 7)
    assert one.faces.tobytes() == two.faces.tobytes()
    for k in (0, 3, 6):
        first, second = one.frame(k), two.frame(k)
        assert [array.tobytes() for array in first] == [array.tobytes() for array in second]
        first[0][:] = 0
        assert [array.tobytes() for array in one.frame(k)] == [array.tobytes() for array in second]
    assert one.frame(2)[0].tobytes() != one.frame(3)[0].tobytes()
    assert one.frame(2)[0].tobytes() != one.frame(2)[1].tobytes()


def test_faces_are_shuffled():
    plain = shapes.icosphere(2)[1]
    shuffled = shapes.bumpy_pair(320, 2).faces
    assert not np.array_equal(plain, shuffled)
    assert sorted(map(tuple, plain.tolist())) == sorted(map(tuple, shuffled.tolist()))


@pytest.mark.parametrize(("faces", "frames", "match"), [
    (20, 10, r"faces must be one of 320, .*327680, not 20"), (1000, 10, "not 1000"), (-320, 10, "not -320"),
    (320, 1, "frames must be a whole number, 2 or more, not 1"), (320, 2.5, "2.5"), (320, 0, "not 0"),
])
def test_other_pairs_are_refused(faces, frames, match):
    with pytest.raises(ValueError, match=match):
        shapes.bumpy_pair(faces, frames)


@pytest.mark.parametrize("k", [-1, 7, 100])
def test_there_are_no_other_frames(k):
    with pytest.raises(ValueError, match=f"k must be in 0 … 6, not {k}"):
        shapes.bumpy_pair(320, 7).frame(k)
