"""Points and normals of hits and closest points: from the triangles at the time of the query, or an error that says that it is too late."""

import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes

pytestmark = pytest.mark.formulas
DIRECTIONS, FACES = shapes.icosphere(0)
RAYS = np.random.default_rng(5).normal(size=(40, 3)) * 3
MATRIX = poses.matrix(meshes.rotation([1, 2, 3], 0.7), (0.2, -0.1, 0.3))


def bodies():
    rigid = pl.Body.rigid(DIRECTIONS, FACES)
    rigid.update(MATRIX)
    morph = pl.Body.morph([DIRECTIONS, 2 * DIRECTIONS], FACES)
    morph.update([0.25, 0.75])
    return {"free": pl.Body(shapes.bumpy(DIRECTIONS, 0.3), FACES), "rigid": rigid, "morph": morph,
            "welded": pl.Body(DIRECTIONS[FACES].reshape(-1, 3), np.arange(FACES.size).reshape(-1, 3), weld=True)}


def expected_normals(triangles):
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("name", bodies())
def test_hits_and_closest_points(name):
    body = bodies()[name]
    triangles = body.vertices[body.faces]
    hits, every, near = pl.cast(body, RAYS, -RAYS + 0.05), pl.cast_all(body, RAYS, -RAYS + 0.05), pl.closest(body, RAYS)
    assert hits.hit.sum() > 20 and len(every) > 40
    for found, rows in ((hits, np.arange(len(RAYS))), (every, every.ray)):
        hit = found.face >= 0
        along = RAYS[rows] + found.t[:, None] * (-RAYS + 0.05)[rows]
        np.testing.assert_allclose(found.point[hit], along[hit], atol=1e-12)
        np.testing.assert_allclose(found.normal[hit], expected_normals(triangles[found.face[hit]]), atol=1e-12)
        assert np.isnan(found.point[~hit]).all() and np.isnan(found.normal[~hit]).all() and found.point.shape == (len(found), 3)
    np.testing.assert_allclose(near.normal, expected_normals(triangles[near.face]), atol=1e-12)
    one = pl.pick(body, RAYS[0], -RAYS[0])
    np.testing.assert_allclose(one.normal, expected_normals(triangles[[one.face]])[0], atol=1e-12)


def test_scenes_and_grids():
    scene, grid = pl.Scene(bodies().values()), pl.UniformGrid(DIRECTIONS, FACES)
    hits = pl.cast(scene, RAYS, -RAYS)
    for number in scene:
        rows = hits.body == number
        triangles = scene[number].vertices[scene[number].faces[hits.face[rows]]]
        np.testing.assert_allclose(hits.normal[rows], expected_normals(triangles), atol=1e-12)
    assert len(np.unique(hits.body[hits.hit])) > 1
    own, body = pl.cast(grid, RAYS, -RAYS), pl.cast(pl.Body(DIRECTIONS, FACES), RAYS, -RAYS)
    assert np.array_equal(own.normal, body.normal, equal_nan=True) and np.array_equal(own.point, body.point, equal_nan=True)


def test_after_an_update_it_is_too_late_unless_they_were_read_before():
    for target in (pl.Body(DIRECTIONS, FACES), pl.Scene([pl.Body(DIRECTIONS, FACES)]), pl.UniformGrid(DIRECTIONS, FACES)):
        read, unread = pl.cast(target, RAYS, -RAYS), pl.cast(target, RAYS, -RAYS)
        points = read.point
        (target[0] if isinstance(target, pl.Scene) else target).update(2 * DIRECTIONS)
        assert np.array_equal(read.point, points, equal_nan=True) and read.normal.shape == points.shape
        with pytest.raises(pl.StaleResultError, match="before the next update"):
            _ = unread.normal
        assert np.isfinite(unread.t[unread.hit]).all()


def test_normals_of_any_size_and_of_faces_without_area():
    for size in (1e-300, 1e-160, 1.0, 1e150, 1e299):
        body = pl.Body(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]) * size, [[0, 1, 2]])
        assert pl.closest(body, [[0.1 * size, 0.2 * size, size]]).normal.tolist() == [[0, 0, 1]]
    flat = pl.Body([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    assert np.isnan(pl.closest(flat, [[1, 0, 1.0]]).normal).all()
    nothing = pl.closest(pl.Body([], []), [[1, 0, 1.0]])
    assert np.isnan(nothing.normal).all() and nothing.normal.shape == (1, 3)
    assert pl.cast(flat, np.zeros((0, 3)), [0, 0, 1]).point.shape == (0, 3)


def test_what_they_show():
    hits = pl.cast(pl.Body(DIRECTIONS, FACES), [[0, 0, 5], [9, 9, 9]], [0, 0, -1])
    assert repr(hits) == "Hits(2 rows, 1 with a face)" and len(hits) == 2
    assert repr(pl.closest(pl.Body(DIRECTIONS, FACES), [[0, 0, 5]])) == "Closest(1 rows, 1 with a face)"
