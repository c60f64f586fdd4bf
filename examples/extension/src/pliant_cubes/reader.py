"""A file format: `.cubes`, lines "x y z half", one for each cube; an empty line begins the next frame."""
import numpy as np

from pliant.io.animation import DEFAULT_RATE, Animation, FrameActor
from pliant.io.limits import refuse, size_of
from pliant.io.read import register_reader

MAX_BYTES = 1 << 24
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7],
                  [1, 7, 3]], np.int32)


def read_cubes(path, settings):
    """The animation of a file: one body for each cube."""
    size_of(path, MAX_BYTES)
    blocks = path.read_text("ascii").strip().split("\n\n")
    frames = [np.array([line.split() for line in block.splitlines()], np.float64) for block in blocks]
    shapes = {rows.shape for rows in frames}
    if len(shapes) != 1 or frames[0].shape[1:] != (4,):
        raise refuse(path, "expected lines of four numbers, as many in every frame")
    actors = [FrameActor(f"cube {k}", len(frames), lambda frame, k=k: (frames[frame][k, :3] + CORNERS * frames[frame][k, 3], FACES),
                         source=path) for k in range(len(frames[0]))]
    return Animation(path.stem, actors, len(frames), settings.rate or DEFAULT_RATE, files=(path,))


register_reader(".cubes", read_cubes)
