"""The scenes of paper M: their bodies have the sizes of Table 2, closed surfaces and convex weights, and move as they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pliant as pl
from experiments.steinemann2008 import scenes as steinemann2008_scenes
from experiments.steinemann2008.scenes import FEW, MANY

pytestmark = pytest.mark.formulas


def assert_closed(vertices, faces):
    """One closed surface without holes, of which every vertex is used and every side has two triangles that run along it in turn."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert np.array_equal(np.unique(faces), np.arange(len(vertices))) and len(np.unique(sides, axis=0)) == len(sides)
    assert np.array_equal(np.unique(sides, axis=0), np.unique(sides[:, ::-1], axis=0))
    assert 2 * len(vertices) - len(faces) == 4


def assert_blended(body, nodes, influences):
    weights = body.weights.toarray()
    assert weights.shape == (len(body.rest), nodes) and weights.min() >= 0 and np.abs(weights.sum(axis=1) - 1).max() < 1e-12
    assert 0.7 * influences < (weights > 0).sum(axis=1).mean() < 1.5 * influences


@given(st.integers(1, 7))
def test_a_geodesic_sphere_of_any_number_of_cuts(cuts):
    vertices, faces = steinemann2008_scenes.geodesic(cuts)
    assert len(vertices) == 10 * cuts**2 + 2 and np.abs(np.linalg.norm(vertices, axis=1) - 1).max() < 1e-12
    assert_closed(vertices, faces)


def test_a_brain_is_pulled_to_nearly_twice_its_length():
    scene = steinemann2008_scenes.pulled(700, 30, 20)
    assert abs(len(scene.body.rest) - 700) < 60 and scene.bodies == 1 and scene.frames == 20
    assert_closed(scene.body.rest, scene.body.faces)
    assert_blended(scene.body, 30, steinemann2008_scenes.INFLUENCES)
    first, *_, last = (next(scene.vertices(k)) for k in range(21))
    assert np.abs(first - scene.body.rest).max() < 1e-12
    assert 1.5 < np.ptp(last[:, 0]) / np.ptp(first[:, 0]) < 2.2
    assert np.abs(np.diff(scene.maps, axis=0)).max(axis=(1, 2, 3, 4)).min() > 1e-4, "every frame is another"


@pytest.mark.parametrize("influences", [4, 8])
def test_figures_have_the_vertices_asked_for_and_are_fixed_to_the_ring(influences):
    scene = steinemann2008_scenes.ring(1_500, 24, MANY, 3, influences)
    assert len(scene.body.rest) == 1_500 and scene.bodies == 6
    assert_closed(scene.body.rest, scene.body.faces)
    assert_blended(scene.body, 24, influences)
    nodes = scene.body.nodes.positions
    solid = steinemann2008_scenes.figure_solid()
    assert solid.at(nodes).max() < 0
    fixed = nodes[:, 2] > steinemann2008_scenes.GRIP
    assert fixed.any() and not fixed.all()
    for k in (1, 3):
        for maps in scene.frame(k):
            now = np.einsum("mij,mj->mi", maps[:, :, :3], nodes) + maps[:, :, 3]
            apart = [np.linalg.norm(rows[fixed][:, None] - rows[fixed], axis=2) for rows in (nodes, now)]
            assert np.abs(apart[0] - apart[1]).max() < 1e-9
    middles = np.array([rows.mean(axis=0) for rows in scene.vertices(0)])
    assert np.ptp(np.linalg.norm(middles[:, :2], axis=1)) < 1e-9, "all as far from the axis"


def test_finer_meshes_move_alike_and_motions_differ():
    assert steinemann2008_scenes.ring(1_500, 24, FEW, 3).maps is steinemann2008_scenes.ring(1_600, 24, FEW, 3).maps
    few, many = (steinemann2008_scenes.ring(1_500, 24, contacts, 3).maps for contacts in (FEW, MANY))
    assert np.array_equal(few[0], many[0]) and np.abs(few[3] - many[3]).max() > 0.01


def test_fish_swim():
    scene = steinemann2008_scenes.shoal(3, 1_500, 24, 4)
    assert len(scene.body.rest) == 1_500 and scene.maps.shape == (5, 3, 24, 3, 4)
    assert_closed(scene.body.rest, scene.body.faces)
    nodes = scene.body.nodes.positions
    for maps in scene.frame(2):
        now = np.einsum("mij,mj->mi", maps[:, :, :3], nodes) + maps[:, :, 3]
        lengths = [np.linalg.norm(rows[:, None] - rows, axis=2) for rows in (nodes, now)]
        assert 0.02 < np.abs(lengths[0] - lengths[1]).max() < 0.5, "it bends, and stays a fish"


def test_vertices_are_those_of_a_body():
    scene = steinemann2008_scenes.pulled(200, 12, 4)
    body = pl.Body.blended(scene.body.rest, scene.body.faces, scene.body.weights)
    for k in (0, 4):
        body.update(scene.frame(k)[0])
        assert np.abs(body.vertices - next(scene.vertices(k))).max() < 1e-12
