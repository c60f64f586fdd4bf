"""Boxes around the rays that are on, for bundles of ever more of them, as NumPy finds them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.image.merge import EMPTY_BOX, MAX_SIZE, enclosing, level_layout, pack_box, ray_box, unpack_box
from pliant.image.passes_cpu import merge
from trials import OFF, often

pytestmark = pytest.mark.formulas


def boxed(on, left, low, side, margin):
    """The box around what is on of so many pixels a side from (left, low) on, a margin around it; NONE if nothing is."""
    size = len(on)
    rows, columns = np.nonzero(on[low:low + side, left:left + side])
    if not len(rows):
        return EMPTY_BOX
    return pack_box(max(left + columns.min() - margin, 0), max(low + rows.min() - margin, 0),
                    min(left + columns.max() + margin, size - 1), min(low + rows.max() + margin, size - 1))


@pytest.mark.parametrize("margin", [0, 1, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8] if OFF else [1, 2, 3, 5, 7, 8, 33, 64, 100])
def test_every_texel_holds_what_is_on_below_it(size, margin):
    rng = np.random.default_rng(size)
    for share in (0.0, 0.02, 0.3, 1.0):
        on = (rng.random((size, size)) < share).astype(np.uint8)
        boxes, begins, sides = merge(on.reshape(-1), size, margin)
        assert (sides[0], sides[-1], len(boxes)) == (size, 1, sum(sides[1:] ** 2))
        for level in range(1, len(sides)):
            for y in range(sides[level]):
                for x in range(sides[level]):
                    found = boxes[begins[level] + y * sides[level] + x]
                    assert found == boxed(on, x << level, y << level, 1 << level, margin)
        assert boxes[-1] == boxed(on, 0, 0, size, margin)


@pytest.mark.parametrize("size", [*range(1, 40), 1000, 1024, MAX_SIZE - 1, MAX_SIZE])
def test_levels_follow_each_other(size):
    begins, sides, total = level_layout(size)
    assert (sides[0], sides[-1], begins[0], begins[1]) == (size, 1, -1, 0)
    assert all((below + 1) // 2 == side for below, side in pairwise(sides))
    assert (begins[1:] + sides[1:] ** 2).tolist() == [*begins[2:].tolist(), total]
    assert all(side << level >= size for level, side in enumerate(sides.tolist()))


pixels = st.integers(0, MAX_SIZE - 1)
a_box = st.one_of(st.just(None), st.tuples(pixels, pixels, pixels, pixels).map(
    lambda t: (min(t[0], t[2]), min(t[1], t[3]), max(t[0], t[2]), max(t[1], t[3]))))


@often(200, share=10)
@given(a_box, a_box)
def test_boxes_of_two(a, b):
    one, other = (EMPTY_BOX if box is None else pack_box(*box) for box in (a, b))
    assert a is None or (tuple(unpack_box(one)) == a and one >= 0)
    both = enclosing(one, other)
    if a is None or b is None:
        assert both == (one if b is None else other)
    else:
        assert tuple(unpack_box(both)) == (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))


def test_rays_beyond_the_border_are_off():
    on = np.ones(9, np.uint8)
    assert ray_box(on, 2, 2, 3, 0) == pack_box(2, 2, 2, 2)
    assert ray_box(on, 2, 0, 3, 2) == pack_box(0, 0, 2, 2)
    assert ray_box(on, 3, 0, 3, 0) == ray_box(on, 0, 3, 3, 0) == EMPTY_BOX
    on[4] = 0
    assert ray_box(on, 1, 1, 3, 0) == EMPTY_BOX
