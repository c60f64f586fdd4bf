"""Draw the scenes of Bitar 2011, for the documentation: python -m experiments.bitar2011.picture"""

import numpy as np

from experiments.bitar2011.scenes import SCENES, scene
from experiments.page import DOCS
from pliant.report import picture

ONE, OTHER = (0.75, 0.52, 0.34), (0.36, 0.50, 0.68)
TIMES = (0.0, 0.5, 1.0)
BELOW = "helmet + folding sheet"  # the sheet is in the hollow of the helmet


def draw(path, size=300):
    """The first, the middle and the last frame of each scene: a column for each."""
    columns = []
    for name in SCENES:
        pair, view = scene(name), picture.Viewpoint(-58, -34 if name == BELOW else 18)
        frames = [pair.frame(round(time * pair.frames)) for time in TIMES]
        colours = [np.tile([colour], (len(actor.faces), 1)) for actor, colour in zip(pair.actors, (ONE, OTHER), strict=True)]
        columns.append(np.concatenate([picture.draw([(rows, actor.faces) for rows, actor in zip(frame, pair.actors, strict=True)],
                                                    colours, size, view) for frame in frames]))  # fmt: skip
    picture.save_picture(path, np.concatenate(columns, axis=1))


if __name__ == "__main__":
    draw(DOCS / "images" / "bitar2011-scenes.png")
