"""Draw the scenes of Larsson and Akenine-Möller 2003, on morphing, for the documentation: python -m experiments.larsson2003a.picture"""

import numpy as np

import pliant as pl
from experiments.larsson2003a.scenes import swimmers
from experiments.page import DOCS
from pliant.report import picture

BLUE, RED = (0.35, 0.5, 0.65), (0.85, 0.1, 0.1)


def draw(path, faces=9_024, k=150, size=1_000):
    """One step of Fig 6.8; intersecting faces are red."""
    scene = swimmers(12, faces, 400)
    frame = scene.frame(k)
    bodies = [pl.Body.morph(scene.targets, scene.faces, rest=scene.rest) for _ in frame.weights]
    for body, weights, pose in zip(bodies, frame.weights, frame.poses, strict=True):
        body.update(weights, transform=pose)
    pairs, colours = pl.Scene(bodies).collide(), []
    for i in range(len(bodies)):
        colours.append(np.tile([BLUE], (faces, 1)))
        for side in range(2):
            colours[i][pairs.faces[pairs.bodies[:, side] == i, side]] = RED
    middle = tuple(frame.poses[:, :3, 3].mean(axis=0))
    image = picture.draw([(body.vertices, scene.faces) for body in bodies], colours, size, picture.Viewpoint(-58, 30, middle, 5.4))
    picture.save_picture(path, image[size // 4 : -size // 4])


if __name__ == "__main__":
    draw(DOCS / "images" / "larsson2003a-swimmers.png")
