"""Partial refits of every bounding-volume type: after `update(rows, changed=…)` each volume that is up to date encloses its vertices.

Volumes may have been fitted to vertices, more tightly than their children merge, so a merge that comes out as before proves nothing about
the ancestors. Small soups show it: there, a vertex often moves within the volumes around its leaf and out of those above.
"""

import numba
import numpy as np
import pytest
from volume_checks import assert_holds, set_all, shape_of

import pliant as pl
from meshes import soup
from naive_distances import closest
from pliant.core.soa import lane, load_bounds
from pliant.refit.policy import POLICIES
from pliant.volume.protocol import VOLUME_TYPES
from siblings import INSIDE, NARROW, VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
PARTIAL = sorted(name for name, policy in POLICIES.items() if policy.allows_partial)
SOUPS = 2 if OFF else 20
NINE = np.array([
    [5, 9, 13], [8, 6, 11], [8, 7, 12], [-7, 1, 9], [-9, -4, 10], [-7, -4, 11], [-9, -11, 3], [-9, -13, 6], [-8, -8, 4],
    [5, 3, -8], [2, 2, -6], [6, 4, -5], [-2, 1, 7], [-5, 2, 8], [-2, -2, 5], [-3, -7, -4], [-4, -8, -7], [-5, -9, -2],
    [5, -1, 11], [5, -3, 12], [5, -2, 12], [3, 3, -10], [3, 6, -8], [9, 3, -6], [4, -11, -1], [3, -16, -3], [2, -9, -4],
]) / 10


def small_soup(rng, n=9):
    """Triangles of one-decimal coordinates, each small, all around the origin."""
    return soup((rng.normal(size=(n, 1, 3)) + rng.normal(size=(n, 3, 3)) * 0.3).round(1))


def escape(body, vertex, rng):
    """A point (3,) inside the volume of the node over a vertex's leaf, and outside what the node above has for it; None if none is found.
    Random moves are rarely of this kind: one in a hundred to one in a thousand."""
    shape, inside = shape_of(body), INSIDE[body._options.volume_type.name]
    tree, origin = shape.tree, body._motion.origin[:3]
    node = int(tree.slots[np.flatnonzero((tree.corners == vertex).any((1, 2)))[0], 0])
    if node == 0:
        return None
    above, at = (int(index[0]) for index in np.nonzero(tree.child == node))
    own, fitted = load_bounds(shape.nodes, node), lane(shape.nodes, above, at)
    under = [~child for child in tree.child[node, :tree.count[node]].tolist() if child < 0]
    rows = body._motion.vertices[np.unique(tree.corners[under])] - origin
    low, high = rows.min(0), rows.max(0)
    for point in rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), (40, 3)):
        if inside(own, point.tolist()) and not inside(fitted, point.tolist()):
            return point + origin
    return None


@pytest.mark.parametrize("policy", PARTIAL)
@pytest.mark.parametrize("volume", VOLUMES)
def test_ancestors_enclose_moved_vertices(volume, policy):
    """All nodes are up to date, fitted or merged as the policy does. Then single vertices move: first anywhere, then out of an ancestor
    wherever that is possible."""
    escaped = 0
    for seed in range(SOUPS):
        rng = np.random.default_rng(seed)
        vertices, faces = small_soup(rng, 40)
        body = pl.Body(vertices, faces, volume=volume, policy=policy, leaf=1)
        set_all(body)
        for step in range(3 if OFF else 10):
            moved = int(rng.integers(len(vertices)))
            point = escape(body, moved, rng) if step else vertices[moved] + rng.normal(size=3).round(1) * 0.2
            if point is None:
                continue
            escaped += step > 0
            vertices[moved] = point
            body.update(point[None], changed=[moved])
            shape_of(body).refit()
            assert_holds(body, stamped=True)
    if policy in ("lazy", "hybrid") and not OFF:
        assert (escaped > 0) != VOLUME_TYPES[volume].merge_exact


@pytest.mark.parametrize("policy", ["lazy", "hybrid"])
@pytest.mark.parametrize("volume", ["obb", "rss", "slabcutball"])
def test_closest_points_after_partial_updates(volume, policy):
    """A soup whose answers were infinite, and others like it: points at the moved vertices and beside them, against the exact distance."""
    rng = np.random.default_rng(72)
    for k in range(1 if OFF else 12):
        vertices, faces = (NINE.copy(), np.arange(27).reshape(-1, 3)) if k == 0 else small_soup(rng)
        body = pl.Body(vertices, faces, volume=volume, policy=policy, leaf=1)
        pl.closest(body, np.random.default_rng(5).normal(size=(4 if OFF else 100, 3)))
        for step in range(1 if OFF else 4):
            moved = 3 if k == 0 and step == 0 else int(rng.integers(len(vertices)))
            vertices[moved] = [-0.8, 0.2, 0.9] if k == 0 and step == 0 else vertices[moved] + rng.normal(size=3).round(1) * 0.2
            body.update(vertices[[moved]], changed=[moved])
            points = vertices[moved] + np.array([[0, 0.3, 0], [0, 0, 0], [0.1, 0, -0.1]])
            right = [float(square) ** 0.5 for square, _ in closest(vertices, faces, points)]
            np.testing.assert_allclose(pl.closest(body, points).distance, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("volume", [name for name in VOLUMES if VOLUME_TYPES[name].merge_exact])
def test_fits_contain_merges_where_that_is_promised(volume):
    """`merge_exact`: the volume around all vertices contains the merge of those around parts, end by end, with rows far from 0 as well."""
    rng = np.random.default_rng(73)
    for k in range(2 if OFF else 40):
        vertices, faces = small_soup(rng)
        vertices = vertices * 10.0 ** rng.integers(-3, 6) + rng.normal(size=3) * 10.0 ** rng.integers(-3, 4)
        arity = 2 if k % 2 and volume in NARROW else 8
        made = {name: pl.Body(vertices, faces, volume=volume, policy=name, leaf=1, arity=arity) for name in ("lazy", "bottom_up")}
        for body in made.values():
            shape_of(body).refit()
            set_all(body)
        fitted, merged = (shape_of(made[name]).nodes for name in ("lazy", "bottom_up"))
        for name in fitted.dtype["lanes"].names:
            used = np.arange(fitted["lanes"][name].shape[1]) < fitted["count"][:, None]
            one, other = fitted["lanes"][name][used], merged["lanes"][name][used]
            assert ((one <= other) if name.startswith("lo") else (one >= other)).all(), name
