"""Do volumes always enclose their points, and is no overlap missed? Ten million random pairs of point sets for every bounding-volume type.

    python -m benchmarks.volumes           all types; options: --help

A case is two sets of eight float64 points, given to volumes as float32 relative to an origin, as in a body: general, flat, needle-shaped,
with coincident points, all the same, of sizes from 2**-140 to 2**30, up to 2**15 times their size away from the origin. Volumes are made by
`enclose_points` and by `fit` in turn, and merged, eight at a time. The counts:

    lost        points outside a volume that should enclose them, in real numbers: in float64 with a bound, then in fractions if undecided
    missed      pairs of sets with a common point, most of them with nothing else in common, to the rounding of float64, whose volumes are
                reported disjoint; the second set is given in a frame that is translated, or rotated at random
    needless    pairs reported to overlap, of those that a plane separates by 0.001 to 3 times their size: here types may differ

The exit status is 1 if a point is lost or a pair is missed. The time is that of one type, on one core: 3 s for boxes, up to 22 s for
spheres and k-DOPs, 80 to 106 s for fitted types, measured beside other work. Of 10,002,440 cases of each type, 320,078,080 points and
17,000,238 pairs, none was lost or missed.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.harness import alone, hardware
from benchmarks.inside import INSIDE, SHARE, exactly, outside
from pliant import volume as _volume_types  # noqa: F401 - importing registers them
from pliant.core.jit import helper, kernel
from pliant.core.simd import load4, maximum, minimum, movemask
from pliant.core.soa import aligned_zeros, lane, lanes, load_bounds, put_bounds, put_lane
from pliant.query.collide import transformed
from pliant.query.traverse import TRANSLATION_ERROR
from pliant.tree.nodes import node_dtype
from pliant.volume.protocol import (
    VOLUME_TYPES,
    RigidTransform,
    TightestFit,
    Translation,
    enclose_points,
    fit,
    merge,
    overlap,
    sat_cross_axes,
    transform_volume,
)

WIDTH, POINTS = 8, 8                                                    # cases of a group, points of a set
GROUPS = 1024                                                           # of a batch
CAPACITY = 4096                                                             # points of a batch that may be left to fractions
SHARING, TOUCHING, APART = range(3)
LEAST_REACH = 2.0**-20                                                  # of a body (motion/free.py)
NAMES = [name for name in VOLUME_TYPES if name != "kdop6"]              # which is a box


class Batch(NamedTuple):
    """Points (g, 2, 8, 8, 3) float64, each set in its own frame, and flat float32 rows of them; transforms (g, 14) from the second frame to
    the first, back (g, 14), and whether they rotate (g,); the kind of all cases of a group (g,)."""

    points: np.ndarray
    rows: np.ndarray
    ways: np.ndarray
    backs: np.ndarray
    turned: np.ndarray
    kinds: np.ndarray


# --- random cases ------------------------------------------------------------------------------------------------------------------

def rotations(rng, shape):
    """Random rotations (…, 3, 3), uniformly distributed."""
    w, x, y, z = np.moveaxis(unit(rng.standard_normal((*shape, 4))), -1, 0)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 2 * (x * y + z * w), 1 - 2 * (x * x + z * z),
            2 * (y * z - x * w), 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
    return np.stack(rows, -1).reshape(*shape, 3, 3)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def sets(rng, groups):
    """(g, 2, 8, 8, 3): point sets of about unit size around 0."""
    shape = (groups, 2, WIDTH)
    points = rng.standard_normal((*shape, POINTS, 3)) * rng.choice([1.0, 1.0, 1e-2, 1e-5, 0.0], (*shape, 1, 3))
    turn = rotations(rng, shape)
    turn[rng.random(shape) < 0.3] = np.eye(3)                           # along the axes
    points = points @ np.swapaxes(turn, -1, -2)
    how = rng.random(shape)
    twice, same = how < 0.2, how > 0.95
    points[twice, 4:] = points[twice, :4]
    points[same] = points[same][:, :1]
    return points


def batch(rng, groups=GROUPS):
    """Random cases."""
    kinds = rng.choice([SHARING, TOUCHING, TOUCHING, TOUCHING, APART], groups)
    size = 2.0 ** rng.uniform(-20, 15, groups)
    size[rng.random(groups) < 0.05] *= 2.0**15
    points, at = sets(rng, groups), rng.standard_normal((groups, WIDTH, 3)) * 0.5
    # From here on both sets share all points or touch; both on their sides of a plane, the second moved away for separated pairs.
    normal = unit(rng.standard_normal((groups, WIDTH, 3)))
    axes = (rng.random((groups, WIDTH)) < 0.3) & (kinds != APART)[:, None]  # an axis would favour boxes
    normal[axes] = np.eye(3)[rng.integers(0, 3, axes.sum())]
    for side, sign in ((0, -1.0), (1, 1.0)):
        along = np.einsum("gkpx,gkx->gkp", points[:, side], normal)
        wrong = np.where((kinds != SHARING)[:, None, None] & (along * sign < 0), along, 0.0)
        points[:, side] -= 2 * wrong[..., None] * normal[:, :, None]
    points[:, :, :, 0] = 0.0
    gap = np.where(kinds == APART, 10.0 ** rng.uniform(-3, 0.5, groups), 0.0)[:, None, None, None]
    points[:, 1] += gap * normal[:, :, None]
    offset = rng.standard_normal((groups, 1, 1, 3)) * rng.choice([0.0, 1.0, 2.0**5, 2.0**15], (groups, 1, 1, 1))
    points = (points + (at[:, :, None] + offset)[:, None]) * size[:, None, None, None, None]
    # Into the second frame.
    turned, move = rng.random(groups) < 0.5, rng.standard_normal((groups, 3)) * size[:, None] * 10.0 ** rng.integers(-6, 4, (groups, 1))
    turn = rotations(rng, (groups,))
    turn[~turned] = np.eye(3)
    tiny = (rng.random(groups) < 0.03) & ~turned                        # numbers near the limits of float32, in one frame
    points[tiny] *= 2.0 ** rng.integers(-140, -60, tiny.sum())[:, None, None, None, None]
    move[tiny] = 0.0
    points[:, 1] = np.einsum("gxy,gkpx->gkpy", turn, points[:, 1] - move[:, None, None])
    reach = np.maximum(np.abs(points).max(axis=(1, 2, 3, 4)), LEAST_REACH)
    far = np.abs(move).max(axis=1)
    margin = np.where(turned, 2 * (reach + far) * transformed.TRANSFORM_ERROR, (reach + far) * TRANSLATION_ERROR)
    rest = np.stack([margin, np.full(groups, transformed.ROTATION_ERROR)], axis=1)
    back = -np.einsum("gxy,gx->gy", turn, move)
    ways = np.concatenate([turn.reshape(-1, 9), move, rest], axis=1).astype(np.float32)
    backs = np.concatenate([np.swapaxes(turn, 1, 2).reshape(-1, 9), back, rest], axis=1).astype(np.float32)
    rows = np.zeros((*points.shape[:-1], 4), np.float32)
    with np.errstate(under="ignore"):
        rows[..., :3] = points
    return Batch(np.ascontiguousarray(points), rows.reshape(-1), ways, backs, turned, kinds)


# --- the examination -----------------------------------------------------------------------------------------------------------------

@helper
def look(v, points, begin, end, doubtful, places, n):
    """Leave points begin … end that may be lost to fractions; returns how many wait for them."""
    for p in range(begin, end):
        x, y, z = points[3 * p], points[3 * p + 1], points[3 * p + 2]
        if outside(v, x, y, z, SHARE) != INSIDE:
            if n < len(doubtful):
                put_bounds(doubtful, n, v)
                places[n, 0], places[n, 1], places[n, 2] = x, y, z
            n += 1
    return n


@helper
def turn_of(way):
    return RigidTransform(way[0], way[1], way[2], way[3], way[4], way[5], way[6], way[7], way[8], way[9], way[10], way[11], way[12],
                          way[13])


@helper
def shift_of(way):
    return Translation(way[9], way[10], way[11], way[12])


@kernel
def examine(nodes, points, rows, ways, backs, turned, kinds, order, doubtful, places, counts):
    """All cases of a batch: counts (3, 2, 2) of pairs, and of those reported to overlap, by kind and by rotation. Returns the number of
    points that are left to fractions."""
    n = 0
    for g in range(len(kinds)):
        for side in range(2):
            first = (2 * g + side) * WIDTH * POINTS
            for k in range(WIDTH):
                begin = first + k * POINTS
                low = high = load4(rows, 4 * begin)
                for p in range(begin, begin + POINTS):
                    low, high = minimum(low, load4(rows, 4 * p)), maximum(high, load4(rows, 4 * p))
                like = load_bounds(nodes, 2)
                if k % 2 == 0:
                    put_lane(nodes, side, k, enclose_points(like, low, high, rows, order, begin, begin + POINTS))
                else:
                    put_lane(nodes, side, k, fit(TightestFit(0), like, low, high, rows, order, begin, begin + POINTS))
                n = look(lane(nodes, side, k), points, begin, begin + POINTS, doubtful, places, n)
            put_bounds(nodes, side, merge(lanes(nodes, side)))
            n = look(load_bounds(nodes, side), points, first, first + WIDTH * POINTS, doubtful, places, n)
        a, b, way = lanes(nodes, 0), lanes(nodes, 1), ways[g]
        for k in range(WIDTH):
            if turned[g]:
                other, one = transform_volume(lane(nodes, 1, k), turn_of(way)), transform_volume(lane(nodes, 0, k), turn_of(backs[g]))
                met = movemask(overlap(a, other)) & ~movemask(sat_cross_axes(a, other))
                back = movemask(overlap(b, one)) & ~movemask(sat_cross_axes(b, one))
            else:
                met = movemask(overlap(a, transform_volume(lane(nodes, 1, k), shift_of(way))))
                back = movemask(overlap(b, transform_volume(lane(nodes, 0, k), shift_of(backs[g]))))
            counts[kinds[g], np.int64(turned[g]), 0] += 2
            counts[kinds[g], np.int64(turned[g]), 1] += (met >> k & 1) + (back >> k & 1)
        if kinds[g] != APART:                                           # merged volumes share all those points
            if turned[g]:
                other = transform_volume(load_bounds(nodes, 1), turn_of(way))
                met = movemask(overlap(load_bounds(nodes, 0), other)) & ~movemask(sat_cross_axes(load_bounds(nodes, 0), other))
            else:
                met = movemask(overlap(load_bounds(nodes, 0), transform_volume(load_bounds(nodes, 1), shift_of(way))))
            counts[kinds[g], np.int64(turned[g]), 0] += 1
            counts[kinds[g], np.int64(turned[g]), 1] += met & 1
    return n


class Examiner:
    """One bounding-volume type, and its counts so far."""

    def __init__(self, name):
        self.name, volume_type = name, VOLUME_TYPES[name]
        self.nodes, self.doubtful = (aligned_zeros(n, node_dtype(volume_type.volume, WIDTH)) for n in (3, CAPACITY))
        for field, value in zip(volume_type.volume._fields, volume_type.empty, strict=True):
            self.nodes["lanes"][field] = self.nodes["bounds"][field] = value
        self.places, self.counts = np.zeros((CAPACITY, 3)), np.zeros((3, 2, 2), np.int64)
        self.cases = self.doubts = self.lost = 0
        self.seconds, self.examples = 0.0, []

    def take(self, cases):
        """Examine a batch."""
        order = np.arange(cases.points.size // 3, dtype=np.int32)
        start = time.perf_counter()
        n = examine(self.nodes, cases.points.reshape(-1), cases.rows, cases.ways, cases.backs, cases.turned, cases.kinds, order,
                    self.doubtful, self.places, self.counts)
        self.seconds += time.perf_counter() - start
        self.cases, self.doubts, self.lost = self.cases + WIDTH * len(cases.kinds), self.doubts + n, self.lost + max(n - CAPACITY, 0)
        for k in range(min(n, CAPACITY)):
            v, place = load_bounds(self.doubtful, k), self.places[k].tolist()
            if not np.isfinite(v).all() or not exactly(v, place):
                self.lost += 1
                self.examples += [(v, place)] * (len(self.examples) < 5)

    def row(self):
        """The results as a row."""
        pairs, met = self.counts[..., 0], self.counts[..., 1]
        missed = (pairs - met)[[SHARING, TOUCHING]].sum(axis=0).tolist()
        needless = (met[APART] / np.maximum(pairs[APART], 1)).tolist()
        return {"volume": self.name, "cases": self.cases, "points": self.cases * 2 * 2 * POINTS, "doubts": self.doubts, "lost": self.lost,
                "pairs": int(pairs[[SHARING, TOUCHING]].sum()), "missed": missed[0], "missed_turned": missed[1],
                "apart": int(pairs[APART].sum()), "needless": needless[0], "needless_turned": needless[1], "seconds": self.seconds,
                "examples": [([float(x) for x in v], place) for v, place in self.examples]}


def table_of(rows):
    """The rich table of all rows."""
    table = Table("volume", title=f"Volumes around random points, {rows[0]['cases']:,} cases each")
    for column in ("points", "lost", "meeting", "missed", "turned", "apart", "needless", "turned", "s"):
        table.add_column(column, justify="right")
    for row in rows:
        cells = [short(row[name]) for name in ("points", "lost", "pairs", "missed", "missed_turned", "apart")]
        table.add_row(row["volume"], *cells, f"{row['needless']:.1%}", f"{row['needless_turned']:.1%}", f"{row['seconds']:.0f}")
    return table


def short(n):
    """A count: large ones in millions."""
    return f"{n / 1e6:.0f} M" if n >= 10**7 else f"{n:,}"


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.volumes", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000_000, help="of each bounding-volume type")
    parser.add_argument("--volumes", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    alone(options.pin)
    rng, console, examiners = np.random.default_rng(options.seed), Console(), [Examiner(name) for name in options.volumes]
    for examiner in examiners:                                          # loads the kernels
        examiner.take(batch(np.random.default_rng(0), 1))
        examiner.seconds = 0.0
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("cases"), TimeElapsedColumn(),
                   console=console, auto_refresh=False, transient=True)
    with bar as progress:
        task = progress.add_task("all types", total=options.cases)
        while examiners[0].cases < options.cases:
            cases = batch(rng)
            for examiner in examiners:
                examiner.take(cases)
            progress.update(task, completed=examiners[0].cases, refresh=True)
    rows = [examiner.row() for examiner in examiners]
    console.print(table_of(rows))
    for row in rows:
        for fields, place in row["examples"]:
            console.print(f"lost: {row['volume']}: {place} by {fields}", highlight=False)
    console.print(hardware(options.pin), highlight=False)
    if options.out:
        Path(options.out).write_text(json.dumps({"hardware": hardware(options.pin), "rows": rows}, indent=1), encoding="utf-8")
    sys.exit(any(row["lost"] or row["missed"] or row["missed_turned"] for row in rows))


if __name__ == "__main__":
    main()
