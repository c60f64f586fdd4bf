"""Write the five scenarios as animations that `pliant tune` reads: python -m experiments.bitar2011.export FOLDER"""

import sys
from pathlib import Path

import numpy as np

from experiments.bitar2011 import scenes


def export(folder: str | Path, frames: int | None = None) -> list[Path]:
    """One NPZ file per scenario: `faces`, `vertices` (k, n, 3) and the same of the second body."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in scenes.SCENES:
        arrays = {}
        for suffix, actor in zip(("", "_b"), scenes.scene(name).actors, strict=True):
            last = actor.model.frames if frames is None else min(frames - 1, actor.model.frames)
            arrays["faces" + suffix] = actor.faces
            arrays["vertices" + suffix] = np.array([actor.vertices(k) for k in range(last + 1)])
        written.append(folder / f"{name.replace(' ', '-')}.npz")
        np.savez(written[-1], **arrays)  # type: ignore[arg-type]
    return written


if __name__ == "__main__":
    for path in export(sys.argv[1]):
        print(path)
