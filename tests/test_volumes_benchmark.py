"""The proof that volumes are never short and no overlap is missed, small; and that it can fail."""

import numba
import numpy as np
import pytest

from benchmarks import volumes
from benchmarks.inside import DOUBTFUL, INSIDE, SHARE, exactly, outside
from pliant.core.soa import lane, load_bounds, put_lane
from pliant.tree.nodes import node_dtype
from pliant.volume.protocol import VOLUME_TYPES
from siblings import INSIDE as HOLDS
from siblings import VOLUMES, Siblings, exact

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|underflow) encountered:RuntimeWarning"))
CASES, GROUPS = (1, 1) if OFF else (8_000, volumes.GROUPS)


def examined(name, seed=91, cases=CASES):
    examiner, rng = volumes.Examiner(name), np.random.default_rng(seed)
    while examiner.cases < cases:
        examiner.take(volumes.batch(rng, GROUPS))
    return examiner.row()


def test_every_family_is_examined():
    assert volumes.NAMES == VOLUMES


@pytest.mark.slow
@pytest.mark.parametrize("name", volumes.NAMES[::3])                    # each is 8 s of compiling; the benchmark itself runs all of them
def test_nothing_is_lost_and_nothing_missed(name):
    row = examined(name)
    assert (row["lost"], row["missed"], row["missed_turned"], row["examples"]) == (0, 0, 0, [])
    assert row["cases"] >= CASES and row["points"] == 32 * row["cases"]
    if not OFF:
        assert row["pairs"] > row["cases"] and row["apart"] > 0.2 * row["cases"]
        assert 0.05 < row["needless"] < 0.9 and 0.05 < row["needless_turned"] < 0.9 and row["seconds"] > 0


@pytest.mark.parametrize("power", range(-148, 32, 60 if OFF else 6))
def test_small_and_large_triangles_of_one_body(volume_type, power):
    """Of all sizes that float32 has, near the origin and away from it: squares must not underflow unnoticed."""
    rng, examiner = np.random.default_rng(92), volumes.Examiner(volume_type.name)
    cases = volumes.batch(rng, 1 if OFF else 16)
    points = volumes.sets(rng, len(cases.kinds)) + rng.choice([0.0, 1.0], (len(cases.kinds), 1, 1, 1, 3))
    points = np.ascontiguousarray(points * 2.0**power)
    rows = np.zeros((*points.shape[:-1], 4), np.float32)
    with np.errstate(under="ignore"):
        rows[..., :3] = points
    examiner.take(cases._replace(points=points, rows=rows.reshape(-1)))
    assert (examiner.lost, examiner.examples) == (0, [])


# --- it can fail -------------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="too few cases to find anything")
@pytest.mark.parametrize("name", volumes.NAMES)
def test_points_that_were_moved_are_lost(name):
    """By half the size of their set; and pairs are missed where the way between frames is wrong."""
    rng = np.random.default_rng(93)
    cases = volumes.batch(rng, 64)
    examiner = volumes.Examiner(name)
    examiner.take(cases._replace(points=cases.points * 1.5))
    row = examiner.row()
    assert 0 < row["lost"] and 0 < len(row["examples"]) <= 5
    ways = cases.ways.copy()
    ways[:, 9:12] += 40 * np.abs(cases.points).max(axis=(1, 2, 3, 4))[:, None]
    examiner = volumes.Examiner(name)
    examiner.take(cases._replace(ways=ways.astype(np.float32)))
    row = examiner.row()
    assert row["missed"] > 0 and row["missed_turned"] > 0 and row["lost"] == 0


@pytest.mark.parametrize("name", volumes.NAMES)
def test_which_points_are_inside(name):
    """In float64, in fractions and as the tests of volumes have it: the same but for doubts; border, inside and outside."""
    rng, found = np.random.default_rng(94), set()
    made = Siblings(VOLUME_TYPES[name], 8, rng)
    for k in range(2 if OFF else 8):
        v = made.volume(0, k)
        middle = np.float64(made.points[k]).mean(axis=0)
        for _ in range(20):
            way, near, far = rng.standard_normal(3), 0.0, 64.0
            for _ in range(70):                                         # to the border, as closely as float64 can say
                far, near = ((near + far) / 2, near) if not exactly(v, middle + way * (near + far) / 2) else (far, (near + far) / 2)
            for t in (near, far, near * 0.9, far * 1.1, near * (1 - 1e-15)):
                point = (middle + way * t).tolist()
                told, right = outside(v, *np.float64(point), SHARE), exactly(v, point)
                if name != "rss" or told != DOUBTFUL:                   # whose nearest point is rounded there
                    assert right == HOLDS[name](v, exact(point))
                assert told == DOUBTFUL or (told == INSIDE) == right
                found.add((told, right))
    assert {(INSIDE, True), (1, False)} <= found


def test_pairs_are_what_they_are_said_to_be():
    """Those that touch have a point in common, those that are apart a plane between them; frames are where ways lead."""
    cases = volumes.batch(np.random.default_rng(95), 200)
    turn, move = cases.ways[:, :9].reshape(-1, 3, 3).astype(float), cases.ways[:, 9:12].astype(float)
    there = np.einsum("gxy,gkpy->gkpx", turn, cases.points[:, 1]) + move[:, None, None]
    size = np.abs(cases.points).max(axis=(1, 2, 3, 4)) + np.abs(move).max(axis=1) + 1e-300
    gap = np.abs(cases.points[:, 0, :, 0] - there[:, :, 0]).max(axis=(1, 2)) / size
    assert (gap[cases.kinds != volumes.APART] < 1e-6).all() and set(cases.kinds.tolist()) == {0, 1, 2}
    for g in np.flatnonzero(cases.kinds == volumes.APART):
        for k in range(volumes.WIDTH):
            normal = there[g, k, 0] - cases.points[g, 0, k, 0]
            high, low = (cases.points[g, 0, k] @ normal).max(), (there[g, k] @ normal).min()
            assert high <= low + 1e-5 * size[g] * np.linalg.norm(normal)


def test_what_waits_for_fractions_is_kept():
    """A volume in a record comes back as it was, and points on its very border are settled."""
    volume_type = VOLUME_TYPES["sphere"]
    records = np.zeros(1, node_dtype(volume_type.volume, 8))
    put_lane(records, 0, 3, volume_type.volume(*np.float32([1, 0, 0, 2])))
    v = lane(records, 0, 3)
    assert exactly(v, (3.0, 0.0, 0.0)) and not exactly(v, (3.0, 2.0**-60, 0.0))
    assert outside(v, *np.float64([3, 2.0**-60, 0]), SHARE) == DOUBTFUL
    assert not exactly(volume_type.empty._replace(radius=np.float32(-1)), (0.0, 0.0, 0.0))
    assert isinstance(load_bounds(records, 0), volume_type.volume)


def test_the_table():
    rows = [volumes.Examiner(name).row() | {"seconds": 1.0} for name in ("aabb", "rss")]
    table = volumes.table_of(rows)
    assert table.row_count == 2 and list(table.columns[2].cells) == list(table.columns[4].cells) == ["0", "0"]
    assert [volumes.short(n) for n in (0, 1234, 320_000_000)] == ["0", "1,234", "320 M"]
