"""The scenes of paper A: their spheres are exact and closed, bodies start apart and meet, and the response parts them."""

import math

import numpy as np
import pytest

import pliant
from experiments.larsson2001 import runs as larsson2001_runs
from experiments.larsson2001 import scenes
from experiments.larsson2001 import tables as larsson2001_tables


@pytest.mark.formulas
@pytest.mark.parametrize("faces", [8, 16, 20, 64, 80, 128, 320, 1024])
def test_spheres_are_closed_and_look_outward(faces):
    vertices, triangles = scenes.sphere(faces)
    assert triangles.shape == (faces, 3) and triangles.dtype == np.int32 and len(vertices) == faces // 2 + 2
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1)
    sides = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    assert {(b, a) for a, b in sides.tolist()} == {(a, b) for a, b in sides.tolist()} and len(np.unique(sides, axis=0)) == 3 * faces
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a) > 0).all()


@pytest.mark.formulas
def test_all_sizes_of_the_paper_are_exact():
    assert set(larsson2001_tables.TABLE_51) < set(larsson2001_runs.SIZES)
    for faces in larsson2001_runs.SIZES:
        fourths, halves = math.log2(faces / 20) / 2, math.log2(faces / 8)
        assert fourths == int(fourths) or halves == int(halves)


@pytest.mark.formulas
@pytest.mark.parametrize("faces", [0.5, 7, 40, 1000])
def test_other_sizes_are_refused(faces):
    with pytest.raises(ValueError, match="faces must be"):
        scenes.sphere(faces)


@pytest.mark.formulas
def test_placed_vertices_are_those_of_placed_bodies():
    scene = scenes.push(20, 5)
    frame = scene.frame(3)
    for vertices, pose, world in zip(frame.model, frame.poses, frame.world(), strict=True):
        body = pliant.Body(vertices, scene.faces)
        body.update(vertices, transform=pose)
        np.testing.assert_array_equal(body.vertices, world)


def test_two_bodies_meet_after_a_third_of_the_way_and_then_more_and_more():
    scene = scenes.push(1_280, 41)
    bodies = [pliant.Body(vertices, scene.faces) for vertices in scene.frame(0).world()]
    found = []
    for frame in scene.play():
        for body, vertices in zip(bodies, frame.world(), strict=True):
            body.update(vertices)
        found.append(len(pliant.collide(*bodies)))
    assert 10 <= found.index(next(filter(None, found))) <= 14
    assert found[-1] == max(found) > 250
    boxes = [body.bounds for body in bodies]
    assert (boxes[0][0] < boxes[1][1]).all() and (boxes[1][0] < boxes[0][1]).all()


def test_bumps_are_as_fine_as_the_mesh_or_stay():
    assert scenes.push(320, 3).pitch < scenes.push(1_280, 3).pitch < scenes.push(20_480, 3).pitch == scenes.PITCH
    assert scenes.push(320, 3, fine=False).pitch == scenes.push(1_280, 3, fine=False).pitch == scenes.PITCH


@pytest.mark.parametrize("kind", ["bumpy", "arms"])
def test_a_crowd_starts_apart_and_meets_in_a_box(kind):
    scene = scenes.crowd(8, 320, 12, kind)
    frames, again = list(scene.play()), list(scene.play())
    assert len(frames) == 12 and all(np.array_equal(a.poses, b.poses) for a, b in zip(frames, again, strict=True))
    met = []
    for frame in (frames[0], frames[-1], scene.deep()):
        bodies = pliant.Scene(pliant.Body(vertices, scene.faces) for vertices in frame.world())
        met.append(len(np.unique(bodies.collide().bodies, axis=0)))
    assert met[0] == 0 and met[1] > 0 and met[2] > 10
    assert np.abs(frames[-1].poses[:, :3, 3]).max() < scene.half + 3


@pytest.mark.formulas
def test_the_response_parts_bodies_and_walls_reflect():
    centres, velocities = np.array([[0, 0, 0], [1, 0, 0], [0, 9, 0.0]]), np.array([[0.04, 0, 0], [-0.04, 0, 0], [0, 0.04, 0]])
    scenes.respond(np.array([[0, 1]]), centres, velocities, 5.0)
    assert velocities[0, 0] < 0 < velocities[1, 0] and velocities[2, 1] < 0
