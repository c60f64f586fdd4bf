"""Other faces in every frame
==========================

A sheet that is re-meshed in every frame folds onto itself. The image engine takes vertices and faces, without a body or a BVH.
"""
import numpy as np

import pliant as pl


def folded(height, cells):
    """A sheet with other triangles in each frame, bent into an S whose bends approach each other."""
    across, along = cells, 2 * cells
    u, v = np.meshgrid(np.linspace(0, 1, across + 1), np.linspace(0, 1, along + 1), indexing="ij")
    bend = 2.4 * np.pi * v
    x, z = 0.3 * np.sin(bend) + 0.05 * np.sin(9 * u), height * v + 0.02 * np.sin(17 * u + 5 * v)
    corner = (np.arange(across)[:, None] * (along + 1) + np.arange(along)).reshape(-1)
    faces = np.stack([corner, corner + along + 1, corner + 1, corner + 1, corner + along + 1, corner + along + 2], 1)
    return np.stack([x + 0.35 * np.sin(2 * bend) / (1 + height), u, z], 2).reshape(-1, 3), faces.reshape(-1, 3).astype(np.int32)


n_pairs = []
for frame in range(8):
    vertices, faces = folded(1.2 - 0.16 * frame, 20 + 3 * frame)        # the number of faces changes, too
    pairs = pl.self_collide((vertices, faces), engine="image", contacts=True)
    stats = pairs.image
    print(f"{len(faces):5,} faces: {len(pairs):4} pairs; {stats.size}² pixels, {stats.packed} faces left for {stats.tests} tests")
    assert np.array_equal(pairs.faces, pl.self_collide(pl.Body(vertices, faces)).faces)    # the pairs of a BVH
    n_pairs.append(len(pairs))

assert n_pairs[0] == 0 and n_pairs[-1] > 0
