"""How many pairs sampling may have missed, by how many rays there were through those found."""

import numpy as np
import pytest
from screens import flat

from pliant.image.estimate import MAX_SHARED, estimate_missed, shared_rays
from pliant.image.sample_cpu import count_shared_rays

pytestmark = pytest.mark.formulas
NOTHING = np.float32(2.0**-100)


@pytest.mark.parametrize(("tally", "missed"), [
    ((0, 0, 0, 0), 0), ((0, 0, 0, 99), 0), ((0, 1, 0, 5), 0), ((0, 2, 0, 5), 1), ((0, 6, 2, 5), 5), ((3, 6, 2, 5), 2), ((9, 6, 2, 5), 0)])
def test_few_rays_mean_many_unseen(tally, missed):
    """f₁ (f₁ − 1) / (2 (f₂ + 1)), less those that were found all the same; never below 0."""
    found = estimate_missed(np.array(tally))
    assert found == missed and not np.signbit(found)


def test_what_is_dropped_has_as_many_pairs_as_what_is_not():
    assert estimate_missed(np.array([0, 0, 0, 60]), 300, 100) == pytest.approx(20)
    assert estimate_missed(np.array([0, 6, 2, 52]), 300, 100) == pytest.approx(5 + 65 / 3)
    assert estimate_missed(np.zeros(4), 0, 100) == 0


def test_the_estimate_is_about_right():
    """Pairs that each ray finds with a small chance: what is estimated from those seen is about what was not."""
    rng = np.random.default_rng(1)
    for mean in (1.0, 2.0, 3.0):
        hits = rng.poisson(mean, 100_000)
        tally = np.bincount(np.minimum(hits, MAX_SHARED), minlength=MAX_SHARED + 1)
        assert estimate_missed(np.array([0, *tally[1:]])) == pytest.approx(tally[0], rel=0.05)


@pytest.mark.parametrize("margin", [0, 1])
def test_rays_through_both_boxes(margin):
    """Counted up to ENOUGH, in the pixels that the boxes of both faces have in common, and around them."""
    size, rng = 8, np.random.default_rng(2)
    corners = rng.uniform(-1, 9, (12, 1, 3)) + rng.uniform(-2, 2, (12, 3, 3))
    screen, faces = flat(corners)
    low = np.clip(np.floor(corners.min(1)), 0, size - 1).astype(int)
    high = np.clip(np.floor(corners.max(1)), 0, size - 1).astype(int)
    keys = [f << 32 | g for f in range(12) for g in range(f + 1, 12)]
    expected = np.zeros(MAX_SHARED + 1, np.int64)
    for share in (0.1, 0.5, 1.0):
        on, tally = (rng.random((size, size)) < share).astype(np.uint8), np.zeros(MAX_SHARED + 1, np.int64)
        expected[:] = 0
        for key in keys:
            f, g = key >> 32, key & 0xFFFFFFFF
            first, last = np.maximum(np.maximum(low[f], low[g]) - margin, 0), np.minimum(high[f], high[g]) + margin
            count = min(np.count_nonzero(on[first[1]:last[1] + 1, first[0]:last[0] + 1]), MAX_SHARED)
            apart = ((corners[f].max(0) < corners[g].min(0)) | (corners[g].max(0) < corners[f].min(0)))[:2].any()
            if not apart:                                               # pairs that were found are not
                assert shared_rays(screen, faces, key, NOTHING, NOTHING, size, margin, on.reshape(-1)) == count
            expected[int(shared_rays(screen, faces, key, NOTHING, NOTHING, size, margin, on.reshape(-1)))] += 1
        count_shared_rays(screen, faces, np.array(keys), NOTHING, NOTHING, size, margin, on.reshape(-1), tally)
        assert tally.tolist() == expected.tolist() and tally[1:].any()
