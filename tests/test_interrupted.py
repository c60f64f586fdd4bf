"""An update that Ctrl-C breaks off leaves a body whose vertices and volumes belong together: the old ones, or the new ones."""

import numpy as np
import pytest

import pliant as pl
from pliant import shapes
from pliant.core import jit
from pliant.motion import free
from pliant.refit.policy import POLICIES, Bvh

DIRECTIONS, FACES = shapes.icosphere(0 if jit.DISABLED else 2)
OLD, NEW = shapes.bumpy(DIRECTIONS, 0.0), shapes.bumpy(DIRECTIONS, 1.0) + np.array([0.3, 0.2, 0.1])
OTHER = shapes.bumpy(DIRECTIONS, 2.0) + np.array([0.9, 0.1, 0.0])


@pytest.mark.formulas
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("place", ["before the rows are taken in", "after them", "before the volumes are stale"])
def test_an_interrupted_update_leaves_a_body_whole(monkeypatch, policy, place):
    body, other = pl.Body(OLD, FACES, policy=policy), pl.Body(OTHER, FACES)
    pl.collide(body, other)
    admit, times = free.copy_checked, []

    def stop_once(*args):
        if not times:
            times.append(place)
            if place == "after them":
                admit(*args)
            raise KeyboardInterrupt
        return admit(*args)

    if place == "before the volumes are stale":
        moved = Bvh.invalidate

        def stop(shape):
            monkeypatch.setattr(Bvh, "invalidate", moved)
            raise KeyboardInterrupt
        monkeypatch.setattr(Bvh, "invalidate", stop)
    else:
        monkeypatch.setattr(free, "copy_checked", stop_once)
    with pytest.raises(KeyboardInterrupt):
        body.update(NEW)
    monkeypatch.undo()
    expected = NEW if place == "before the volumes are stale" else OLD
    np.testing.assert_array_equal(body.vertices, expected)
    fresh = pl.collide(pl.Body(expected, FACES), other).faces
    assert len(fresh)
    np.testing.assert_array_equal(pl.collide(body, other).faces, fresh)
