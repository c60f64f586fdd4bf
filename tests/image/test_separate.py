"""Which faces are left, and in which box: none that a ray meets is lost, and what is far from all rays is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from screens import flat

from pliant.image.cover import corners_of, extent_of, in_window, pixel_at
from pliant.image.merge import EMPTY_BOX, level_layout, unpack_box
from pliant.image.passes_cpu import merge, pack, separate
from pliant.image.screen import Viewport
from pliant.image.separate import finest_level
from trials import OFF, often

pytestmark = pytest.mark.formulas
NOTHING = np.float32(2.0**-100)


@often(200, share=10)
@given(st.lists(st.integers(0, 70), min_size=4, max_size=4))
def test_the_finest_level_with_four_texels(ends):
    left, right, low, high = *sorted(ends[:2]), *sorted(ends[2:])
    level = finest_level(left, low, right, high)

    def neighbours(level):
        return (right >> level) - (left >> level) <= 1 and (high >> level) - (low >> level) <= 1
    assert neighbours(level)
    assert level == 0 or not neighbours(level - 1)
    assert level < len(level_layout(71)[1])


def left_of(on, corners, margin=0):
    """The boxes of pixels of all faces, for a screen on which these pixels are on."""
    size = len(on)
    screen, faces = flat(corners)
    view = Viewport(np.zeros(18), NOTHING, NOTHING, size)
    return separate(screen, faces, view, margin, on.reshape(-1), *merge(on.reshape(-1), size, margin))


def own_box(corners, size):
    """The pixels of each face, or None."""
    screen, faces = flat(corners)
    for f in range(len(corners)):
        box = extent_of(corners_of(screen, faces, f), NOTHING, NOTHING)
        yield (int(pixel_at(box.left, size)), int(pixel_at(box.low, size)), int(pixel_at(box.right, size)),
               int(pixel_at(box.high, size))) if in_window(box, size) else None


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 20] if OFF else [1, 2, 3, 7, 20, 64, 65])
def test_faces_keep_all_rays_that_they_may_meet(size, margin):
    """And no pixels beyond their own; what is on in the four bundles, and nothing else, may keep one whose pixels are off."""
    rng = np.random.default_rng(size)
    n, kept, lost = 15 if OFF else 100, 0, 0
    for share in (0.0, 0.01, 0.3, 1.0):
        on = (rng.random((size, size)) < share).astype(np.uint8)
        spread = np.pad(on, margin)
        wide = np.max([np.roll(spread, (i, j), (0, 1)) for i in range(-margin, margin + 1) for j in range(-margin, margin + 1)], axis=0)
        wide = wide[margin:margin + size, margin:margin + size]
        corners = rng.uniform(-0.2, 1.2, (n, 1, 3)) * [size, size, 1024] + rng.standard_normal((n, 3, 3)) * size * 4.0 ** -rng.integers(
            0, 5, (n, 1, 1))
        for own, found in zip(own_box(corners, size), left_of(on, corners, margin), strict=True):
            if own is None:
                assert found == EMPTY_BOX
                continue
            rows, columns = np.nonzero((wide if margin == 0 else on)[own[1]:own[3] + 1, own[0]:own[2] + 1])
            if found == EMPTY_BOX:
                assert not len(rows)
                lost += 1
                continue
            left, low, right, high = map(int, unpack_box(found))
            assert own[0] <= left <= right <= own[2] and own[1] <= low <= high <= own[3]
            if len(rows):
                assert left <= own[0] + columns.min() and own[0] + columns.max() <= right
                assert low <= own[1] + rows.min() and own[1] + rows.max() <= high
            kept += 1
    assert kept and lost


def test_boxes_are_cut_down_to_the_rays():
    """Of a face over the whole screen only the part around two rays is left."""
    on = np.zeros((64, 64), np.uint8)
    on[10, 20] = on[12, 40] = 1
    whole = np.array([[[0, 0, 5], [64, 0, 5], [0, 64, 5.0]], [[0, 40, 5], [3, 40, 5], [0, 43, 5]]])
    found = left_of(on, whole)
    assert tuple(map(int, unpack_box(found[0]))) == (20, 10, 40, 12) and found[1] == EMPTY_BOX
    assert tuple(map(int, unpack_box(left_of(on, whole, 1)[0]))) == (19, 9, 41, 13)


@often(100, share=10)
@given(st.lists(st.booleans(), max_size=40))
def test_packing_keeps_the_order(there):
    sparse = np.where(there, np.arange(len(there), dtype=np.int64) + 7, EMPTY_BOX).astype(np.int64)
    left, boxes = pack(sparse)
    assert left.tolist() == np.flatnonzero(there).tolist()
    assert boxes.tolist() == sparse[left].tolist()
    assert (left.dtype, boxes.dtype) == (np.int32, np.int64)
