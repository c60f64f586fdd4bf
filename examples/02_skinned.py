"""An arm of two bones
===================

An arm of two bones bends at the elbow until its hand touches a box. Queries compute only some of the skinned vertices.
"""
import numpy as np

import pliant as pl
from pliant.shapes import icosphere

directions, faces = icosphere(5)                                        # 10,242 vertices
rest = directions * [2.0, 0.25, 0.25] + [2.0, 0, 0]                     # from the shoulder at x = 0 to the hand at x = 4
upper = np.clip(2.5 - rest[:, 0], 0, 1)                                 # the elbow is at x = 2; weights change from x = 1.5 to 2.5

elbow = np.eye(4)
elbow[0, 3] = 2.0
bones = pl.Skeleton([-1, 0], [np.eye(4), np.linalg.inv(elbow)])
joints = np.tile([0, 1], (len(rest), 1))                                # as in files: joints of each vertex, and their weights
arm = pl.Body.blended(rest, faces, bones.weights(joints, np.stack([upper, 1 - upper], axis=1)))

vertices = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
sides = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
box = pl.Body(vertices * 0.4 + [2.9, 1.6, -0.2], sides)

touched = []
for degrees in range(0, 100, 10):
    turn = np.eye(4)
    angle = np.radians(degrees)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    arm.update(bones.maps([np.eye(4), elbow @ turn]))                   # two matrices: no vertex is computed here
    pairs, gap = pl.collide(arm, box), pl.distance(arm, box)
    computed = arm.n_computed
    print(f"{degrees:2}°: {len(pairs):3} pairs, distance {gap.distance:.3f}; queries computed {computed:5} of {len(rest):,} vertices")
    touched.append(len(pairs) > 0)
    assert (gap.distance == 0) == touched[-1] and computed < len(rest) / 10

assert not touched[0] and any(touched) and not touched[-1]
