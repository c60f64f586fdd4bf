"""Draw the scenes of Larsson and Akenine-Möller 2008, for the documentation: python -m experiments.larsson2008.picture"""

import numpy as np

import pliant as pl
from experiments.larsson2008.scenes import hands, knots, quadrupeds, spheres
from experiments.page import DOCS
from pliant.report import picture

ONE, OTHER, RED = (0.75, 0.52, 0.34), (0.36, 0.50, 0.68), (0.85, 0.1, 0.1)
VIEWS = {spheres: (20_480, 80, -58, 24), knots: (3, 0, -58, 40), quadrupeds: (96_966, 60, -58, 20), hands: (100_000, 200, -70, 25)}


def draw(path, size=420):
    """A frame of each scene, side by side; intersecting faces are red."""
    images = []
    for make, (faces, k, azimuth, elevation) in VIEWS.items():
        scene, view = make(faces, [k]), picture.Viewpoint(azimuth, elevation)
        bodies, colours = [pl.Body.rigid(*mesh) for mesh in scene.meshes], []
        for body, pose in zip(bodies, scene.start().poses, strict=True):
            body.update(pose)
        pairs = pl.collide(*bodies).faces
        for body, colour, met in zip(bodies, (ONE, OTHER), pairs.T, strict=True):
            colours.append(np.tile([colour], (len(body), 1)))
            colours[-1][met] = RED
        images.append(picture.draw([(body.vertices, body.faces) for body in bodies], colours, size, view))
    picture.save_picture(path, np.concatenate(images, axis=1))


if __name__ == "__main__":
    draw(DOCS / "images" / "larsson2008-scenes.png")
