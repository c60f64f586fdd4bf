"""Morph targets and glasses
=========================

A face smiles and puffs its cheeks until they touch a pair of glasses. Which weights are free of collisions?
"""
import numpy as np

import pliant as pl
from pliant.shapes import icosphere

directions, faces = icosphere(6)                                        # 81,920 triangles; the face looks along -y


def bump(center, width):
    """(n,) 1 at a direction, falling off around it."""
    center = np.array(center) / np.linalg.norm(center)
    return np.exp((directions @ center - 1) / width ** 2)[:, None]


x, y, z = directions.T
outward = np.array([0, -1.0, 0])
sockets = bump([0.36, -0.85, 0.20], 0.15) + bump([-0.36, -0.85, 0.20], 0.15)
nose = bump([0, -1, -0.02], 0.085) + 0.8 * bump([0, -1, -0.14], 0.10) + 0.5 * bump([0, -1, 0.12], 0.07)
cheeks = bump([0.46, -0.80, -0.20], 0.20) + bump([-0.46, -0.80, -0.20], 0.20)
mouth = np.exp(-(((z + 0.44) / 0.05) ** 2) - (x / 0.27) ** 2)[:, None] * (y < 0)[:, None]
chin = bump([0, -0.80, -0.72], 0.18)
neutral = directions * [0.78, 0.88, 1.08] + outward * (0.24 * nose - 0.09 * sockets - 0.05 * mouth + 0.10 * chin + 0.04 * cheeks)
corners = bump([0.27, -0.85, -0.42], 0.13) - bump([-0.27, -0.85, -0.42], 0.13)
puff = neutral + cheeks * (outward * 0.22 + np.column_stack([0.16 * np.sign(x), 0 * x, 0 * x]))
smile = neutral + corners * [0.10, 0, 0] + np.abs(corners) * [0, -0.02, 0.11] + cheeks * [0, -0.10, 0.10]
head = pl.Body.morph([puff, smile], faces, base=neutral)


def ring(center, radius, thickness, around=96, sides=14):
    """A torus: the rim of a lens, tilted a little."""
    u, v = np.meshgrid(np.arange(around) * 2 * np.pi / around, np.arange(sides) * 2 * np.pi / sides, indexing="ij")
    wide = radius + thickness * np.cos(v)
    points = np.stack([wide * np.cos(u), thickness * np.sin(v) - 0.12 * np.abs(wide * np.cos(u) + center[0]), 0.85 * wide * np.sin(u)], -1)
    cell = np.arange(around * sides).reshape(around, sides)
    a, b, c, d = (np.roll(cell, shift, (0, 1)).ravel() for shift in ((0, 0), (-1, 0), (-1, -1), (0, -1)))
    return points.reshape(-1, 3) + center, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


(left, rim), (right, _) = (ring(np.array([side * 0.35, -0.95, 0.14]), 0.23, 0.02) for side in (-1, 1))
glasses = pl.Body.rigid(np.concatenate([left, right]), np.concatenate([rim, rim + len(left)]))

weights = np.linspace(0, 1, 13)
n_pairs = np.zeros((len(weights), len(weights)), int)
for i, amount in enumerate(weights):
    for j, width in enumerate(weights):
        head.update([amount, width])                                    # two numbers: no vertex is computed here
        n_pairs[i, j] = len(pl.collide(head, glasses))
    print(f"puff {amount:.2f}: free up to a smile of {weights[np.count_nonzero(n_pairs[i] == 0) - 1]:.2f}" if n_pairs[i, 0] == 0
          else f"puff {amount:.2f}: always collides")

assert n_pairs[0, 0] == 0 and n_pairs[-1, -1] > 0
