"""Paper D's experiments on one core, and their figures in `docs/paper-d.md`.

    python -m benchmarks.paper_d                               as `pliant bench paper-d`, with its options, pinned to one core
    python -m benchmarks.paper_d --paste out/paper-d/paper-d.json      put the tables of that run between the markers of the page
    python -m benchmarks.paper_d --picture                     draw the scenes of the page
"""

import sys

import numpy as np

from benchmarks.papers import DOCS, main
from pliant.bench.scenes_d import SCENES, scene
from pliant.report import picture

ONE, OTHER = (0.75, 0.52, 0.34), (0.36, 0.50, 0.68)
TIMES = (0.0, 0.5, 1.0)
BELOW = "helmet + folding sheet"  # the sheet is in the hollow of the helmet


def draw(path, size=300):
    """The first, the middle and the last frame of each scene: a column for each."""
    columns = []
    for name in SCENES:
        pair, view = scene(name), picture.View(-58, -34 if name == BELOW else 18)
        frames = [pair.frame(round(time * pair.frames)) for time in TIMES]
        colours = [np.tile([colour], (len(actor.faces), 1)) for actor, colour in zip(pair.actors, (ONE, OTHER), strict=True)]
        columns.append(np.concatenate([picture.draw([(rows, actor.faces) for rows, actor in zip(frame, pair.actors, strict=True)],
                                                    colours, size, view) for frame in frames]))  # fmt: skip
    picture.save(path, np.concatenate(columns, axis=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--picture"]:
        draw(DOCS / "images" / "paper-d-scenes.png")
    else:
        main("paper-d")
