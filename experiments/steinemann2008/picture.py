"""Draw the scenes of Steinemann et al. 2008, for the documentation: python -m experiments.steinemann2008.picture"""

import colorsys

import numpy as np

import pliant as pl
from experiments.page import DOCS
from experiments.steinemann2008.scenes import FEW, MANY, pulled, ring, shoal
from pliant.report import picture

FLESH, MEETING = (0.85, 0.60, 0.55), (0.90, 0.08, 0.05)
FRAMES, SHOWN = 60, (0, 27, 50)  # coarse meshes: intersecting faces are visible


def colours_of(scene, vertices):
    """A colour for each body, and another for intersecting faces."""
    faces = scene.body.faces
    found = pl.Scene([pl.Body(rows, faces) for rows in vertices]).collide()
    made = []
    for i in range(scene.bodies):
        colour = colorsys.hsv_to_rgb(i / scene.bodies, 0.45, 0.80) if scene.bodies > 1 else FLESH
        made.append(np.tile([colour], (len(faces), 1)))
        for side in (0, 1):
            made[-1][found.faces[found.bodies[:, side] == i, side]] = MEETING
    return made


def draw(path, size=400):
    """A column for each of three frames; a row for a brain, for figures with few and with many contacts, and for fish."""
    rows = []
    hanging, swimming = picture.Viewpoint(-60, 14, (0.0, 0.0, -1.1), 4.4), picture.Viewpoint(-50, 24, (1.5, 0.9, 1.2), 6.0)
    pulling = picture.Viewpoint(-62, 26, (0.65, 0.0, 0.1), 3.6)
    for scene, view in ((pulled(30_000, 509, FRAMES), pulling), (ring(2_857, 550, FEW, FRAMES), hanging),
                        (ring(2_857, 550, MANY, FRAMES), hanging), (shoal(24, 2_002, 96, FRAMES), swimming)):  # fmt: skip
        cells = []
        for k in SHOWN:
            vertices = list(scene.vertices(k))
            cells.append(picture.draw([(each, scene.body.faces) for each in vertices], colours_of(scene, vertices), size, view))
        rows.append(np.concatenate(cells, axis=1))
    picture.save_picture(path, np.concatenate(rows))


if __name__ == "__main__":
    draw(DOCS / "images" / "steinemann2008-scenes.png")
