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
