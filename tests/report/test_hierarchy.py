"""Hierarchies of bodies: each level has every face once, in the volumes that the tree has there, and lower ones are inside higher ones."""

import numpy as np
import pytest

import pliant as pl
from pliant import shapes
from pliant.report.hierarchy import hierarchy_of
from pliant.report.volume_meshes import volumes_at_level


@pytest.mark.formulas
def test_levels(builds):
    vertices, faces = shapes.icosphere(2)
    body = pl.Body(vertices, faces, **builds)
    tree, found = body._bvh_at(body._motion.scale).tree, hierarchy_of(body)
    assert found is not None and sorted(found.order) == list(range(len(faces)))
    assert found.levels[0].tolist() == [[0, len(faces)]] and len(found.levels) == tree.depth + 1
    before = found.levels[0]
    for number, level in enumerate(found.levels[1:], 1):
        assert level[0, 0] == 0 and level[-1, 1] == len(faces) and np.array_equal(level[1:, 0], level[:-1, 1])
        assert set(before[:, 0]) <= set(level[:, 0]) and len(level) > len(before) - (number == tree.depth)
        enclosed = {frozenset(_faces_below(tree, *place)) for place in volumes_at_level(tree, number)}
        assert {frozenset(found.order[begin:end].tolist()) for begin, end in level} == enclosed and len(level) == len(enclosed)
        before = level
    assert len(found.levels[-1]) == len(tree.faces)


def _faces_below(tree, node, lane):
    child = int(tree.child[node, lane])
    if child < 0:
        return [face for face in tree.faces[~child].tolist() if face >= 0]
    return [face for k in range(tree.count[child]) for face in _faces_below(tree, child, k)]


def test_a_body_without_faces():
    assert hierarchy_of(pl.Body(np.zeros((3, 3)), np.empty((0, 3), int))) is None


def test_no_body():
    with pytest.raises(TypeError, match="body"):
        hierarchy_of("cloth")
