"""Two volumes, or a volume and a ray, attacked: what shares a point is never parted, what is near is never said to be farther, and a ray
that comes to a point of a volume does not miss it.

Two volumes are placed so that they touch, or nearly: the farthest point of one along a direction is put where the farthest of the other
against it is, and a little before or behind. Of two points, one of each, the squared distance is an upper bound of that of the volumes.
"""

from math import inf

import numpy as np

from attack import bound
from bounds.volumes import SIZES, farthest, file_of, put, reach_of, sane, slivers
from extents import LONG, constraints, kind, long, support_along, unit, vector
from pliant.query.collide import transformed
from pliant.volume.aabb import SCALE_UP
from pliant.volume.planes import clip_ray_to_slab
from pliant.volume.protocol import (
    MIN_NORMAL,
    REL_ERROR,
    Ray,
    RigidTransform,
    center,
    overlap,
    ray_interval,
    sat_cross_axes,
    separation,
    support_value,
    transform_volume,
)
from pliant.volume.slabcutball import SlabCutBall
from siblings import INSIDE, VOLUMES, exact

N = 4


def near_each_other(rng):
    """(2 N + 2, 3): points of two volumes, a direction; how far apart they are to be, a shear, how much is cut off."""
    points = np.concatenate([slivers(rng, N), slivers(rng, N) * rng.choice([1.0, 1.0, 1e-4, 1e4])])
    if rng.random() < 0.3:
        points[N:] = points[:N] * rng.choice([1, -1, 0.5])
    scale = rng.choice(SIZES[2:-2])
    way = rng.choice([rng.standard_normal(3), np.eye(3)[rng.integers(3)], points[1] - points[0]])
    gap = rng.choice([0.0, 1e-7, 1e-6, 1e-3, 1.0, -1e-7]) * rng.random()
    return np.concatenate([points * scale, [way if np.abs(way).max() > 0 else np.ones(3)], [[gap, rng.random(), rng.random()]]])


STARTS = {"touching": near_each_other}


def placed_beside(name, other, points):
    """(volume, volume, a point of the first, a point of the second) that are as far apart along the direction as the last row says."""
    way, gap = unit(long(points[2 * N])), points[2 * N + 1, 0]
    one, two = points[:N], points[N:2 * N]
    a, _ = put(name, 1, 0, one)
    p = farthest(a, one, way)
    apart = LONG(gap) * LONG(max(reach_of(one), reach_of(two)))
    for _ in range(2):                                                  # rounded, and fitted, anew
        b, _ = put(other, 1, 0, two)
        two = np.float64(long(two) + (p + apart * way - farthest(b, two, -way)))
    b, _ = put(other, 1, 0, two)
    return a, b, p, farthest(b, two, -way)


def within(name, v, point):
    return INSIDE[name](v, exact(np.float64(point).tolist()))


def apart(gap, p, q):
    """(error, bound) of a squared distance that volumes are said to have: how much of the share NEARLY, by which it is made less, has been
    used up. Below TINY nobody tells distances apart."""
    room = ((p - q) ** 2).sum() - LONG(gap) + LONG(float(MIN_NORMAL))
    margin = ((p - q) ** 2).sum() * LONG(float(REL_ERROR)) + LONG(float(MIN_NORMAL))
    return max(float(margin - room), 0.0), float(margin)


def larger(results):
    return max(results, key=lambda found: found[0] / found[1])


def attack_meets(name):
    @bound(f"{name}: meets, and is apart", file_of(name), ("overlap", "separation", "separating_gap"), STARTS, 120)
    def _(points):
        if not sane(points[:2 * N], 2.0**30) or not 0 < np.abs(points[2 * N]).max() < 2.0**30 or not abs(points[2 * N + 1, 0]) < 2.0**10:
            return None
        found = []
        for other in VOLUMES:
            a, b, p, q = placed_beside(name, other, points)
            shared = any(within(name, a, x) and within(other, b, x) for x in (p, q))
            if shared and not (overlap(a, b) and overlap(b, a)):
                return inf, 1.0
            gaps = separation(a, b), separation(b, a)
            if shared and max(gaps) > MIN_NORMAL:
                return inf, 1.0
            found.append(apart(max(gaps), p, q))
        return larger(found)


def turn_of(row):
    """A rotation (3, 3) from four numbers."""
    w, x, y, z = row / np.linalg.norm(row)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def attack_turned(name):
    file = "volume/obb_sat.py" if name == "aabb" else file_of(name)

    @bound(f"{name}: meets what was turned", file, ("transform_volume", "overlap", "sat_cross_axes"), STARTS, 200)
    def _(points):
        if not sane(points[:2 * N], 2.0**30) or not 0 < np.abs(points[2 * N]).max() < 2.0**30 or not np.abs(points[2 * N + 1]).max() < 8:
            return None
        way, (gap, shear, more) = unit(long(points[2 * N])), points[2 * N + 1]
        turn = turn_of(np.array([shear, more, *points[0, :2] / (np.abs(points[0]).max() or 1)]) + [1e-3, 0, 0, 0])
        one, two, found = points[:N], points[N:2 * N], []
        a, _ = put(name, 1, 0, one)
        p, size = farthest(a, one, way), reach_of(one) + reach_of(two)
        for other in VOLUMES:
            b, _ = put(other, 1, 0, two)
            q = farthest(b, two, -(long(turn).T @ way))
            move = np.float64(p + LONG(gap) * LONG(size) * way - long(turn) @ q)
            rounding = transformed.TRANSFORM_ERROR * (size + reach_of(move))
            loose = transformed.ROTATION_ERROR + 2 * np.abs(turn.T @ turn - np.eye(3)).max()
            turned = transform_volume(b, RigidTransform(*np.float32([*turn.reshape(-1), *move, rounding, loose])))
            at = long(turn) @ q + long(move)
            if within(name, a, at) and (not overlap(a, turned) or sat_cross_axes(a, turned)):
                return inf, 1.0
            found.append(apart(separation(a, turned), p, at) if type(turned).__name__ != "RotatedBox" or name in PLANES else (0.0, 1.0))
        return larger(found)


PLANES = [name for name in VOLUMES if name == "aabb" or name.startswith("kdop")]
for _name in VOLUMES:
    attack_meets(_name)
    attack_turned(_name)


# --- rays --------------------------------------------------------------------------------------------------------------------------------

def grazing(rng):
    """(N + 3, 3): points, the direction of a ray, that of the point which it comes to, (how far that is, what is cut off, how flat)."""
    points = slivers(rng, N)
    ray = rng.standard_normal(3) * rng.choice([0.0, 1.0, 1.0, 1e-6], 3)
    ray = ray if np.abs(ray).max() > 0 else np.eye(3)[rng.integers(3)]
    return np.concatenate([points, [ray], [rng.standard_normal(3)], [[2.0 ** rng.integers(-2, 4), rng.choice([0.0, 1e-7, 1e-3]), rng.choice(
        [0.0, 3.5 + rng.random()])]]])


def attack_pierce(name):
    @bound(f"{name}: pierce", file_of(name), ("ray_interval",), {"grazing": grazing}, 1500)
    def _(points):
        (step, towards), (t, less, flat), points = points[N:N + 2], points[N + 2], points[:N]
        if not sane(points, 2.0**20) or not 2.0**-10 < t < 2.0**10 or not 0 <= less < 1 or not 0 <= flat < 64:
            return None
        if not 2.0**-20 < np.abs(step).max() < 2.0**20 or not np.abs(towards).max() > 0:
            return None
        v, _ = put(name, 1, 0, points)
        way = long(towards)
        planes = [n for n, _ in constraints(v)]
        if kind(v) == "rss":
            planes = [sign * n for n in (np.cross(vector(v, "ux"), vector(v, "vx")), vector(v, "ux"), vector(v, "vx")) for sign in (1, -1)]
        if flat > 0 and planes:                                         # nearly beside a plane of the volume
            n = planes[int(flat * 1000) % len(planes)]
            if flat * 100 % 1 < 0.5:                                    # from its middle
                step = (farthest(v, points, n) - long(center(v))) / LONG(t)
            way, step = n, long(step) - (long(step) @ n) / (n @ n) * n
            step = -step if less > 0 else step
            step = np.float64(step - n / (n @ n) * (LONG(flat) * np.abs(n * step).sum() * LONG(float(REL_ERROR))))
        step, t = np.float32(step), np.float32(t)
        target = farthest(v, points, way)
        target = target + (long(points).mean(axis=0) - target) * LONG(less)
        origin = np.float32(target - LONG(t) * long(step))
        at = long(origin) + LONG(t) * long(step)
        slow = (step != 0) & (np.abs(step) < np.abs(step).max() * 2.0**-60)  # such are made faster before (`query/ray/transform.py`)
        if not np.isfinite(origin).all() or not within(name, v, at) or not np.abs(step).max() > 0 or slow.any():
            return None
        with np.errstate(all="ignore"):
            over = np.float32(1) / step
            over = np.where(step == 0, np.float32(np.inf), over)
            near, far = ray_interval(v, Ray(*origin, *over, np.float32(0), t, np.float32(0)))
        # `near` may be late by NEARLY of itself: of loops that is a fraction of the slack.
        if not (near <= far and near <= t * SCALE_UP and t <= far):
            return inf, 1.0
        margin = float(t) * float(REL_ERROR)
        return margin, 2 * margin + float(min(t - near, far - t))


for _name in VOLUMES:
    attack_pierce(_name)


def beside(rng):
    """(3, 3): the normal of a flat slab, a way along it, (how thick it is, how steeply the ray goes, ·)."""
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return np.stack([turn[2], turn[0] * rng.uniform(0.3, 1) + turn[1] * rng.uniform(-1, 1), [1e-5 * rng.random(), 3.5 + rng.random(), 0]])


@bound("obb: rays beside a plane", "volume/planes.py", ("clip_ray_to_slab",), {"beside": beside}, 8000)
def _(points):
    # A ray from the middle of a slab, just above it, that comes down to it where it ends.
    normal, along, (thick, steep, _) = np.float32(points[0]), points[1], points[2]
    if not abs(np.linalg.norm(np.float64(normal)) - 1) < 2.0**-20 or not 0 < thick < 1 or not 0 < steep < 5 or not np.abs(along).max() < 8:
        return None
    n, half = np.float64(normal), np.float32(thick)
    along = along - (along @ n) * n
    step = np.float32(along - n * (steep * np.abs(n * along).sum() * float(REL_ERROR)))
    origin = np.float32(along + n * float(half) * (1 - 2.0**-14) - step)
    at = long(origin) + long(step)
    if not np.abs(at @ long(normal)) <= LONG(half) or (step == 0).any():
        return None
    one, none = np.float32(1), np.float32(0)
    near, far = clip_ray_to_slab(none, one, Ray(*origin, *(one / step), none, one, none), *origin, *normal, -half, half)
    if not (near <= far and near <= 1 <= far):
        return inf, 1.0
    start, steps = long(origin) @ long(normal) - LONG(half), np.abs(n * np.float64(step)).sum() * float(REL_ERROR)
    return max(float(start), 0.0), 5.5 * steps


def any_slab(rng):
    """(3, 3): a normal, a direction, (where the slab begins, how thick it is, ·), near the poles most often."""
    ends = rng.choice([1 - 2.0 ** -rng.uniform(1, 24), rng.uniform(-1, 1)]), rng.choice([2.0 ** -rng.uniform(1, 24), rng.random()])
    return np.stack([rng.standard_normal(3), rng.standard_normal(3), [*ends, 1 + rng.random()]])


@bound("slabcutball: support of any slab", "volume/slabcutball.py", ("support_at_angle", "support_value", "sine"), {"slab": any_slab}, 4000)
def _(points):
    normal, way, (low, thick, radius) = points[0], points[1], points[2]
    if not -1 <= low <= 1 or not 0 <= thick <= 2 or not 0.5 < radius < 4 or not min(np.abs(normal).max(), np.abs(way).max()) > 1e-3:
        return None
    n, way, radius = np.float32(normal / np.linalg.norm(normal)), np.float32(way / np.linalg.norm(way)), np.float32(radius)
    f, e = np.float32(low) * radius, np.minimum(np.float32(low + thick) * radius, radius)
    zero = np.float32(0)
    v = SlabCutBall(zero, zero, zero, radius, *n, f, e)
    if not f <= e or not np.abs(way).max() > 0:
        return None
    return max(float(support_along(v, long(way)) - LONG(support_value(v, *way)) + LONG(radius) * LONG(float(REL_ERROR))),
               0.0), float(radius * REL_ERROR)
