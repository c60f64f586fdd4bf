"""Volumes that follow without vertices, attacked: by maps (`convex`), by weights (`blended`), by how far vertices have come (`inflated`).

A small body of each kind is moved to what the search says, all its volumes are made true, and each must hold the float64 vertices under
it. The bound is the margin that the file derives, where it has one number for it, else a unit in the last place of each end.
"""

from functools import cache
from math import inf

import numpy as np

import pliant as pl
from attack import bound
from bounds.volumes import SIZES, used
from extents import LONG, constraints, kind, long, rooms
from pliant.core.soa import lane, load_bounds
from pliant.motion.weight_bounds import rounding_margin
from pliant.refit.inflated import displacement_bound
from pliant.volume.protocol import ULP
from refit.volume_checks import set_all, shape_of, vertices_under
from siblings import INSIDE, VOLUMES, exact

N_MAPS, N_SHAPES = 3, 3
GRID = np.array([[x, y, 0.0] for x in range(5) for y in range(3)])
FACES = np.arange(len(GRID))[:, None].repeat(3, axis=1)                 # single points: nothing but rounding makes volumes larger
LEAF = {"leaf": 1, "arity": 8}


def weights_of(seed):
    """(15, 3): of few maps each, which sum up to 1 but for rounding."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(N_MAPS) / 2, len(GRID))
    weights[weights < 0.1] = 0
    return weights / weights.sum(axis=1, keepdims=True)


@cache
def blended(volume, how, boxes):
    rest = GRID * [1, 1, 0] + np.random.default_rng(3).standard_normal(GRID.shape) * 0.1
    return pl.Body.blended(rest, FACES, weights_of(5), volume=volume, policy={"name": "convex", "bound": how, "boxes": boxes}, **LEAF)


def tightest_lane(body, margin):
    """(error, bound) of all volumes of a body whose vertices are where they are."""
    set_all(body)
    shape, worst = shape_of(body), (0.0, 1.0)
    places = (long(body._motion.vertices) - long(body._motion.origin[:3])) * LONG(body._motion.scale)
    inside = INSIDE[body._options.volume_type.name]
    for (i, k), some in vertices_under(shape.tree).items():
        v = load_bounds(shape.nodes, 0) if i < 0 else lane(shape.nodes, i, k)
        room = rooms(v, places[some])
        at, point = np.unravel_index(np.argmin(room), room.shape)
        if room[at, point] < 0 or not inside(v, exact(np.float64(places[some[point]]).tolist())):
            return inf, 1.0
        ends = [abs(end) for _, end in constraints(v)] + [LONG(getattr(v, "radius", 0))] * (kind(v) not in ("planes", "obb"))
        worst = max(worst, used(room[at, point], margin or ends[at] * LONG(float(ULP)) + LONG(2.0**-100)), key=lambda p: p[0] / p[1])
    return worst


def some_maps(rng):
    """(12, 3): three maps, turned, sheared, stretched, flattened and shifted; far away, or such that they cancel."""
    maps = np.tile(np.eye(3, 4), (N_MAPS, 1, 1)) * rng.choice([0.0, 1.0, 100.0])
    maps += rng.uniform(-1, 1, maps.shape) * rng.choice([0.0, 0.01, 1.0])
    maps[:, :, 3] += rng.standard_normal(3) * rng.choice([0.0, 1e3, 1e7]) + rng.standard_normal((N_MAPS, 3)) * rng.choice([0.0, 1e3])
    if rng.random() < 0.3:
        maps[1] = -maps[0]
    return (maps * rng.choice(SIZES)).reshape(-1, 3)


def attack_convex(volume, how, boxes):
    @bound(f"{volume}: convex by {how}, boxes {boxes}", "refit/convex.py",
           ("bound_node", "node_entry", "rounding_margin", "collect_ranges", "put_ranges"),
           {"maps": some_maps}, 100)
    def _(points):
        maps = points.reshape(N_MAPS, 3, 4)
        if not np.abs(maps).max() < 2.0**30:
            return None
        body = blended(volume, how, boxes)
        body.update(maps)
        motion = body._motion
        return tightest_lane(body, LONG(rounding_margin(N_MAPS, motion.size)) + 2 * LONG(motion.error_bound) if volume == "aabb" else None)


@cache
def morphing(volume, additive):
    rng = np.random.default_rng(7)
    shapes = [GRID + rng.standard_normal(GRID.shape) * size for size in (0.0, 1.0, 30.0)]
    return pl.Body.morph(shapes, FACES, base=GRID * 100 if additive else None, volume=volume, **LEAF)


def some_weights(rng):
    return np.append(rng.dirichlet(np.ones(N_SHAPES)), [0, 0, 0]).reshape(2, 3) * rng.choice([1.0, 1.0, -3.0, 1e-6])


def attack_blended(volume):
    @bound(f"{volume}: blended by weights", "refit/blended.py", ("blend_node", "scaled_weight", "choose_references"),
           {"weights": some_weights}, 100)
    def _(points):
        weights = points[0]
        if not np.abs(weights).max() < 2.0**20:
            return None
        body = morphing(volume, True)
        body.update(weights)
        found = tightest_lane(body, None)
        shares = np.abs(weights)
        if shares.sum() > 0 and found[0] < inf:
            other = morphing(volume, False)
            other.update(shares / shares.sum())
            found = max(found, tightest_lane(other, None), key=lambda pair: pair[0] / pair[1])
        return found


for _volume in VOLUMES:
    attack_convex(_volume, "eq12", "own")
    attack_blended(_volume)
attack_convex("aabb", "greedy", "own")
attack_convex("aabb", "greedy", "obb")
attack_convex("aabb", "eq12", "aabb")


def a_step(rng):
    """(2, 3): where a vertex was, and where it is; a few units in the last place apart, most often."""
    before = rng.standard_normal(3) * rng.choice(SIZES)
    after = before * (1 + rng.integers(-4, 5, 3) * 2.0**-24) + rng.standard_normal(3) * rng.choice([0.0, 0.0, 1e-12, 1.0])
    return np.stack([before, after])


@bound("inflated: a step of a vertex", "refit/inflated.py", ("displacement_bound", "measure_steps", "max_anchor_distance"),
       {"step": a_step}, 4000)
def _(points):
    if not np.abs(points).max() < 2.0**36:
        return None
    rows = np.float32(points)
    grown = displacement_bound(*rows[1], *rows[0])
    far = np.sqrt(((long(points[1]) - long(rows[0])) ** 2).sum())
    if (rows[0] == rows[1]).all():                                      # it hides what it hid before
        return (0.0 if grown == 0 else inf), 1.0
    hidden = np.sqrt(((long(rows[1]) - long(rows[0])) ** 2).sum())
    return max(float(far - hidden), 0.0), float(LONG(grown) - hidden)
