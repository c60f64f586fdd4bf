"""Clearance of a moving cable
===========================

A cable swings over an uneven plate. Each frame has the distance of the two, the closest points, and the faces that come too near.
"""
import numpy as np

import pliant as pl
from pliant.shapes import sheet

flat, faces = sheet(80, 40)
x, y = 4 * flat[:, 0] - 2, 2 * flat[:, 1] - 1
plate = pl.Body(np.column_stack([x, y, 0.16 * np.sin(2.3 * x + 0.5) * np.cos(2.9 * y) + 0.05 * np.sin(7 * x - 3 * y)]), faces)


def cable(time, rings=121, sides=12, radius=0.05):
    """A tube (rings · sides, 3) around a curve that hangs between two clips and swings."""
    s = np.linspace(0, 1, rings)
    swing, sag = 1.1 * np.sin(time), 0.62 + 0.05 * np.sin(2.7 * time)
    hang = 4 * s * (1 - s) * sag
    curve = np.column_stack([3.6 * s - 1.8 + 0.1 * np.sin(3 * np.pi * s + time), hang * np.sin(swing), 0.9 - hang * np.cos(swing)])
    along = np.gradient(curve, axis=0)
    side = np.cross(along, [0, 0, 1])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, along / np.linalg.norm(along, axis=1, keepdims=True))
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)[:, None]
    return (curve[:, None] + radius * (np.cos(turn) * side[:, None] + np.sin(turn) * up[:, None])).reshape(-1, 3)


ring, corner = np.divmod(np.arange(120 * 12), 12)
right = 12 * ring + (corner + 1) % 12
tube = np.concatenate([np.column_stack([12 * ring + corner, right, right + 12]),
                       np.column_stack([12 * ring + corner, right + 12, 12 * ring + corner + 12])])
body, tolerance = pl.Body(cable(0.0), tube), 0.12

times, gaps = np.linspace(0, 2 * np.pi, 60), []
for time in times:
    body.update(cable(time))
    gap = pl.distance(body, plate)                          # the closest points, one on each
    near = pl.within(body, plate, tolerance)                # all pairs of faces that are too near, with their distances
    assert np.isclose(np.linalg.norm(gap.points[1] - gap.points[0]), gap.distance)
    assert (len(near) > 0) == (gap.distance <= tolerance) and near.distances.min(initial=np.inf) in (gap.distance, np.inf)
    gaps.append(gap.distance)

worst = int(np.argmin(gaps))
print(f"least clearance {gaps[worst]:.4f} in frame {worst}; {np.count_nonzero(np.array(gaps) <= tolerance)} of {len(times)} frames are "
      f"nearer than {tolerance}")
assert 0 < gaps[worst] <= tolerance < max(gaps)
