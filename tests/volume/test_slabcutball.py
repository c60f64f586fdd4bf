"""Slab cut balls: area and volume, how far they reach, and what the report's experiments rest on."""

import numpy as np
import pytest

import pliant as pl
import poses
from pliant import shapes
from pliant.volume.protocol import overlap, support_value
from pliant.volume.slabcutball import SlabCutBall, area, volume

pytestmark = pytest.mark.formulas


def random_ball(rng, size=1.0):
    """One that is cut anywhere, its centre in the slab or not."""
    normal = rng.standard_normal(3)
    f, e = np.sort(rng.uniform(-1, 1, 2)) * size
    return SlabCutBall(*np.float32([*rng.standard_normal(3), size, *normal / np.linalg.norm(normal), f, e]))


def points_in(ball, rng, n):
    """Points of it, evenly spread, and its share of the cube around the ball."""
    centre, normal = np.float64(ball[:3]), np.float64(ball[4:7])
    cube = rng.uniform(-1, 1, (n, 3)) * float(ball.radius)
    along = cube @ normal
    inside = (np.square(cube).sum(axis=1) <= float(ball.radius) ** 2) & (ball.f <= along) & (along <= ball.e)
    return cube[inside] + centre, inside.mean()


def test_volume_and_area():
    """By counting points, and by how much the volume grows with the radius and the planes: dV = A dr for a body between planes that move
    out with its surface."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        ball = random_ball(rng, 2.0)
        _, share = points_in(ball, rng, 200_000)
        assert float(volume(ball)) == pytest.approx(share * 4.0**3, abs=0.4)
        r, e, f, h = float(ball.radius), float(ball.e), float(ball.f), 1e-4
        wider = [SlabCutBall(*ball[:3], r + s * h, *ball[4:7], f - s * h, e + s * h) for s in (-1, 1)]
        grown = (float(volume64(wider[1])) - float(volume64(wider[0]))) / (2 * h)
        assert float(area(ball)) == pytest.approx(grown, rel=1e-3)


def volume64(a):
    """The volume in float64, by slices: the area of a slice is π (r² − z²)."""
    z = np.linspace(float(a.f), float(a.e), 20_001)
    slices = np.pi * (float(a.radius) ** 2 - z**2)
    return ((slices[1:] + slices[:-1]) / 2 * np.diff(z)).sum()


def test_span_is_exact():
    """Along any direction it reaches as far as its points do, no farther than rounding."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        ball, way = random_ball(rng), rng.standard_normal(3)
        axis = np.float64(ball[4:7])
        side = np.cross(axis, np.cross(axis, way))
        side /= -np.linalg.norm(side)
        z = np.linspace(float(ball.f), float(ball.e), 5001)
        rim = z[:, None] * axis + np.sqrt(np.maximum(float(ball.radius) ** 2 - z**2, 0))[:, None] * side
        reach = (rim @ way).max()
        told = float(support_value(ball, *np.float32(way)))
        assert reach <= told <= reach + 1e-4 * np.linalg.norm(way)


def test_pairs_that_share_a_point_meet_and_parallel_ones_part():
    """The printed test misses some of these: it compares ball 0 with slab 1 by the radius of ball 1."""
    rng, parted = np.random.default_rng(3), 0
    for _ in range(400):
        a, b = random_ball(rng, rng.uniform(0.1, 2)), random_ball(rng, rng.uniform(0.1, 2))
        inside, other = points_in(a, rng, 60)[0], points_in(b, rng, 60)[0]
        if not len(inside) or not len(other):
            continue
        move = inside[0] - other[0]
        moved = b._replace(x=np.float32(b.x + move[0]), y=np.float32(b.y + move[1]), z=np.float32(b.z + move[2]))
        near = a._replace(radius=np.float32(a.radius * 1.0001), e=np.float32(a.e + 1e-4), f=np.float32(a.f - 1e-4))
        assert overlap(near, moved) and overlap(moved, near)
        flat = a._replace(e=np.float32(0.01), f=np.float32(-0.01))
        above = flat._replace(**{name: np.float32(getattr(flat, name) + 0.03 * getattr(flat, "n" + name)) for name in "xyz"})
        parted += not overlap(flat, above)
    assert parted > 300


def test_close_proximity():
    """Two spheres, one in the other: slab cut balls are told apart long before balls are, and oriented boxes before boxes."""
    vertices, faces = shapes.icosphere(0 if pl.core.jit.DISABLED else 4)
    tests, inner = {}, 0.3 if pl.core.jit.DISABLED else 0.95
    for volume_type in ("aabb", "sphere", "slabcutball", "double_slabcutball", "obb", "rss"):
        a, b = (pl.Body.rigid(vertices * size, faces, volume=volume_type, arity=2, leaf=1) for size in (1.0, inner))
        b.update(poses.matrix(poses.any_turn(np.random.default_rng(4)), np.zeros(3)))
        found = pl.collide(a, b, traversal=pl.Traversal(descend="larger"))
        assert not len(found)
        tests[volume_type] = found.stats.n_v
    if not pl.core.jit.DISABLED:
        assert 10 * max(tests[name] for name in ("slabcutball", "double_slabcutball", "obb", "rss")) < tests["sphere"]
        assert tests["obb"] < tests["aabb"]
