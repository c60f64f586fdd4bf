"""A report of a simulation
========================

A ball falls into a sheet that gives way too late. Whoever asks about collisions in every step anyway can have a report of all of them: one
HTML file that plays the steps, with what meets in red.
"""
from pathlib import Path

import numpy as np

import pliant as pl
from pliant import shapes
from pliant.check.recorder import Recorder

flat, faces = shapes.sheet(40, 40)
directions, round_faces = shapes.icosphere(3)
sheet, ball = pl.Body(flat, faces), pl.Body.rigid(0.15 * directions, round_faces)
scene, met = pl.Scene([sheet, ball]), []

with Recorder(Path("out/simulation"), {"sheet": sheet, "ball": ball}, name="A ball falls into a sheet", up="z") as recorder:
    for frame in range(40):
        height = 0.4 - 0.02 * frame
        ball.update([[1, 0, 0, 0.5], [0, 1, 0, 0.5], [0, 0, 1, height]])
        near = np.exp(-(((flat[:, :2] - 0.5) / 0.25) ** 2).sum(axis=1))
        sheet.update(flat + [0, 0, 1] * (near * min(0.0, height - 0.1))[:, None])         # it should be 0.15 below the middle of the ball
        pairs = scene.collide()
        recorder.add(frame, pairs)
        met.append(len(pairs))
report = recorder.write()

print(f"{sum(met):,} pairs of triangles in {np.count_nonzero(met)} of {len(met)} frames: {report}, {report.stat().st_size / 1e6:.1f} MB")
assert met[0] == 0 and met[-1] > 0
