"""The bone of a polygon against sums by hand."""

from collections import defaultdict

import numpy as np
import pytest

from pliant.io import bones
from pliant.io.bones import find_bones


def slow_bone(corners, joints, weights):
    """The number of the bone, −1 for none."""
    sums = defaultdict(float)
    for corner in corners:
        for joint, weight in zip(joints[corner].tolist(), weights[corner].tolist(), strict=True):
            sums[joint] += weight
    best = max(sums.values(), default=0.0)
    return min(joint for joint, total in sums.items() if total == best) if best > 0 else -1


@pytest.mark.parametrize("seed", range(6))
def test_the_bone_with_the_largest_sum(seed, monkeypatch):
    """Polygons of any size; vertices that name a bone twice, or with nothing; bones that carry equally much; several chunks."""
    monkeypatch.setattr(bones, "CHUNK", 7)
    generator = np.random.default_rng(seed)
    counts = generator.integers(3, 7, 40)
    corners, joints = generator.integers(0, 30, counts.sum()), generator.integers(0, 5, (30, 4))
    weights = generator.integers(0, 3, (30, 4)) / 4.0  # sums are exact, and often equal
    weights[generator.random(30) < 0.7 * (seed % 2)] = 0.0
    found = find_bones([f"bone {k}" for k in range(9)], corners, counts, joints, weights)
    begins = np.cumsum(counts) - counts
    expected = [slow_bone(corners[begin : begin + count], joints, weights) for begin, count in zip(begins, counts, strict=True)]
    assert [found.names[k] if k >= 0 else None for k in found.of_polygon] == [f"bone {k}" if k >= 0 else None for k in expected]
    assert len(set(found.names)) == len(found.names) == len(set(expected) - {-1}), "names of bones that carry something, once"


def test_no_polygons_and_no_weights():
    none = np.zeros(0, np.int64)
    assert find_bones(["a"], none, none, np.zeros((0, 4), np.int64), np.zeros((0, 4))).names == []
    found = find_bones(["a"], np.arange(3), np.array([3]), np.zeros((3, 4), np.int64), np.zeros((3, 4)))
    assert found.names == [] and found.of_polygon.tolist() == [-1]
