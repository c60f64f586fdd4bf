"""Meshes in files that may be hostile: an array is examined before any memory is asked for."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core import check
from pliant.core.tables import ordinary

MOST_DATA = 1 << 32  # bytes of a mesh, unfolded


def read_mesh(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices in all frames (k, n, 3) and faces (f, 3) of an NPZ file: `faces`, and either `vertices` (n, 3) or `frames` (k, n, 3)."""
    if not ordinary(path):
        raise ValueError(f"{path}: no such file, or not an ordinary one")
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            moving = "frames" in members
            wanted = ("faces", "frames" if moving else "vertices")
            missing = [name for name in wanted if name not in members]
            if missing:
                raise ValueError(f"holds no {missing[0]}; expected faces, and vertices or frames")
            faces, rows = (read_array(archive, members[name]) for name in wanted)
        if rows.ndim != (3 if moving else 2):
            raise ValueError(f"{wanted[1]}: expected shape {'(k, n, 3)' if moving else '(n, 3)'}, got {rows.shape}")
        shapes = check.targets(wanted[1], rows if moving else rows[None])
        return shapes, check.faces("faces", faces, shapes.shape[1])
    except Exception as error:  # hostile headers make the parsers below raise almost anything
        raise ValueError(f"{path}: {' '.join(str(error).split()) or type(error).__name__}") from None


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """An array of an archive, without pickle; its header is compared with what is there before any memory is asked for."""
    if member.file_size > MOST_DATA:
        raise ValueError(f"{member.filename}: unfolds to {member.file_size:,} bytes, at most {MOST_DATA:,} are read")
    form = np.lib.format
    with archive.open(member) as stream:
        version = form.read_magic(stream)
        shape, _, dtype = (form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0)(stream)
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{member.filename}: announces shape {shape}, which does not fit into its {member.file_size:,} bytes")
    with archive.open(member) as stream:
        return np.asarray(form.read_array(stream, allow_pickle=False))
