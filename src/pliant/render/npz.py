"""Meshes that move, in NPZ files that may be hostile (`pliant.io.archive`), all frames at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.errors import ArgumentError
from pliant.io.archive import Member, members
from pliant.io.limits import file_errors

MAX_ARRAY_BYTES = 1 << 33  # bytes of an array in memory


def read_mesh(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices in all frames (k, n, 3) and faces (f, 3) of an NPZ file: `faces`, and either `vertices` (n, 3) or `frames` (k, n, 3). What
    is wrong with it is a `FileError`."""
    with file_errors(path):
        file_members = members(path)
        moving = "frames" in file_members
        rows = "frames" if moving else "vertices"
        missing = [name for name in ("faces", rows) if name not in file_members]
        if missing:
            raise ArgumentError(f"holds no {missing[0]}; expected faces, and vertices or frames")
        faces, vertices = (Member(path, file_members[name]).read_all(MAX_ARRAY_BYTES) for name in ("faces", rows))
        if vertices.ndim != (3 if moving else 2):
            raise ArgumentError(f"{rows}: expected shape {'(k, n, 3)' if moving else '(n, 3)'}, got {vertices.shape}")
        shapes = validate.targets(rows, vertices if moving else vertices[None])
        return shapes, validate.faces("faces", faces, shapes.shape[1])
