"""A report of a simulation
========================

A ball falls into a sheet that deforms too late. A simulation that queries collisions in every step anyway can write a report of them: one
HTML file that plays the steps, with intersecting faces in red.
"""
from pathlib import Path

import numpy as np

import pliant as pl
from pliant import shapes
from pliant.check.recorder import Recorder

flat, faces = shapes.sheet(40, 40)
directions, round_faces = shapes.icosphere(3)
sheet, ball = pl.Body(flat, faces), pl.Body.rigid(0.15 * directions, round_faces)
scene, n_pairs = pl.Scene([sheet, ball]), []

with Recorder(Path("out/simulation"), {"sheet": sheet, "ball": ball}, name="A ball falls into a sheet", up="z") as recorder:
    for frame in range(40):
        height = 0.4 - 0.02 * frame
        ball.update([[1, 0, 0, 0.5], [0, 1, 0, 0.5], [0, 0, 1, height]])
        bump = np.exp(-(((flat[:, :2] - 0.5) / 0.25) ** 2).sum(axis=1))
        sheet.update(flat + [0, 0, 1] * (bump * min(0.0, height - 0.1))[:, None])         # should be 0.15 below the ball's center
        pairs = scene.collide()
        recorder.add(frame, pairs)
        n_pairs.append(len(pairs))
report = recorder.write()

colliding = np.count_nonzero(n_pairs)
print(f"{sum(n_pairs):,} pairs of triangles in {colliding} of {len(n_pairs)} frames: {report}, {report.stat().st_size / 1e6:.1f} MB")
assert n_pairs[0] == 0 and n_pairs[-1] > 0
