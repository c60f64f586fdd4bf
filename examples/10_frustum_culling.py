"""Frustum culling
===============

A camera flies past bodies that deform. Faces that are wholly outside of its view are culled, exactly, before they are drawn.
"""
import numpy as np

import pliant as pl
from pliant.shapes import armed, icosphere

directions, faces = icosphere(4)
centers = np.array([[x, y, 0.0] for x in (-3, 0, 3) for y in (0, 3, 6)]) + [0.4, 0, 0]
scene = pl.Scene([pl.Body(armed(directions, 0.0, body=k) + center, faces) for k, center in enumerate(centers)])


def view_projection(eye, target, angle, near, far):
    """The matrix (4, 4) of a camera as OpenGL has it, and its inverse, for the corners of its frustum."""
    back = (eye - target) / np.linalg.norm(eye - target)
    right = np.cross([0, 0, 1], back) / np.linalg.norm(np.cross([0, 0, 1], back))
    view = np.eye(4)
    view[:3, :3] = [right, np.cross(back, right), back]
    view[:3, 3] = -view[:3, :3] @ eye
    scale, depth = 1 / np.tan(np.radians(angle) / 2), near - far
    projection = np.array([[scale / 1.4, 0, 0, 0], [0, scale, 0, 0], [0, 0, (far + near) / depth, 2 * far * near / depth], [0, 0, -1, 0]])
    return projection @ view


counts = []
for frame in range(6):
    scene.update({i: armed(directions, 0.3 * frame, body=i) + centers[i] for i in scene})
    eye = np.array([-4.5 + 0.4 * frame, -4.0, 1.6])
    matrix = view_projection(eye, np.array([0.3, 3.0, 0.0]), angle=26, near=1.0, far=9.0)
    seen = pl.frustum_cull(scene, matrix=matrix)
    counts.append(len(seen))
    print(f"frame {frame}: {len(seen):6,} of {len(centers) * len(faces):,} faces of {len(np.unique(seen.body))} bodies; "
          f"{seen.stats.n_p:,} faces were tested one by one")

    # The rule, in plain NumPy: a face stays unless all its corners are beyond the same side.
    for i, body in scene.items():
        clip = np.column_stack([body.vertices, np.ones(len(body.vertices))]) @ matrix.T
        distances = np.concatenate([clip[:, 3:] - clip[:, :3], clip[:, 3:] + clip[:, :3]], axis=1)
        stays = ~(distances < 0)[body.faces].all(axis=1).any(axis=1)
        assert np.array_equal(np.flatnonzero(stays), seen.face[seen.body == i])

assert 0 < min(counts) < max(counts) < len(centers) * len(faces) / 2
