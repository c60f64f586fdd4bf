"""Saved morphing bodies come back as they were, and files that hold no such body are refused."""

import json

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshes
import pliant as pl
from morphs import BLENDED, FORMS, STAMPLESS, TIGHTER, morph, targets, weights
from pliant import shapes
from pliant.core import validate
from pliant.errors import FileError
from poses import matrix

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 1)
POLICIES = (*BLENDED, "bottom_up", "lazy", "hybrid", "rebuild")
TURN = matrix(meshes.rotation([1, 0, 0], 0.4), (0.1, 0.2, -0.1))


def others():
    return pl.Body(BALL * 0.9 + [0.5, 0.2, 0.1], FACES)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_saved_body_comes_back_as_it_was(form, policy, tmp_path):
    """Shapes, weights, transform and settings, to the bit; also where it moves next."""
    rows, rng = targets(BALL, 4), np.random.default_rng(9)
    if form != "targets" and policy is TIGHTER:
        policy = "auto"
    body = morph(form, rows, FACES, leaf=3, weld=True, policy=policy, origin=[0.1, 0, 0] if form == "base" else None)
    for transform in (None, TURN):
        body.update(weights(form, 4, rng), transform=transform)
        body.save(tmp_path / "body")
        loaded, free = pl.Body.load(tmp_path / "body"), pl.Body(body.vertices, FACES)
        found = pl.collide(loaded, others()).faces                      # before vertices are asked for
        np.testing.assert_array_equal(found, pl.collide(free, others()).faces)
        assert loaded.vertices.tobytes() == body.vertices.tobytes()
        assert repr(loaded) == repr(body) and loaded._options == body._options
        assert loaded._motion.origin.tobytes() == body._motion.origin.tobytes() and loaded._motion.fixed == body._motion.fixed
        factors = weights(form, 4, rng)
        for each in (loaded, body):
            each.update(factors)
        assert loaded.vertices.tobytes() == body.vertices.tobytes()
        np.testing.assert_array_equal(pl.collide(loaded, others()).faces, pl.collide(body, others()).faces)


@settings(max_examples=5 if OFF else 200, deadline=None, derandomize=True, database=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(-5e-7, 5e-7))
def test_weights_that_are_saved_come_back(given_weights, error):
    """Made 1 once, and not again."""
    given_weights = np.array(given_weights) + 1e-3
    once = validate.weights("weights", given_weights / given_weights.sum() * (1 + error), len(given_weights), True)
    assert validate.weights("weights", once, len(once), True).tobytes() == once.tobytes()


HOSTILE = {
    "another motion": ({"motion": "liquid"}, {}),
    "no motion": ({"motion": None}, {}),
    "a rigid one": ({"rigid": True}, {}),
    "free, with several shapes": ({"motion": "free", "policy": "auto"}, {}),
    "free, with one shape and weights": ({"motion": "free", "policy": "auto"}, {"shapes": lambda s: s[:1]}),
    "free, and blended": ({"motion": "free"}, {"shapes": lambda s: s[:1], "given": lambda w: w[:0]}),
    "additive with too many weights": ({"additive": True}, {}),
    "additive as text": ({"additive": "no"}, {}),
    "additive with references in between": ({"additive": True, "policy": {"name": "blended", "between": 2}}, {"given": lambda w: w[1:]}),
    "weights that are not numbers": ({}, {"given": lambda w: w * np.nan}),
    "weights below 0": ({}, {"given": lambda w: np.array([-1.0, 1, 1])}),
    "too few weights": ({}, {"given": lambda w: w[:-1]}),
    "no weights": ({}, {"given": lambda w: w[:0]}),
    "weights beyond all": ({"additive": True}, {"given": lambda w: np.full(2, 1e308)}),
    "no shapes": ({}, {"shapes": lambda s: s[:0], "given": lambda w: w[:0]}),
    "a shape that is not finite": ({}, {"shapes": lambda s: np.where(s == s[2, 3, 1], np.inf, s)}),
    "a shape that is too large": ({}, {"shapes": lambda s: s * 1.5e306}),
    "an unknown setting": ({"policy": {"name": "blended", "deep": 1}}, {}),
    "stamps as text": ({"policy": {"name": "blended", "stamps": "yes"}}, {}),
    "an origin beyond all": ({"origin": [1.7e308, 0, 0]}, {}),
    "a transform beyond all": ({"transform": [[1, 0, 0, 1.797e308], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]},
                               {"shapes": lambda s: s * 1e305}),
}


@pytest.mark.parametrize(("meta", "arrays"), HOSTILE.values(), ids=HOSTILE.keys())
def test_files_that_are_refused(meta, arrays, tmp_path):
    path = tmp_path / "body"
    pl.Body.morph(targets(BALL, 3) * 10, FACES, policy=STAMPLESS).save(path)
    with np.load(path) as members:
        held = dict(members)
    held["meta"] = np.frombuffer(json.dumps({**json.loads(held["meta"].tobytes()), **meta}).encode(), np.uint8)
    for name, change in arrays.items():
        held[name] = change(held[name])
    with open(path, "wb") as file:
        np.savez(file, **held)
    with pytest.raises(FileError, match=str(path)):
        pl.Body.load(path)
