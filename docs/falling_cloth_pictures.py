"""Draw the picture of the falling cloth into docs/images: python docs/falling_cloth_pictures.py run [folder]

Six frames of examples/15_falling_cloth.py, which writes `run` with --out. Needs the extra `pictures`.
"""

import sys
from pathlib import Path

import numpy as np
from drawing import BLUE, INK, PAPER, SAND, font
from PIL import Image, ImageDraw

from pliant.report import picture

IMAGES = Path(__file__).resolve().parent / "images"
SIDE, HEIGHT, COLUMNS, AZIMUTH, ELEVATION = 480, 360, 3, -58, 22
COLOURS = [np.array(colour) / 255 for colour in (BLUE, SAND)]


def view_of(points):
    """The view in which all points are just within a panel."""
    a, e = np.radians([AZIMUTH, ELEVATION])
    eye = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    axes = np.stack([right, np.cross(eye, right), eye], axis=1)
    low, high = (points @ axes).min(axis=0), (points @ axes).max(axis=0)
    wide, high_up, _ = high - low
    return picture.Viewpoint(AZIMUTH, ELEVATION, tuple(axes @ (0.5 * (low + high))), 1.08 * max(wide, high_up * SIDE / HEIGHT))


def sheet_of(run):
    """Six frames at equal distances, all from one view."""
    files = [np.load(Path(run) / f"{name}.npz") for name in ("cloth", "body")]
    frames, faces = [file["vertices"] for file in files], [file["faces"] for file in files]
    chosen = np.linspace(0, len(frames[0]) - 1, 6).round().astype(int)
    view = view_of(np.concatenate([each[chosen].reshape(-1, 3) for each in frames]))
    top = (SIDE - HEIGHT) // 2
    canvas = Image.new("RGB", (SIDE * COLUMNS, HEIGHT * len(chosen) // COLUMNS))
    for place, frame in enumerate(chosen):
        meshes = [(each[frame], triangles) for each, triangles in zip(frames, faces, strict=True)]
        image = picture.draw(meshes, COLOURS, SIDE, view)
        image = np.where((image == picture.draw([], [], SIDE)).all(axis=2, keepdims=True), np.uint8(PAPER), image)
        panel = Image.fromarray(image[top:top + HEIGHT])
        ImageDraw.Draw(panel).text((12, 10), f"frame {frame}", INK, font(20))
        canvas.paste(panel, (SIDE * (place % COLUMNS), HEIGHT * (place // COLUMNS)))
    return canvas


def main(run, folder=IMAGES):
    path = Path(folder) / "falling-cloth.png"
    sheet_of(run).quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:3])
