"""Draw the picture of docs/volumes.md into docs/images: python docs/volume_pictures.py [folder]

Two spheres, one inside the other, and the volumes around them at four levels of their trees (Larsson and Akenine-Möller 2008, Fig 6): the
gap between the surfaces opens with slab cut balls and oriented boxes, and stays shut with balls. Needs the extra `pictures`.
"""

import sys
from pathlib import Path

import numpy as np
from drawing import BLUE, INK, PAPER, SAND, font
from PIL import Image, ImageDraw

import pliant as pl
from pliant.report import picture
from pliant.report.volume_meshes import volume_meshes

IMAGES = Path(__file__).resolve().parent / "images"
SIDE, HEAD, MARGIN = 300, 34, 118
VOLUMES = {"sphere": "balls", "slabcutball": "slab cut balls", "obb": "oriented boxes"}
LEVELS = (5, 7, 9, 11)
GAP = 0.88                                                              # of the radius: how large the inner sphere is


def half(vertices, faces):
    """Faces behind a plane through the middle, so that one sees into it."""
    return vertices, faces[vertices[faces].mean(axis=1)[:, 1] > 0]


def panel(volume_type, level):
    """Volumes of both spheres at a level."""
    vertices, faces = pl.shapes.icosphere(4)
    meshes = []
    for size in (1.0, GAP):
        body = pl.Body.rigid(vertices * size, faces, volume=volume_type, arity=2, leaf=1, build="centre")
        meshes.append(half(*volume_meshes(body, level, 2)))
    image = picture.draw(meshes, [np.array(BLUE) / 255, np.array(SAND) / 255], SIDE, picture.Viewpoint(-90, 4, (0, 0, 0), 2.5))
    return np.where((image == picture.draw([], [], SIDE)).all(axis=2, keepdims=True), np.uint8(PAPER), image)


def volumes_by_level():
    """All panels, a row for each bounding-volume type."""
    canvas = Image.new("RGB", (MARGIN + SIDE * len(LEVELS), HEAD + SIDE * len(VOLUMES)), PAPER)
    pen = ImageDraw.Draw(canvas)
    for j, level in enumerate(LEVELS):
        pen.text((MARGIN + SIDE * j + SIDE / 2, HEAD / 2), f"level {level}", INK, font(17), anchor="mm")
    for i, (volume_type, name) in enumerate(VOLUMES.items()):
        pen.multiline_text((12, HEAD + SIDE * i + SIDE / 2), name.replace(" ", "\n"), INK, font(17), anchor="lm")
        for j, level in enumerate(LEVELS):
            canvas.paste(Image.fromarray(panel(volume_type, level)), (MARGIN + SIDE * j, HEAD + SIDE * i))
    return canvas


def main(folder=IMAGES):
    path = Path(folder) / "volumes.png"
    volumes_by_level().quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:2])
