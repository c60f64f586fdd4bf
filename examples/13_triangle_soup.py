"""Debris in a uniform grid
========================

A ball bursts into loose triangles. Every triangle goes its own way, so a hierarchy has nothing to follow: a uniform grid is filled anew in
each frame, and casts the same rays.
"""
import numpy as np

import pliant as pl
from pliant.shapes import icosphere

directions, faces = icosphere(5)
shards = 0.8 * directions[faces]                                        # (m, 3, 3): no two share a vertex
centers, m = shards.mean(axis=1), len(faces)
rng = np.random.default_rng(13)
speeds = centers * rng.uniform(0.3, 2.6, (m, 1)) ** 2 + rng.normal(scale=0.12, size=(m, 3)) + [0, 0, 0.9]
spins = rng.normal(scale=3.0, size=(m, 3))
begin = np.clip(1.2 * (centers[:, 2] + 0.35), 0, None)[:, None]         # the upper part goes first


def burst(time):
    """Vertices (3 m, 3) of the shards at a time: they fly, spin and fall."""
    gone = np.clip(time * begin, 0, None)
    angle = spins * gone
    local = shards - centers[:, None]
    turned = local + np.cross(angle[:, None], local) / (1 + (angle ** 2).sum(1))[:, None, None] ** 0.5
    return (turned + (centers + gone * speeds - [0, 0, 0.8] * gone ** 2)[:, None]).reshape(-1, 3)


soup = np.arange(3 * m).reshape(m, 3)
grid = pl.UniformGrid(burst(0.0), soup)

height, width = 350, 500
rows, columns = np.mgrid[0:height, 0:width]
origins = np.stack([(columns - width / 2) * 5.2 / width, np.full((height, width), -5.0), (height / 2 - rows) * 5.2 / width + 0.6], 2)
origins = origins.reshape(-1, 3)
sun = np.array([-0.5, -0.6, 0.8])

for time in (0.0, 0.4, 0.8):
    grid.update(burst(time))
    hits = pl.cast(grid, origins, [0, 1, 0])
    lit = ~pl.occluded(grid, hits.point[hits.hit] - [0, 1e-6, 0], sun)
    print(f"time {time}: {'x'.join(map(str, grid.cells))} cells, {hits.hit.sum():,} of {len(origins):,} rays hit, {hits.stats.n_p:,} tests "
          f"of triangles, {lit.mean():.0%} of the points are lit")
    same = pl.cast(pl.Body(burst(time), soup), origins, [0, 1, 0])
    assert np.array_equal(hits.t, same.t) and np.array_equal(hits.face, same.face)      # a BVH gives the same, to the bit

assert hits.hit.sum() > 10_000
