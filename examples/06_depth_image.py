"""Depth and normals by ray casting
================================

A camera looks at a body that deforms: one ray for each pixel gives images of depth, of normals, and of shadows.
"""
import numpy as np

import pliant as pl
from pliant.shapes import armed, icosphere

directions, faces = icosphere(5)                                        # 20,480 triangles
body = pl.Body(armed(directions, 0.0, body=3), faces)

height, width = 280, 400
rows, columns = np.mgrid[0:height, 0:width]
eye, right, up, ahead = np.array([0.0, -4.2, 0.0]), np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([0, 1.0, 0])
rays = ahead + ((columns + 0.5 - width / 2)[..., None] * right - (rows + 0.5 - height / 2)[..., None] * up) * 0.85 / width
rays = rays.reshape(-1, 3)
sun = np.array([-0.5, -0.6, 0.7])

for time in (0.0, 0.7, 1.4):
    body.update(armed(directions, time, body=3))                        # only volumes that rays come near are refitted
    hits = pl.cast(body, eye, rays)
    depth = np.where(hits.hit, hits.t, np.nan).reshape(height, width)   # in units of `ahead`: the distance from the image plane
    normals = hits.normal                                               # (n, 3) unit vectors, NaN for rays that miss
    seen = np.flatnonzero(hits.hit)
    shadow = np.zeros(len(rays), bool)
    shadow[seen] = pl.occluded(body, hits.point[seen] + 1e-6 * normals[seen], sun)
    print(f"time {time}: {len(seen):6,} of {len(rays):,} rays hit, depth {np.nanmin(depth):.3f} … {np.nanmax(depth):.3f}, "
          f"{shadow[seen].mean():.0%} in shadow")

    assert np.allclose(hits.point[seen], eye + hits.t[seen, None] * rays[seen], atol=1e-9)
    assert (np.einsum("ij,ij->i", normals[seen], rays[seen]) <= 0).all()             # the first hit is on the outside

assert 0.1 < len(seen) / len(rays) < 0.9
