"""What numbered files are: frames of one animation, or bodies.

Frames of a mesh that deforms have the same faces; the links of a robot, link0.stl … link6.stl, all have other ones. A fluid has other faces
in every frame as well, and only whoever made it can tell: so what is not clear is refused, with what to write.

    the same faces in all files that are compared                 frames
    a file without faces                                          frames: a body is not empty, a frame may be
    other faces in each, few files, numbers without leading zeros bodies
    anything else                                                 refused
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.errors import ArgumentError
from pliant.io.limits import refuse
from pliant.io.mesh_part import MeshPart
from pliant.io.sequence import LoadParts, PartsOfFile

FRAMES, BODIES = "frames", "bodies"
KINDS = (FRAMES, BODIES)
MAX_COMPARED = 16  # files of a run of which faces are compared
MAX_BODIES = 64  # files that are taken for bodies unless the user says so
MAX_NOTED = 12  # files that may as well be bodies: a note says what they are taken for
MIN_PADDING = 3  # digits of a number with leading zeros, as frames of a film have them


def check_kind(kind: str | None) -> str | None:
    """`Settings.numbered`, validated."""
    if kind is not None and kind not in KINDS:
        raise ArgumentError(f"numbered: expected {' or '.join(map(repr, KINDS))}, got {kind!r:.80}")
    return kind


def kind_of_files(files: Sequence[Path], load: LoadParts) -> tuple[str, PartsOfFile]:
    """"frames" or "bodies", and the parts of the first and of the last file. Few files are all compared; of many the first and the last
    and, if these differ, some between."""
    ends = {path: load(path) for path in (files[0], files[-1])}
    signatures = {path: _signature(parts) for path, parts in ends.items()}
    if len(files) > MAX_COMPARED and (len(set(signatures.values())) == 1 or not all(signatures.values())):
        return FRAMES, ends
    count = min(len(files), MAX_COMPARED)
    for k in range(count):
        path = files[k * (len(files) - 1) // (count - 1)]
        if path not in signatures:
            signatures[path] = _signature(load(path))
        if not signatures[path]:
            return FRAMES, ends
    distinct = len(set(signatures.values()))
    if distinct == 1:
        return FRAMES, ends
    if distinct == len(signatures) and len(files) <= MAX_BODIES and not any(_is_padded(path) for path in files):
        return BODIES, ends
    what = "all files have other faces" if distinct == len(signatures) else "some files have the same faces and some have others"
    raise refuse(files[0], f"… {files[-1].name}: {what}; --as frames reads {len(files):,} frames of one animation, --as bodies "
                           f"{len(files):,} bodies")  # fmt: skip


def _signature(parts: Sequence[MeshPart]) -> tuple[bytes, ...]:
    """What tells the faces of a file from others; empty if there are none. Of faces without common vertices the number has to do."""
    return tuple(_part_signature(part) for part in parts)


def _part_signature(part: MeshPart) -> bytes:
    if part.unindexed:
        return b"%d" % len(part.faces)
    polygons = (part.faces,) if part.polygons is None else part.polygons  # triangles of polygons depend on positions
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in polygons)).digest()


def _is_padded(path: Path) -> bool:
    """Is there a number with leading zeros in its name, of some length?"""
    digits = "".join(sign if sign.isdecimal() else " " for sign in path.stem).split()
    return any(len(each) >= MIN_PADDING and each.startswith("0") for each in digits)


def kind_note(files: Sequence[Path], kind: str) -> tuple[str, ...]:
    """What a few files have been taken for, where they might be something else."""
    names = f"{files[0].name} … {files[-1].name}"
    if kind == BODIES:
        return (f"{names} have other faces each, and are {len(files):,} bodies; --as frames reads them as frames of one animation",)
    if len(files) <= MAX_NOTED:
        return (f"{names} are {len(files):,} frames of one sequence; --as bodies reads them as bodies",)
    return ()
