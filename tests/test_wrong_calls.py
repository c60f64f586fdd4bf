"""Calls as a newcomer writes them: the error names the argument and the call that does what was meant."""

import re

import numpy as np
import pytest

import pliant as pl
from pliant.shapes import icosphere

VERTICES, FACES = icosphere(1)


@pytest.fixture(scope="module")
def names():
    body, other, rigid = pl.Body(VERTICES, FACES), pl.Body(VERTICES + [1.5, 0.0, 0.0], FACES), pl.Body.rigid(VERTICES, FACES)
    return {"pl": pl, "np": np, "v": VERTICES, "f": FACES, "body": body, "other": other, "rigid": rigid, "scene": pl.Scene([body, other])}


# The call, its error, and what the message says.
WRONG = [
    ("pl.collide(scene)", pl.ArgumentTypeError, "scene.collide() tests all bodies of a scene"),
    ("pl.collide(scene, scene)", pl.ArgumentTypeError, "scene.collide() tests those of one, collide(body, scene) one body with all"),
    ("pl.collide(body)", pl.ArgumentTypeError, "got NoneType; self_collide(body) finds the self-intersections"),
    ("pl.collide(body, body)", pl.ArgumentError, "self_collide(body) finds its self-intersections"),
    ("pl.collide((v, f), (v, f))", pl.ArgumentTypeError, 'make one with pliant.Body(vertices, faces); only collide and self_collide with '
                                                         'engine="image" take meshes'),
    ("pl.collide(v, f)", pl.ArgumentTypeError, "a: expected a Body, got ndarray; make one with pliant.Body(vertices, faces)"),
    ("pl.collide(body, other, contact=True)", pl.ArgumentTypeError, "contact: no such option; did you mean contacts?"),
    ("pl.collide(body, other, mode='sampled')", pl.ArgumentTypeError, 'mode: an option of engine="image", and engine is "tree"'),
    ("pl.collide(body, other, engine='image', budget_ms=1)", pl.ArgumentTypeError, 'budget_ms: an option of engine="tree"'),
    ("pl.collide(body, other, engine='image', modes='sampled')", pl.ArgumentTypeError, 'modes: no such option with engine="image"; it has'),
    ("pl.collide(body, scene, engine='image')", pl.ArgumentTypeError, 'b: expected a Body or a mesh with engine="image", got a Scene'),
    ("pl.collide(body, other, engine='gpu')", pl.ArgumentError, "engine: expected one of 'tree', 'image', got 'gpu'"),
    ("pl.self_collide(scene)", pl.ArgumentTypeError, "scene.collide(self_pairs=True) adds self-intersections"),
    ("pl.within(body, body, 0.1)", pl.ArgumentError, "self_within(body, tolerance) finds pairs of its faces"),
    ("pl.within(scene, scene, 0.1)", pl.ArgumentTypeError, "scene.within(tolerance) tests the bodies of one"),
    ("pl.distance(body, body)", pl.ArgumentError, "self_distance(body)"),
    ("pl.closest(v, body)", pl.ArgumentTypeError, "target: expected a Body, got ndarray"),
    ("pl.inside(scene, v)", pl.ArgumentTypeError, "body: expected a Body, got a Scene"),
    ("pl.inside(body, [[0, 0, np.nan]])", pl.MeshError, "points: row 0 is [0.0, 0.0, nan], not finite"),
    ("pl.inside(body, [0, 0])", pl.MeshError, "points: expected shape (n, 3)"),
    ("body.inside(v)", AttributeError, "Body has no method 'inside'; call pliant.inside(body, …)"),
    ("pl.cast((v, f), [0, 0, 5], [0, 0, -1])", pl.ArgumentTypeError, "make one with pliant.Body"),
    ("pl.frustum_cull(body)", pl.ArgumentTypeError, "either frustum=planes (k, 4) or matrix=view_projection (4, 4)"),
    ("pl.Body(v, f + 1)", pl.MeshError, "do they count from 1? Then subtract 1"),
    ("pl.Body(v)", pl.ArgumentTypeError, "faces: missing; expected Body(vertices, faces)"),
    ("pl.Body('mesh.obj')", pl.ArgumentTypeError, "pliant.read(path).actors[0].at(0) is the first body of a file"),
    ("pl.Body(v, np.c_[f, f[:, 0]])", pl.MeshError, "triangulate polygons first"),
    ("pl.Body(v, f, volume='OBB')", pl.ArgumentError, "volume: expected one of 'aabb'"),
    ("pl.Body.morph(v, f)", pl.MeshError, "targets: expected shape (k, n, 3)"),
    ("body.update(v[:5])", pl.MeshError, "make a new Body for another mesh"),
    ("rigid.update(v)", pl.ArgumentTypeError, "update: a rigid body takes a matrix (4, 4), got shape (42, 3)"),
    ("rigid.update(np.eye(3))", pl.MeshError, "transform: expected a matrix of shape (4, 4) or (3, 4)"),
    ("rigid.update([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [5, 0, 0, 1]])", pl.MeshError, "is the matrix transposed?"),
    ("pl.read(v)", pl.ArgumentTypeError, "paths: expected a path, or several, of str or pathlib.Path, got ndarray"),
    ("pl.read(['a.obj', 3])", pl.ArgumentTypeError, "got int"),
    ("body.collide(other)", AttributeError, "Body has no method 'collide'; call pliant.collide(body, …)"),
    ("scene.cast([0, 0, 5], [0, 0, -1])", AttributeError, "Scene has no method 'cast'; call pliant.cast(scene, …)"),
    ("body.verts", AttributeError, "'Body' object has no attribute 'verts'"),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG, ids=[call for call, _, _ in WRONG])
def test_errors_name_the_right_call(call, kind, words, names):
    with pytest.raises(kind, match=re.escape(words)):
        eval(call, names)


def test_names_of_queries_are_those_of_the_package():
    from pliant.query.target import QUERIES

    assert set(QUERIES) <= set(pl.__all__)
    others = {"ccd_edge_edge", "ccd_point_triangle", "compact", "read", "reorder_vertices", "set_threads", "threads"}
    assert set(QUERIES) == {name for name in pl.__all__ if name.islower()} - others
