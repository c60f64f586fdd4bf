"""Signed distance in a slice
==========================

The signed distance to a deforming body on a plane through it: negative inside, 0 on the surface, with the closest point of each sample.
"""
import numpy as np

import pliant as pl
from pliant.shapes import armed, icosphere

directions, faces = icosphere(4)                            # closed, faces counter-clockwise from outside
body = pl.Body(armed(directions, 0.0, body=5), faces)

across, axis = np.linspace(-2.6, 2.6, 183), np.linspace(-1.82, 1.82, 129)
x, z = np.meshgrid(across, axis)
samples = np.column_stack([x.ravel(), np.zeros(x.size), z.ravel()])

for time in (0.0, 1.0, 2.0):
    body.update(armed(directions, time, body=5))
    found = pl.closest(body, samples, signed=True)
    field = found.distance.reshape(x.shape)
    print(f"time {time}: {field.min():.3f} … {field.max():.3f}, {(field < 0).mean():.1%} of the slice are inside")

    assert np.allclose(np.linalg.norm(found.point - samples, axis=1), np.abs(found.distance))
    slopes = np.abs(np.diff(field, axis=0)) / (axis[1] - axis[0])
    assert slopes.max() <= 1 + 1e-9                         # a distance changes by at most the length of a step

hits = pl.cast_all(body, [0, 0, -5], [0, 0, 1])             # along the middle column, rays tell the same: in, out, in …
inside = np.searchsorted(hits.t, axis + 5) % 2 == 1
assert np.array_equal(inside, pl.closest(body, np.column_stack([0 * axis, 0 * axis, axis]), signed=True).distance < 0)
