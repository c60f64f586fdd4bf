"""Other faces in every frame
==========================

A sheet that is meshed anew in every frame folds onto itself: no body, no tree, just vertices and faces of the moment.
"""
import numpy as np

import pliant as pl


def folded(height, cells):
    """A sheet of other triangles each time, bent into an S whose bends come together."""
    across, along = cells, 2 * cells
    u, v = np.meshgrid(np.linspace(0, 1, across + 1), np.linspace(0, 1, along + 1), indexing="ij")
    bend = 2.4 * np.pi * v
    x, z = 0.3 * np.sin(bend) + 0.05 * np.sin(9 * u), height * v + 0.02 * np.sin(17 * u + 5 * v)
    corner = (np.arange(across)[:, None] * (along + 1) + np.arange(along)).reshape(-1)
    faces = np.stack([corner, corner + along + 1, corner + 1, corner + 1, corner + along + 1, corner + along + 2], 1)
    return np.stack([x + 0.35 * np.sin(2 * bend) / (1 + height), u, z], 2).reshape(-1, 3), faces.reshape(-1, 3).astype(np.int32)


met = []
for frame in range(8):
    vertices, faces = folded(1.2 - 0.16 * frame, 20 + 3 * frame)        # the number of faces changes, too
    pairs = pl.self_collide((vertices, faces), engine="image", contacts=True)
    about = pairs.image
    print(f"{len(faces):5,} faces: {len(pairs):4} pairs; {about.size}² pixels, {about.packed} faces left for {about.tests} tests")
    assert np.array_equal(pairs.faces, pl.self_collide(pl.Body(vertices, faces)).faces)    # what a tree finds, built for this frame alone
    met.append(len(pairs))

assert met[0] == 0 and met[-1] > 0
