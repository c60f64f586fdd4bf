"""Draw the scenes of Georgii et al. 2007, for the documentation: python -m experiments.georgii2007.picture"""

import colorsys

import numpy as np

import pliant as pl
from experiments.georgii2007.cloth import cloth
from experiments.georgii2007.runs import Plan, scenes
from experiments.page import DOCS
from pliant.report import picture

MEETING = (0.90, 0.08, 0.05)
FRAMES, SHOWN = 30, (4, 15, 26)
COARSE = Plan(horses=16_000, creatures=(10, 4, (12, 2, 20, 6)), rigid=(60, 120_000), dragons=60_000)  # intersecting faces are visible
VIEWS = {"soft rabbits": picture.Viewpoint(-60, 20, (0.0, 0.0, 0.2), 3.4), "soft horses": picture.Viewpoint(-70, 12, (0.1, 0.0, 0.0), 3.4),
         "creatures": picture.Viewpoint(-80, 12, (0.0, 0.0, 0.0), 11.0), "rigid rabbits": picture.Viewpoint(-60, 24, (0.0, 0.0, 2.4), 10.5),
         "dragons": picture.Viewpoint(-60, 30, (0.6, 0.5, 0.8), 6.0), "cloth": picture.Viewpoint(-60, 20, (0.0, 0.0, -0.2), 3.2)}


def colours_of(scene, frame):
    """A colour for each part, and another for intersecting faces."""
    found = pl.self_collide(pl.Body(frame.vertices, frame.faces), adjacent="ignore").faces
    made = np.concatenate([np.tile([colorsys.hsv_to_rgb(k / len(scene.faces), 0.45, 0.80)], (len(faces), 1))
                           for k, faces in enumerate(scene.faces)])
    made[found.reshape(-1)] = MEETING
    return made


def draw(path, size=330):
    """A row for each scene, a column for each of three frames."""
    rows = []
    for scene in [*scenes(COARSE._replace(frames=FRAMES)), cloth(20_000, FRAMES)]:
        cells = []
        for k in SHOWN:
            frame = scene.frame(k)
            cells.append(picture.draw([(frame.vertices, frame.faces)], [colours_of(scene, frame)], size, VIEWS[scene.name]))
        rows.append(np.concatenate(cells, axis=1))
    picture.save_picture(path, np.concatenate(rows))


if __name__ == "__main__":
    draw(DOCS / "images" / "georgii2007-scenes.png")
