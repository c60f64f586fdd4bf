"""Meshes of volumes: as many as a level has, in the body's own place, on the border of what they outline."""

from fractions import Fraction

import numpy as np
import pytest

import pliant as pl
from pliant import shapes
from pliant.core.soa import lane
from pliant.report.volume_meshes import volume_hull, volume_meshes, volumes_at_level
from siblings import INSIDE, LOOSE_RAYS, VOLUMES


@pytest.mark.parametrize("volume", VOLUMES)
@pytest.mark.parametrize("rigid", [False, True], ids=["free", "rigid"])
def test_volumes_of_a_level(volume, rigid):
    vertices, faces = shapes.icosphere(1)
    vertices = vertices * [1, 0.5, 0.1] + [5, -3, 2]
    body = (pl.Body.rigid if rigid else pl.Body)(vertices, faces, volume=volume, arity=2, leaf=1)
    tree = body._bvh_at(body._motion.scale).tree
    for level in (1, 2, 4):
        places, triangles = volume_meshes(body, level, 1)
        assert len(triangles) == 80 * len(volumes_at_level(tree, level)) and len(places) == 42 * len(volumes_at_level(tree, level))
        assert triangles.max() == len(places) - 1
        assert (places.min(axis=0) <= vertices.min(axis=0) + 0.1).all() and (places.max(axis=0) >= vertices.max(axis=0) - 0.1).all()
        assert (places.min(axis=0) >= vertices.min(axis=0) - 1.5).all() and (places.max(axis=0) <= vertices.max(axis=0) + 1.5).all()


@pytest.mark.parametrize("volume", [name for name in VOLUMES if name not in LOOSE_RAYS])
def test_outlines_are_borders(volume):
    """A little nearer to the middle is inside, a little farther is not. (Of swept rectangles and k-DOPs a box around them is shown.)"""
    vertices, faces = shapes.icosphere(1)
    body = pl.Body.rigid(vertices * [1, 0.5, 0.2], faces, volume=volume, arity=2, leaf=4)
    shape = body._bvh_at(body._motion.scale)
    shape.refit()
    for k in range(2):
        found = lane(shape.nodes, 0, k)
        hull = volume_hull(found, shapes.icosphere(1)[0])
        middle = hull.mean(axis=0)
        for near, wanted in ((0.99, True), (1.02, False)):
            told = [INSIDE[volume](found, tuple(map(Fraction, middle + (p - middle) * near))) for p in hull]
            assert np.mean(np.array(told) == wanted) > 0.9


def test_levels_below_the_leaves_show_the_leaves():
    body = pl.Body(*shapes.icosphere(0), arity=2, leaf=1)
    assert len(volume_meshes(body, 100, 0)[1]) == 20 * 20
    assert len(volume_meshes(pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int)), 1)[1]) == 0
    with pytest.raises(ValueError, match="level"):
        volume_meshes(body, 0)
