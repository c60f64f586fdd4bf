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


def test_a_higher_pitch_makes_more_bumps():
    """Counted as faces of the sphere whose middle is higher than all three faces around it."""
    directions, faces = shapes.icosphere(5)
    pairs = neighbours(faces)
    counts = []
    for pitch in (0.5, 1.0, 1.5):
        heights = np.linalg.norm(shapes.bumpy(directions, 1.0, 0.1, pitch)[faces].mean(axis=1), axis=1)
        top = np.ones(len(faces), bool)
        for a, b in (pairs.T, pairs.T[::-1]):
            np.logical_and.at(top, a, heights[a] > heights[b])
        counts.append(top.sum())
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("directions", [np.zeros(3), np.zeros((4, 2)), np.zeros((2, 2, 3))])
@pytest.mark.parametrize("shape", [shapes.bumpy, shapes.armed])
def test_other_directions_are_refused(directions, shape):
    with pytest.raises(ValueError, match="directions must have shape"):
        shape(directions, 0.0)


def test_arms_are_long_and_a_body_with_arms_never_meets_itself():
    directions, faces = shapes.icosphere(3)
    counts = set()
    for body in range(6):
        for time in (0.0, 3.1, 8.0):
            vertices = shapes.armed(directions, time, body)
            radius = np.linalg.norm(vertices, axis=1)
            assert 0.4 < radius.min() < 0.7 and 1.1 < radius.max() < 1.9
            assert volume(vertices, faces) > 0
        counts.add(tips(vertices, faces))
        coarse, corners = shapes.icosphere(2)
        assert pierced(shapes.armed(coarse, time, body), corners) == 0
    assert counts <= set(range(5, 9)) and len(counts) > 1


def tips(vertices, faces):
    """In how many pieces vertices are that are far from the origin and connected by sides."""
    far = np.linalg.norm(vertices, axis=1) > 0.95
    label = np.where(far, np.arange(len(vertices)), -1)
    sides = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    sides = sides[far[sides].all(axis=1)]
    for _ in range(len(vertices)):
        before = label.copy()
        np.minimum.at(label, sides[:, 0], label[sides[:, 1]])
        if (label == before).all():
            break
    return len(set(label[far].tolist()))


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


# ------------------------------------------------------------------------------------------------ the swarm

KINDS = pytest.mark.parametrize("kind", ["bumpy", "arms"])


@KINDS
def test_the_swarm_is_dense_and_its_bodies_meet_but_not_by_much(kind):
    scene = shapes.swarm(27, 320, 41, kind)
    assert scene.faces.shape == (320, 3) and scene.faces.dtype == np.int32 and scene.faces.flags.c_contiguous
    assert_closed(scene.faces)
    first, second = np.triu_indices(27, 1)
    overlaps, gaps = [], []
    for k in range(0, 41, 4):
        bodies = np.stack(scene.frame(k))
        assert bodies.shape == (27, 162, 3) and np.isfinite(bodies).all()
        assert all(volume(body, scene.faces) > 0 for body in bodies)
        low, high = bodies.min(axis=1), bodies.max(axis=1)
        overlaps.append(((low[first] <= high[second]) & (low[second] <= high[first])).all(axis=1).sum())
        centres = scene.centres(k)
        gaps.append(np.linalg.norm(centres[first] - centres[second], axis=1).min())
        assert (np.abs(centres) < scene.half + 0.3).all()
        np.testing.assert_allclose(bodies[5], scene.shape(5, k) + centres[5])
    assert 10 <= np.median(overlaps) <= 50 and max(overlaps) < 80
    assert min(gaps) > 1.4, "bodies do not pass through each other"
    assert min(gaps) < 2.0, "but they meet"


@KINDS
def test_the_swarm_moves_smoothly_and_all_of_it(kind):
    scene = shapes.swarm(27, 320, 200, kind)
    steps = np.diff([scene.centres(k) for k in range(200)], axis=0)
    lengths = np.linalg.norm(steps, axis=2)
    assert lengths.max() < 0.1 and 0.02 < lengths.mean() < 0.05
    assert np.linalg.norm(np.diff(steps, axis=0), axis=2).max() < 0.03
    for k in (0, 77, 150):
        for a, b in zip(scene.frame(k), scene.frame(k + 1), strict=True):
            moved = np.linalg.norm(a - b, axis=1)
            assert moved.min() > 0 and moved.max() < 0.4


@KINDS
def test_a_swarm_is_the_same_every_time_and_no_body_is_another(kind):
    one, two = shapes.swarm(5, 320, 7, kind), shapes.swarm(5, 320, 7, kind)
    assert one.faces.tobytes() == two.faces.tobytes() and one.flight.tobytes() == two.flight.tobytes()
    frames = [one.frame(k) for k in range(7)]
    for k, bodies in enumerate(frames):
        assert isinstance(bodies, list) and [body.tobytes() for body in bodies] == [body.tobytes() for body in two.frame(k)]
    forms = [np.sort(np.linalg.norm(one.shape(i, k), axis=1)) for i in range(5) for k in range(7)]
    assert len({form.tobytes() for form in forms}) == 35, "all are different shapes, however they are turned"
    frames[3][0][:] = 0
    assert one.frame(3)[0].tobytes() == two.frame(3)[0].tobytes()


def test_more_frames_are_the_same_flight_in_smaller_steps():
    coarse, fine = shapes.swarm(3, 320, 6), shapes.swarm(3, 320, 11)
    for k in range(6):
        for a, b in zip(coarse.frame(k), fine.frame(2 * k), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
    np.testing.assert_allclose(coarse._replace(frames=11).frame(5), fine.frame(5), atol=1e-12)


@pytest.mark.parametrize(("arguments", "match"), [
    ({"bodies": 1}, "bodies must be a whole number, 2 or more, not 1"), ({"bodies": 2.5}, "not 2.5"),
    ({"faces": 5000}, "faces must be one of 320"), ({"frames": 1}, "frames must be a whole number, 2 or more, not 1"),
    ({"kind": "furry"}, "kind must be one of bumpy, arms, not 'furry'"),
])
def test_other_swarms_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        shapes.swarm(**{"bodies": 2, "faces": 320, "frames": 3} | arguments)


@pytest.mark.parametrize("k", [-1, 7, 100])
def test_a_swarm_has_no_other_frames(k):
    with pytest.raises(ValueError, match=f"k must be in 0 … 6, not {k}"):
        shapes.swarm(2, 320, 7).frame(k)


# ------------------------------------------------------------------------------------------------ the cloth

def pierced(vertices, faces):
    """How often a side passes through a face that has neither of its ends, by the signs of five volumes each."""
    sides = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    p, q = vertices[sides].transpose(1, 0, 2)[:, :, None]
    a, b, c = vertices[faces].transpose(1, 0, 2)[:, None]
    normal = np.cross(b - a, c - a)
    through = ((p - a) * normal).sum(axis=2) * ((q - a) * normal).sum(axis=2) < 0
    turns = [(np.cross(q - p, u - p) * (v - p)).sum(axis=2) > 0 for u, v in ((a, b), (b, c), (c, a))]
    apart = ~(sides[:, None, :, None] == faces[None, :, None, :]).any(axis=(2, 3))
    return (through & apart & (turns[0] == turns[1]) & (turns[1] == turns[2])).sum()


def neighbours(faces):
    """Pairs (k, 2) of faces that share a side."""
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    order = np.lexsort(sides.T)
    same = np.flatnonzero((sides[order][1:] == sides[order][:-1]).all(axis=1))
    return np.column_stack([order[same], order[same + 1]]) // 3


@pytest.mark.parametrize(("faces", "cells"), [
    (100_000, (250, 200)), (20_000, (100, 100)), (2_000, (40, 25)), (101, (10, 5)), (9_998, (82, 61)),
])
def test_cloth_has_the_size_asked_for_or_nearly(faces, cells):
    cloth = shapes.folding_cloth(faces, 3)
    nx, ny = cloth.cells
    assert cloth.cells == cells and abs(len(cloth.faces) - faces) <= 10
    assert cloth.faces.shape == (2 * nx * ny, 3) and cloth.faces.dtype == np.int32 and cloth.faces.flags.c_contiguous
    vertices = cloth.frame(1)
    assert vertices.shape == ((nx + 1) * (ny + 1), 3) and vertices.dtype == np.float64 and np.isfinite(vertices).all()
    assert set(cloth.faces.ravel().tolist()) == set(range(len(vertices)))


def test_cloth_is_one_oriented_sheet_cut_along_alternating_diagonals():
    cloth = shapes.folding_cloth(800, 3)
    nx, ny = cloth.cells
    sides = directed_sides(cloth.faces)
    assert set(sides.values()) == {1}
    assert len([side for side in sides if side[::-1] not in sides]) == 2 * (nx + ny)
    diagonals = [abs(a - b) for a, b in sides if a < b and abs(a - b) in (nx, nx + 2)]
    assert Counter(diagonals) == {nx: nx * ny // 2, nx + 2: nx * ny // 2}


def test_cloth_is_smooth_and_hardly_stretched():
    cloth = shapes.folding_cloth(20_000, 13)
    nx, ny = cloth.cells
    pairs = neighbours(cloth.faces)
    for k in range(13):
        vertices = cloth.frame(k)
        rows = vertices.reshape(ny + 1, nx + 1, 3)
        np.testing.assert_allclose(np.linalg.norm(np.diff(rows, axis=1), axis=2), 1.25 / nx, rtol=1e-9)
        across = np.linalg.norm(np.diff(rows, axis=0), axis=2) * ny
        assert 0.75 < across.min() and across.max() < 2.5
        a, b, c = vertices[cloth.faces].transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        area = np.linalg.norm(normals, axis=1)
        assert 0.8 / (nx * ny) < area.min() and area.max() < 2 / (nx * ny)  # 1.25 when flat
        normals /= area[:, None]
        bends = np.degrees(np.arccos(np.clip((normals[pairs[:, 0]] * normals[pairs[:, 1]]).sum(axis=1), -1, 1)))
        assert bends.max() < 45 and bends.mean() < 7


def test_cloth_starts_and_ends_free_of_collisions_and_meets_itself_between():
    cloth = shapes.folding_cloth(600, 11)
    counts = [pierced(cloth.frame(k), cloth.faces) for k in (0, 1, 2, 4, 5, 6, 8, 9, 10)]
    assert counts[:3] == [0, 0, 0] and counts[-3:] == [0, 0, 0]
    assert min(counts[3:6]) > 50


def test_cloth_is_the_same_every_time_and_never_the_same_twice():
    one, two = shapes.folding_cloth(500, 7), shapes.folding_cloth(500, 7)
    assert one.faces.tobytes() == two.faces.tobytes()
    frames = [one.frame(k) for k in range(7)]
    assert [frame.tobytes() for frame in frames] == [two.frame(k).tobytes() for k in range(7)]
    assert len({frame.tobytes() for frame in frames}) == 7
    frames[3][:] = 0
    assert one.frame(3).tobytes() == two.frame(3).tobytes()


def test_a_finer_cloth_is_the_same_cloth():
    coarse, fine = shapes.folding_cloth(2_000, 5), shapes.folding_cloth(8_000, 5)
    assert fine.cells == (80, 50) == tuple(2 * n for n in coarse.cells)
    for k in range(5):
        rows = [scene.frame(k).reshape(scene.cells[1] + 1, -1, 3) for scene in (coarse, fine)]
        np.testing.assert_allclose(rows[1][::2, ::2], rows[0], atol=0.02)


@pytest.mark.parametrize(("faces", "frames", "match"), [
    (99, 10, "faces must be a whole number, 100 or more, not 99"), (-2000, 10, "not -2000"), (200.5, 10, "not 200.5"),
    (200, 1, "frames must be a whole number, 2 or more, not 1"), (200, 2.5, "not 2.5"), (200, 0, "not 0"),
])
def test_other_cloths_are_refused(faces, frames, match):
    with pytest.raises(ValueError, match=match):
        shapes.folding_cloth(faces, frames)


@pytest.mark.parametrize("k", [-1, 7, 100])
def test_cloth_has_no_other_frames(k):
    with pytest.raises(ValueError, match=f"k must be in 0 … 6, not {k}"):
        shapes.folding_cloth(100, 7).frame(k)
