"""Self-colliding cloth
====================

A cloth folds through itself and opens again. Every frame has its intersecting faces, the curves of intersection and the depths.
"""
import numpy as np

import pliant as pl
from pliant.shapes import folding_cloth

cloth = folding_cloth(2_000, frames=12)         # any vertices and faces work
_, edge, uses = np.unique(np.sort(cloth.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1),
                          axis=0, return_inverse=True, return_counts=True)
at_border = (uses == 1)[edge].reshape(-1, 3).any(axis=1)                # faces with a border edge

body, found = pl.Body(cloth.frame(0), cloth.faces), []
for k in range(cloth.frames):
    body.update(cloth.frame(k))
    pairs = pl.self_collide(body, contacts=True)
    lengths = np.linalg.norm(pairs.segments[:, 1] - pairs.segments[:, 0], axis=1)
    print(f"frame {k:2}: {len(pairs):3} pairs along {lengths.sum():.3f}, deepest {pairs.depths.max(initial=0.0):.4f}")
    found.append(len(pairs))

    # Where one segment ends the next one begins, to the bit: together they are curves, which are closed or end at the border of the cloth.
    _, point, counts = np.unique(pairs.segments.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    open_ends = np.flatnonzero((counts == 1)[point.ravel()]) // 2       # pairs whose segment has an end that no other one has
    assert counts.max(initial=0) <= 2
    assert at_border[pairs.faces[open_ends]].any(axis=1).all()

assert found[:3] == [0, 0, 0] and found[-3:] == [0, 0, 0] and max(found) > 300
