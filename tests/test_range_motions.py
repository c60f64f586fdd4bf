"""Every kind of body at sizes from 2**-1070 to 2**1018: placed by a transform, rigid, morphing and blended; as `test_range.py`.

The reference sees the vertices that the body gives. Sizes are such that maps and weights keep all of them below the largest numbers.
"""

import numpy as np
import pytest

import pliant as pl
import range_checks as checks
from pliant.motion.free import MAX_REACH, SCALE_STEP_BITS
from test_range import run

LIMIT = int(np.log2(MAX_REACH))
SIZES = sorted({*range(-1070, 1000, 90), *(LIMIT + k for k in (-50, -49, -48, -2, -1, 0, 1, 3, 8, SCALE_STEP_BITS)), -1040, -1022, 1010})
CASES = ("crossing", "300 sizes apart", "on a plate", "soups")
QUARTER = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
SLANTED = np.array([[2.0, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3
QUERIES = ("collide", "distance", "within", "closest", "inside", "rays", "visible", "scene", "image")


def placed(turn, shift):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, shift
    return matrix


def turned(rows, faces, k):
    body = pl.Body(rows, faces)
    body.update(transform=placed(SLANTED, np.ldexp([0.25, 0.5, -0.125], k)))
    return body


def rigid(rows, faces, k):
    body = pl.Body.rigid(rows, faces)
    body.update(placed(QUARTER, np.ldexp([0.25, 0.5, 0], k)))
    return body


def morphed(rows, faces, k):
    """Halfway between two shapes, and a little of a third."""
    other = rows[:, [1, 0, 2]] * [1, 1, -1]
    body = pl.Body.morph(np.array([rows, other, rows * 0.5]), faces)
    body.update([0.5, 0.125, 0.375])
    return body


def added(rows, faces, k):
    """A base and displacements."""
    body = pl.Body.morph(np.array([rows * 0.25, -rows[:, [2, 0, 1]]]), faces, base=rows, relative=True)
    body.update([0.5, -0.25])
    return body


def blended(rows, faces, k):
    """Two maps, one of which turns and shears."""
    weights = np.linspace(0.0, 1.0, len(rows))
    body = pl.Body.blended(rows, faces, np.stack([weights, 1 - weights], axis=1))
    second = np.hstack([SLANTED * [1, 0.5, 1], np.ldexp([[0.25], [0.5], [0.0]], k)])
    body.update(np.stack([np.eye(3, 4), second]))
    return body


KINDS = {"transform": turned, "rigid": rigid, "morph": morphed, "displaced": added, "blended": blended}


def free(rows, faces, k):
    return pl.Body(rows, faces)


def tries(kind):
    """(name, k, case, a, b): the first body of this kind, and at every other size the second."""
    for name in CASES:
        for at, k in enumerate(SIZES):
            case = checks.scaled(checks.cases()[name], k)
            if case is not None:
                yield name, k, case, KINDS[kind](case.a, case.faces_a, k), (KINDS[kind] if at % 2 else free)(case.b, case.faces_b, k)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", list(KINDS))
def test_kinds_of_bodies(kind, query):
    def check(case, a, b):
        seen = case._replace(a=np.array(a.vertices), b=np.array(b.vertices), exact=False)
        checks.PAIRS[query](seen, a, b)
    assert run(tries(kind), check) > 80


@pytest.mark.parametrize("kind", list(KINDS))
def test_kinds_of_bodies_with_themselves(kind):
    def check(case, a, b):
        rows, faces = checks.joined(case)
        body = KINDS[kind](rows, faces, 0)
        seen = case._replace(a=np.array(body.vertices)[:len(case.a)], b=np.array(body.vertices)[len(case.a):], exact=False)
        checks.check_self(seen, body)
    assert run(((name, k, *rest) for at, (name, k, *rest) in enumerate(tries(kind)) if at % 3 == 0 and k < 1000), check) > 20


@pytest.mark.parametrize("kind", ["morph", "displaced", "blended"])
def test_answers_of_deforming_bodies_are_those_of_free_ones(kind):
    """To the bit: which stage decides a ray depends on the triangle, not on what a motion can tell of its range."""
    for name, k, case, a, _ in tries(kind):
        if name != "crossing":
            continue
        twin = free(np.array(a.vertices), case.faces_a, k)
        origins, directions = checks.rays_of(case)
        one, other = pl.cast_all(a, origins, directions), pl.cast_all(twin, origins, directions)
        for field in ("ray", "t", "face", "uv"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field), f"{field}, 2**{k}")
