"""Saved blended bodies come back as they were, and files that hold no such body are refused."""

import json

import numba
import numpy as np
import pytest

import blends
import meshes
import pliant as pl
from pliant import shapes
from pliant.errors import FileError
from poses import matrix

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 1)
TURN = matrix(meshes.rotation([1, 0, 0], 0.4), (0.1, 0.2, -0.1))
OFF_BY = np.linspace(1 - 9e-6, 1 + 9e-6, len(BALL))[:, None]            # sums that are made 1, once


def others():
    return pl.Body(BALL * 0.9 + [0.5, 0.2, 0.1], FACES)


@pytest.mark.parametrize("policy", [*blends.CONVEX, "bottom_up", "lazy"][::2 if OFF else 1], ids=str)
def test_a_saved_body_comes_back_as_it_was(policy, tmp_path):
    """Rest, weights, maps, transform and settings, to the bit; also where it moves next."""
    rng, fixed = np.random.default_rng(9), policy == "auto"
    body = pl.Body.blended(BALL, FACES, blends.near(BALL, 4) * OFF_BY, leaf=3, weld=True, policy=policy,
                           origin=[0.1, 0, 0] if fixed else None)
    for transform in (TURN,) if OFF else (None, TURN):
        body.update(blends.maps(4, rng), transform=transform)
        body.save(tmp_path / "body")
        loaded, free = pl.Body.load(tmp_path / "body"), pl.Body(body.vertices, FACES)
        found = pl.collide(loaded, others()).faces                      # before vertices are asked for
        np.testing.assert_array_equal(found, pl.collide(free, others()).faces)
        assert loaded.vertices.tobytes() == body.vertices.tobytes()
        assert repr(loaded) == repr(body) and loaded._options == body._options and loaded._motion.fixed == body._motion.fixed == fixed
        for one, other in zip((loaded._motion.file_vertices, loaded._motion.controls, *loaded._motion.file_skin),
                              (body._motion.file_vertices, body._motion.controls, *body._motion.file_skin), strict=True):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
        np.testing.assert_array_equal(loaded.transform, body.transform)
        moved = blends.maps(4, rng)
        for each in (loaded, body):
            each.update(moved)
        assert loaded.vertices.tobytes() == body.vertices.tobytes()
        np.testing.assert_array_equal(pl.collide(loaded, others()).faces, pl.collide(body, others()).faces)


def test_bodies_without_vertices_or_faces(tmp_path):
    for n, m in ((0, 0), (0, 2), (2, 3)):
        body = pl.Body.blended(np.zeros((n, 3)), [], np.eye(n, m))
        body.save(tmp_path / "body")
        assert repr(pl.Body.load(tmp_path / "body")) == repr(body)


def first(value):
    """An array with this as its first number."""
    return lambda array: np.concatenate([np.array([value], array.dtype), array[1:]])


def last(value):
    return lambda array: np.concatenate([array[:-1], np.array([value], array.dtype)])


def at(k, value):
    def change(array):
        array = array.copy()
        array[k] = value
        return array
    return change


HOSTILE = {
    "another motion": ({"motion": "liquid"}, {}),
    "a rigid one": ({"rigid": True}, {}),
    "free, with maps": ({"motion": "free", "policy": "auto"}, {}),
    "free, with a skin": ({"motion": "free", "policy": "auto"}, {"given": lambda g: g[:0]}),
    "morphing, with a skin": ({"motion": "morph", "policy": "auto"}, {"given": lambda g: np.ones(1)}),
    "morphing, with the policy of a blended one": ({"motion": "morph"}, {"given": lambda g: np.ones(1)}),
    "the policy of a morphing one": ({"policy": "blended"}, {}),
    "an unknown bound": ({"policy": {"name": "convex", "bound": "best"}}, {}),
    "a front as text": ({"policy": {"name": "convex", "front": "yes"}}, {}),
    "two shapes": ({}, {"shapes": lambda s: np.concatenate([s, s])}),
    "no shape": ({}, {"shapes": lambda s: s[:0]}),
    "a shape that is not finite": ({}, {"shapes": lambda s: np.where(s == s[0, 3, 1], np.inf, s)}),
    "a shape that is too large": ({}, {"shapes": lambda s: s * 1.5e307}),
    "half a map": ({}, {"given": lambda g: g[:-6]}),
    "too few maps": ({}, {"given": lambda g: g[:-12]}),
    "no maps": ({}, {"given": lambda g: g[:0]}),
    "maps that are not numbers": ({}, {"given": first(np.nan)}),
    "maps beyond all": ({}, {"given": first(1e307)}),
    "weights below 0": ({}, {"skin_weights": first(-0.5)}),
    "weights that are not numbers": ({}, {"skin_weights": last(np.nan)}),
    "weights of another sum": ({}, {"skin_weights": lambda w: w * 1.1}),
    "too few weights": ({}, {"skin_weights": lambda w: w[:-1]}),
    "a map that is not there": ({}, {"skin_which": at(3, 10**6)}),
    "a map below 0": ({}, {"skin_which": at(3, -1)}),
    "rows that begin at 7": ({}, {"skin_begins": first(7)}),
    "rows that end beyond all": ({}, {"skin_begins": last(10**9)}),
    "rows that go back": ({}, {"skin_begins": at(3, 10**9)}),
    "rows below 0": ({}, {"skin_begins": at(2, -(2**62))}),
    "too few rows": ({}, {"skin_begins": lambda b: b[:-1]}),
    "no rows": ({}, {"skin_begins": lambda b: b[:0]}),
    "an origin beyond all": ({"origin": [1.7e308, 0, 0]}, {}),
    "a transform beyond all": ({"transform": [[1, 0, 0, 1.797e308], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]},
                               {"shapes": lambda s: s * 1e305}),
}


@pytest.mark.parametrize(("meta", "arrays"), HOSTILE.values(), ids=HOSTILE.keys())
def test_files_that_are_refused(meta, arrays, tmp_path):
    path = tmp_path / "body"
    pl.Body.blended(BALL * 10, FACES, blends.near(BALL, 3)).save(path)
    with np.load(path) as members:
        held = dict(members)
    held["meta"] = np.frombuffer(json.dumps({**json.loads(held["meta"].tobytes()), **meta}).encode(), np.uint8)
    for name, change in arrays.items():
        held[name] = change(held[name])
    with open(path, "wb") as file:
        np.savez(file, **held)
    with pytest.raises(FileError, match=str(path)):
        pl.Body.load(path)
