"""STL, as text and binary: triangles that share nothing (3D Systems 1989, StereoLithography interface specification).

A binary file is 80 bytes of anything, the number of triangles, and 50 bytes for each: a normal, three corners, two bytes of anything. A
text has solids, each with a name perhaps: parts of their own.

Invariant: parts are loose, three vertices for each face; `part.joined` makes neighbours of them.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pliant.io.limits import MOST_MESH, Lines, refuse, size_of
from pliant.io.mesh_part import MOST_PARTS, Part, doubles, whole

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEAD, EACH = 84, RECORD.itemsize  # bytes
OTHER = (b"facet", b"outer", b"endsolid", b"color", b"end", b"#")  # words that begin lines, apart from those that matter


def read_stl(path: Path) -> list[Part]:
    """The parts of a file."""
    size = size_of(path, MOST_MESH)
    with path.open("rb") as file:
        head = file.read(HEAD)
        count = struct.unpack("<I", head[80:])[0] if len(head) == HEAD else -1
        file.seek(0)
        if count >= 0 and size == HEAD + EACH * count:
            return _binary(path, file, count)
        if head.lstrip()[:5].lower() == b"solid":
            return _text(path, file)
    if count < 0:
        raise refuse(path, f"has {size} bytes, and neither begins with 'solid' nor holds a header of {HEAD}")
    raise refuse(path, f"announces {count:,} triangles, which take {HEAD + EACH * count:,} bytes, and has {size:,}")


def _binary(path: Path, file: BinaryIO, count: int) -> list[Part]:
    file.seek(HEAD)
    corners = np.frombuffer(file.read(EACH * count), RECORD)["corners"]
    return whole(path, path.stem, doubles(corners.reshape(-1, 3)), np.arange(3 * count).reshape(-1, 3), loose=True)


def _text(path: Path, file: BinaryIO) -> list[Part]:
    solids: list[tuple[str, array[float]]] = []
    text = Lines(path, file)
    for number, line in enumerate(text, 1):
        words = line.split()
        key = words[0].lower() if words else b""
        text.idle += key != b"vertex"
        if key == b"solid":
            solids.append((b" ".join(words[1:]).decode("utf-8", "replace") or path.stem, array("d")))
            if len(solids) > MOST_PARTS:
                raise refuse(path, f"has more than {MOST_PARTS:,} solids")
        elif key == b"vertex" and solids and len(words) == 4:
            try:
                solids[-1][1].extend(list(map(float, words[1:])))
            except ValueError as error:
                raise refuse(path, f"line {number}: {error}") from None
        elif key in (b"endloop", b"endfacet"):
            if len(solids[-1][1]) % 9 if solids else True:
                raise refuse(path, f"line {number}: a facet ends that has not three corners")
        elif key and key not in OTHER:
            raise refuse(path, f"line {number}: {line[:40]!r} is not of an STL file")
    parts = list[Part]()
    for name, numbers in solids:
        if len(numbers) % 9:
            raise refuse(path, f"solid {name[:60]!r} ends in the middle of a facet")
        vertices = np.array(numbers).reshape(-1, 3)
        parts += whole(path, name, vertices, np.arange(len(vertices)).reshape(-1, 3), loose=True)
    return parts
