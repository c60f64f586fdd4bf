"""Paper S's experiments on one core, and their figures in `docs/paper-s.md`.

    python -m benchmarks.paper_s                               as `pliant bench paper-s`, with its options, pinned to one core
    python -m benchmarks.paper_s --paste out/paper-s/paper-s.json      put the tables of that run between the markers of the page
    python -m benchmarks.paper_s --picture                     draw the scenes of the page
"""

import sys

import numpy as np

import pliant as pl
from benchmarks.papers import DOCS, main
from pliant.bench.scenes_s import hands, knots, quadrupeds, spheres
from pliant.report import picture

ONE, OTHER, RED = (0.75, 0.52, 0.34), (0.36, 0.50, 0.68), (0.85, 0.1, 0.1)
VIEWS = {spheres: (20_480, 80, -58, 24), knots: (3, 0, -58, 40), quadrupeds: (96_966, 60, -58, 20), hands: (100_000, 200, -70, 25)}


def draw(path, size=420):
    """A frame of each scene, side by side; faces that meet are red."""
    images = []
    for make, (faces, k, azimuth, elevation) in VIEWS.items():
        scene, view = make(faces, [k]), picture.View(azimuth, elevation)
        bodies, colours = [pl.Body.rigid(*mesh) for mesh in scene.meshes], []
        for body, pose in zip(bodies, scene.start().poses, strict=True):
            body.update(pose)
        pairs = pl.collide(*bodies).faces
        for body, colour, met in zip(bodies, (ONE, OTHER), pairs.T, strict=True):
            colours.append(np.tile([colour], (len(body), 1)))
            colours[-1][met] = RED
        images.append(picture.draw([(body.vertices, body.faces) for body in bodies], colours, size, view))
    picture.save(path, np.concatenate(images, axis=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--picture"]:
        draw(DOCS / "images" / "paper-s-scenes.png")
    else:
        main("paper-s")
