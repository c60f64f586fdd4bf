"""A ray that stands for the pixels around it is found by every face over one of them, also across the border of a texel."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.image.merge import EMPTY_BOX, unpack_box
from pliant.image.passes_cpu import merge, separate
from trials import often

SIZE = 20
PIXEL = st.integers(0, SIZE - 1)


@pytest.mark.formulas
@given(st.tuples(PIXEL, PIXEL), st.tuples(PIXEL, PIXEL), st.tuples(PIXEL, PIXEL), st.integers(0, 2))
@often(400)
def test_faces_find_the_rays_around_them(one, other, ray, margin):
    (left, right), (low, high) = (sorted(pair) for pair in zip(one, other, strict=True))
    on = np.zeros(SIZE * SIZE, np.uint8)
    on[ray[1] * SIZE + ray[0]] = 1
    screen = np.zeros(12, np.float32)
    screen[0:2], screen[4:6], screen[8:10] = (left + 0.25, low + 0.25), (right + 0.75, low + 0.25), (left + 0.5, high + 0.75)
    view = SimpleNamespace(error_xy=np.float32(0), error_z=np.float32(0), size=SIZE)
    found, = separate(screen, np.arange(3, dtype=np.int32), view, margin, on, *merge(on, SIZE, margin))
    common = [max(left, ray[0] - margin), max(low, ray[1] - margin), min(right, ray[0] + margin), min(high, ray[1] + margin)]
    if common[0] <= common[2] and common[1] <= common[3]:
        assert [int(x) for x in unpack_box(found)] == common
    else:
        assert found == EMPTY_BOX
