"""A picture for each example of the gallery, drawn after it has run, from the names that it leaves behind; examples stay free of drawing.

A scene is a function of these names that gives (bodies, pairs, view): meshes, the faces that meet, which become red, and where the eye is.
Bodies may be put where they are seen best, as nobody asks them anything afterwards. An example without a scene shows its bodies as it left
them.
"""

from pathlib import Path

import numpy as np

import pliant as pl
from pliant.report.picture import Viewpoint, draw, save_picture

RED = (0.886, 0.243, 0.212)
COLOURS = ((0.549, 0.675, 0.831), (0.886, 0.804, 0.608), (0.627, 0.769, 0.659))
SIZE = 640  # pixels a side, before empty rows are cut off
MARGIN = 24  # of which so many stay


def minimal(names):
    a, b = names["a"], names["b"]
    return [a, b], pl.collide(a, b), Viewpoint(azimuth=-20, elevation=25)


def cloth(names):
    body = names["body"]
    body.update(names["cloth"].frame(names["cloth"].frames // 2))
    return [body], pl.self_collide(body), Viewpoint(azimuth=-58, elevation=30)


def skinned(names):
    arm, box, bones, elbow = (names[name] for name in ("arm", "box", "bones", "elbow"))
    turn, angle = np.eye(4), np.radians(60)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    arm.update(bones.maps([np.eye(4), elbow @ turn]))
    return [arm, box], pl.collide(arm, box), Viewpoint(azimuth=-75, elevation=70)


def remeshed(names):
    body = pl.Body(names["vertices"], names["faces"])
    return [body], names["pairs"], Viewpoint(azimuth=-70, elevation=25)


def report(names):
    return [names["sheet"], names["ball"]], names["pairs"], Viewpoint(azimuth=-60, elevation=35)


SCENES = {"00_minimal": minimal, "01_cloth": cloth, "02_skinned": skinned, "03_remeshed": remeshed, "04_report": report}


def as_left(names):
    """All bodies of an example, none of them red."""
    bodies = [value for value in names.values() if isinstance(value, pl.Body)]
    return bodies, pl.Pairs(np.empty((0, 2), np.int32), pl.Stats()), Viewpoint()


def picture_of(stem, names):
    """The picture (rows, SIZE, 3) uint8 of the example with this file name, without its ending."""
    bodies, pairs, view = SCENES.get(stem, as_left)(names)
    colours = [np.tile(COLOURS[k % len(COLOURS)], (len(body.faces), 1)) for k, body in enumerate(bodies)]
    for k, colour in enumerate(colours):
        colour[pairs.faces[:, k] if len(bodies) == 2 else pairs.faces.ravel()] = RED
    image, empty = draw([(body.vertices, body.faces) for body in bodies], colours, SIZE, view), draw([], [], SIZE)
    rows = np.flatnonzero((image != empty).any(axis=(1, 2)))
    return image[max(rows[0] - MARGIN, 0):rows[-1] + MARGIN] if len(rows) else image


def scraper(block, variables, settings):
    """Called after each block of an example."""
    from sphinx_gallery.scrapers import figure_rst

    source, names = Path(variables["src_file"]), variables["example_globals"]
    path = save_picture(next(variables["image_path_iterator"]), picture_of(source.stem, names))
    return figure_rst([str(path)], settings["src_dir"])
