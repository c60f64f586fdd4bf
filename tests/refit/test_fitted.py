"""Volumes fitted to all vertices under them: tighter than merged ones, the default of rigid bodies where that is so."""

import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes
from pliant.core.soa import load_bounds
from pliant.refit import fitted
from pliant.volume.protocol import FIT_METHODS, VOLUME_TYPES, fit, size

HOW = [(name, how) for name, kind in VOLUME_TYPES.items() for how in FIT_METHODS if fit.has_body(type(FIT_METHODS[how]), kind.volume)]


@pytest.mark.parametrize(("volume", "how"), HOW)
def test_pairs_are_right_however_volumes_are_fitted(volume, how):
    vertices, faces = shapes.icosphere(2)
    policy = {"name": "fitted", "how": how}
    a, b = (pl.Body(vertices * s, faces, volume=volume, policy=policy, leaf=2) for s in (1.0, 0.9))
    for k in range(4):
        b.update(vertices * 0.9 + [0.1 * k, 0.05, 0])
        meshes.assert_right(a, b)


@pytest.mark.parametrize("volume_type", [each for each in VOLUME_TYPES.values() if each.loosened_by_merge], ids=lambda each: each.name)
def test_fitted_volumes_are_smaller_than_merged_ones(volume_type):
    """At the root, and summed up over all nodes."""
    vertices, faces = shapes.icosphere(3)
    vertices = vertices * [1, 0.4, 0.1] @ np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    sizes = {}
    for policy in ("fitted", "bottom_up"):
        body = pl.Body(vertices, faces, volume=volume_type.name, policy=policy)
        shape = body._bvh_at(body._motion.scale)
        shape.refit()
        every = [float(size(load_bounds(shape.nodes, i))) for i in range(len(shape.nodes))]
        sizes[policy] = every[0], sum(every)
    assert sizes["fitted"][0] < sizes["bottom_up"][0] and sizes["fitted"][1] < sizes["bottom_up"][1]


def test_slabs_chosen_with_the_parent_need_fewer_tests_of_slivers():
    """Rods of triangles 120 times as long as wide that cross: one slab leaves discs, those of two levels together leave rods. Updates do
    not change what is chosen: the root has no parent, whatever it was before."""
    n, angles = 128, np.linspace(0, 2 * np.pi, 128, endpoint=False)
    vertices = np.concatenate([np.stack([np.cos(angles), np.sin(angles), np.full(n, z)], axis=1) for z in (-6.0, 0.0, 6.0)])
    i, j = np.arange(n), (np.arange(n) + 1) % n
    faces = np.concatenate([k * n + np.stack(row, axis=1) for k in (0, 1) for row in ((i, j, n + j), (i, n + j, n + i))])
    tests, found = {}, []
    for how in ("best", "parent"):
        policy = {"name": "fitted", "how": how}
        a, b = (pl.Body(vertices, faces, volume="slabcutball", policy=policy, build="partition", arity=2, leaf=1) for _ in range(2))
        for _ in range(2):
            b.update(vertices @ meshes.rotation([0, 1, 0.5], 1.2).T + [1.0, 1.2, 0.2])
            pairs = pl.collide(a, b)
            tests.setdefault(how, pairs.stats.n_v)
            assert pairs.stats.n_v == tests[how]
        found.append(pairs.faces.tolist())
    meshes.assert_right(a, b)
    assert found[0] == found[1]
    assert tests["parent"] < 0.8 * tests["best"]


@pytest.mark.formulas
def test_the_root_is_stamped_last(monkeypatch):
    """A thread that finds it stamped goes on: everything under it must be true by then."""
    body, stamped = pl.Body(*shapes.icosphere(1), policy="fitted", leaf=2), []
    shape = body._bvh_at(body._motion.scale)
    monkeypatch.setattr(fitted, "publish", lambda nodes, i, frame: stamped.append(i))
    fit_nodes = getattr(fitted.fit_nodes, "py_func", fitted.fit_nodes)
    fit_nodes(FIT_METHODS["plain"], shape.nodes, shape.ranges(), shape.tree.vertices, shape.tree.begins, shape.points, 1)
    assert sorted(stamped) == list(range(len(shape.nodes))) and len(stamped) > 1
    assert stamped[-1] == 0


def test_rigid_bodies_are_fitted_where_it_is_worth_it():
    vertices, faces = shapes.icosphere(1)
    for name, volume_type in VOLUME_TYPES.items():
        assert pl.Body.rigid(vertices, faces, volume=name)._options.policy.name == ("fitted" if volume_type.loosened_by_merge else "auto")
        assert pl.Body.rigid(vertices, faces, volume=name, policy="lazy")._options.policy.name == "lazy"
        assert pl.Body(vertices, faces, volume=name)._options.policy.name == "auto"


def test_what_makes_no_sense_is_refused():
    vertices, faces = shapes.icosphere(0)
    with pytest.raises(ValueError, match=r"how='ritter' is not for volume='obb'; it is for sphere"):
        pl.Body(vertices, faces, volume="obb", policy={"name": "fitted", "how": "ritter"})
    with pytest.raises(ValueError, match="how"):
        pl.Body(vertices, faces, policy={"name": "fitted", "how": "smallest"})


def test_a_fitted_body_is_saved_with_how(tmp_path):
    vertices, faces = shapes.icosphere(1)
    body = pl.Body.rigid(vertices, faces, volume="sphere", policy={"name": "fitted", "how": "ritter"})
    body.save(tmp_path / "body.npz")
    again = pl.Body.load(tmp_path / "body.npz")
    assert again._options == body._options
