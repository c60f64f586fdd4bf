"""A surface is closed where every edge is run along as often one way as the other."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import meshes
from pliant import shapes
from pliant.image.watertight import edge_hash, is_closed
from trials import OFF, often

pytestmark = pytest.mark.formulas


def by_edges(faces):
    """The same by counting."""
    count = Counter()
    for face in np.asarray(faces).reshape(-1, 3).tolist():
        for u, v in zip(face, face[1:] + face[:1], strict=True):
            if u != v:
                count[min(u, v), max(u, v)] += 1 if u < v else -1
    return not any(count.values())


def flat(faces):
    return np.asarray(faces, np.int32).reshape(-1)


def test_closed_and_open():
    cube, sphere, sheet = meshes.cube()[1], shapes.icosphere(0 if OFF else 3)[1], shapes.sheet(3, 3)[1]
    for faces in (cube, sphere, np.vstack([cube, cube]), np.vstack([cube, cube + 8]), cube[:, ::-1], np.roll(cube, 1, 1), [],
                  [[3, 3, 3]], [[1, 2, 2]], np.vstack([sheet, sheet[:, ::-1]])):
        assert by_edges(faces) and is_closed(flat(faces))
    flipped = np.array(cube)
    flipped[4] = flipped[4, ::-1]
    for faces in (cube[1:], sphere[:-1], sheet, [[0, 1, 2]], flipped, np.vstack([cube, cube[:1]]), np.vstack([cube, sheet + 8])):
        assert not by_edges(faces) and not is_closed(flat(faces))


def test_a_twisted_band_without_a_border_on_one_side():
    """A Möbius band, doubled into its own covering, is closed; alone it is not, however its faces turn."""
    n = 7
    band = [[k, k + 1, k + 2] if k % 2 == 0 else [k + 1, k, k + 2] for k in range(n)]
    band = np.array(band) % n
    assert not is_closed(flat(band))
    assert is_closed(flat(np.vstack([band, band[:, ::-1]])))


@often(300, share=10)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=8), st.sampled_from([0, 10**9, 2**31 - 5]))
@example([(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)], 2**31 - 5)
def test_any_faces(faces, start):
    assert is_closed(flat(np.array(faces, np.int64).reshape(-1, 3) + start)) == by_edges(faces)


def test_numbers_of_edges():
    """The other way round the number is minus itself; edges of a mesh have numbers that look random, so that no few of them add up to 0."""
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 2**31 - 1, (200, 2)).tolist() + [[k, k + 1] for k in range(200)]
    numbers = [int(edge_hash(np.int32(u), np.int32(v))) for u, v in ends]
    assert [int(edge_hash(np.int32(v), np.int32(u))) for u, v in ends] == [-number for number in numbers]
    assert edge_hash(np.int32(5), np.int32(5)) == 0
    near = {int(edge_hash(np.int32(u), np.int32(v))) for u in range(60) for v in range(u + 1, 60)}
    assert len(near) == 60 * 59 // 2 and 0 not in near
    assert abs(np.mean(list(near)) / 2**30 - 1) < 0.05
