"""Draw the picture of docs/blended.md into docs/images: python docs/blended_pictures.py [folder]

A surface of 10,242 vertices that follows 240 simulation nodes, at rest, while one arm is pulled, and after that is let go (paper M,
Fig 1). The elastic solver moves the nodes; vertices are where weights and maps put them. Needs the extra `pictures`.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from drawing import AMBER, BLUE, INK, PAPER, RED, font
from PIL import Image, ImageDraw

import pliant as pl
from pliant.motion.meshless import farthest_point_sampling
from pliant.report import picture
from pliant.shapes import armed, icosphere

IMAGES = Path(__file__).resolve().parent / "images"
SIDE, FOOT = 420, 44
COUNT, FEW = 240, 14                                                    # nodes, and how many of them are held, and pulled
PULLED, AFTER = (0.1, 80), (0.01, 300)                                  # seconds of a step, and how many; large steps bring it to rest
CAPTIONS = ("at rest", "one arm is pulled", f"{AFTER[0] * AFTER[1]:.0f} s after it is let go")
VIEW = picture.Viewpoint(-62, 14, (0.2, 0.1, 0.08), 3.7)


def creature(subdivisions=5):
    """A surface, and points all through it."""
    directions, faces = icosphere(subdivisions)
    vertices = armed(directions, 0.0, 4)
    return vertices, faces, np.concatenate([part * vertices[::3] for part in (0.1, 0.3, 0.5, 0.7, 0.9)])


class Pulled(NamedTuple):
    """A surface and its nodes at three moments."""

    vertices: np.ndarray  # at rest
    faces: np.ndarray
    weights: Any  # sparse (n, m)
    seen: list[tuple[np.ndarray, np.ndarray]]  # positions of nodes, and their maps
    held: np.ndarray
    pulled: np.ndarray


def moments(subdivisions=5):
    """What happens."""
    vertices, faces, inside = creature(subdivisions)
    rest = inside[farthest_point_sampling(inside, COUNT)]
    nodes = pl.MeshlessNodes(rest, 0.42)
    low, high = rest[rest[:, 2].argmin()], rest[rest[:, 2].argmax()]
    held, pulled = (np.argsort(np.linalg.norm(rest - end, axis=1))[:FEW] for end in (low, high))
    body = pl.Elastic(nodes, density=1000.0, young=1e5, volume=1.0, gravity=None, damping=0.2, pinned=held)
    forces = np.zeros_like(rest)
    forces[pulled] = np.array([1300.0, 400.0, 1500.0]) / FEW
    seen = [(body.positions, body.maps())]
    for (dt, steps), acting in ((PULLED, forces), (AFTER, None)):
        for _ in range(steps):
            body.step(dt, forces=acting)
        seen.append((body.positions, body.maps()))
    return Pulled(vertices, faces, nodes.weights(vertices), seen, held, pulled)


def blended(weights, maps, vertices):
    """Where weights (n, m) and maps (m, 3, 4) put vertices (n, 3)."""
    each = (weights @ maps.reshape(len(maps), 12)).reshape(-1, 3, 4)
    return (each[:, :, :3] @ vertices[:, :, None])[:, :, 0] + each[:, :, 3]


def panel(vertices, faces, positions, colours):
    """A see-through surface, and its nodes as little balls."""
    ball, sides = icosphere(1)
    balls = (positions[:, None] + 0.028 * ball).reshape(-1, 3)
    corners = (np.arange(len(positions))[:, None, None] * len(ball) + sides).reshape(-1, 3)
    skin = (*(np.array(BLUE) / 255), 0.42)
    image = picture.draw([(vertices, faces), (balls, corners)], [skin, np.repeat(colours, len(sides), axis=0)], SIDE, VIEW)
    return np.where((image == picture.draw([], [], SIDE)).all(axis=2, keepdims=True), np.uint8(PAPER), image)


def side_by_side(shown):
    """All three moments."""
    colours = np.tile(np.array(AMBER) / 255, (COUNT, 1))
    colours[shown.held], colours[shown.pulled] = np.array(INK) / 255, np.array(RED) / 255
    canvas = Image.new("RGB", (SIDE * len(shown.seen), SIDE + FOOT), PAPER)
    for k, (positions, maps) in enumerate(shown.seen):
        vertices = blended(shown.weights, maps, shown.vertices)
        canvas.paste(Image.fromarray(panel(vertices, shown.faces, positions, colours)), (SIDE * k, 0))
        ImageDraw.Draw(canvas).text((SIDE * (k + 0.5), SIDE + FOOT / 2), CAPTIONS[k], INK, font(20), anchor="mm")
    return canvas


def main(folder=IMAGES):
    path = Path(folder) / "blended.png"
    side_by_side(moments()).quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:2])
