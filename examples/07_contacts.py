"""Contacts and push directions
============================

A bumpy ball is pressed into a soft cushion. Each pair of intersecting faces has the segment of intersection, and the shortest move that
separates the two faces.
"""
import numpy as np

import pliant as pl
from pliant.shapes import bumpy, icosphere, sheet

directions, ball_faces = icosphere(3)
flat, faces = sheet(44, 44)
side = 2.6 * (flat[:, :2] - 0.5)
cushion = pl.Body(np.column_stack([side, 0.12 * np.cos(2.1 * side[:, 0]) * np.cos(1.7 * side[:, 1])]), faces)
ball = pl.Body(0.62 * bumpy(directions, 0.4) + [0.1, -0.05, 0.55], ball_faces)

pairs = pl.collide(ball, cushion, contacts=True)
lengths = np.linalg.norm(pairs.segments[:, 1] - pairs.segments[:, 0], axis=1)
print(f"{len(pairs)} pairs along a curve of length {lengths.sum():.3f}; the deepest needs a move of {pairs.depths.max():.4f}")

# Moving the second face by depth · normal leaves the two touching; a little more, and they are separate.
for k in np.argsort(pairs.depths)[::-7]:
    i, j = pairs.faces[k]
    first = ball.vertices[ball.faces[i]]
    second = cushion.vertices[cushion.faces[j]]
    for part, meets in ((0.98, True), (1.02, False)):
        moved = second + part * pairs.depths[k] * pairs.normals[k]
        assert bool(pl.collide(pl.Body(first, [[0, 1, 2]]), pl.Body(moved, [[0, 1, 2]]))) == meets

# For a response: directions out of the other surface, for the faces of the ball and of the cushion.
push = pairs.push_directions[:, 0].mean(axis=0)
push /= np.linalg.norm(push)
print(f"the ball is pushed along {np.round(push, 3).tolist()}")
assert push[2] > 0.95

steps = 0
while pl.collide(ball, cushion, first=True):
    ball.update(ball.vertices + 0.01 * push)
    steps += 1
print(f"free after {steps} steps of 0.01")
assert 0 < steps < 40
