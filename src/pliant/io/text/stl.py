"""STL, as text and binary: triangles that share nothing (3D Systems 1989, StereoLithography interface specification).

A binary file is 80 bytes of anything, the number of triangles, and 50 bytes for each: a normal, three corners, two bytes of anything. A
text has solids, each with a name perhaps: parts of their own.

Invariant: parts are unindexed, three vertices for each face; `welded_part` makes them adjacent.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pliant.io.limits import MAX_MESH_BYTES, UTF8_MARK, UTF16_MARKS, Lines, refuse, size_of, skip_byte_order_mark
from pliant.io.mesh_part import MAX_PARTS, MeshPart, single_part, to_float64

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER_BYTES, RECORD_BYTES = 84, RECORD.itemsize  # bytes
IGNORED_WORDS = (b"facet", b"outer", b"endsolid", b"color", b"end", b"#")  # words that begin lines, apart from those that matter


def read_stl(path: Path) -> list[MeshPart]:
    """The parts of a file."""
    size = size_of(path, MAX_MESH_BYTES)
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
        count = struct.unpack("<I", head[80:])[0] if len(head) == HEADER_BYTES else -1
        file.seek(0)
        if count >= 0 and size == HEADER_BYTES + RECORD_BYTES * count:
            return _read_binary(path, file, count)
        if head.removeprefix(UTF8_MARK).lstrip()[:5].lower() == b"solid":
            return _read_text(path, file)
        if head.startswith(UTF16_MARKS):
            skip_byte_order_mark(path, file)
    if count < 0:
        raise refuse(path, f"has {size} bytes, and neither begins with 'solid' nor holds a header of {HEADER_BYTES}")
    raise refuse(path, f"announces {count:,} triangles, which take {HEADER_BYTES + RECORD_BYTES * count:,} bytes, and has {size:,}")


def _read_binary(path: Path, file: BinaryIO, count: int) -> list[MeshPart]:
    file.seek(HEADER_BYTES)
    corners = np.frombuffer(file.read(RECORD_BYTES * count), RECORD)["corners"]
    return single_part(path, path.stem, to_float64(corners.reshape(-1, 3)), np.arange(3 * count).reshape(-1, 3), unindexed=True)


def _read_text(path: Path, file: BinaryIO) -> list[MeshPart]:
    solids: list[tuple[str, array[float]]] = []
    text = Lines(path, file)
    for number, line in enumerate(text, 1):
        words = line.split()
        key = words[0].lower() if words else b""
        text.idle += key != b"vertex"
        if key == b"solid":
            solids.append((b" ".join(words[1:]).decode("utf-8", "replace") or path.stem, array("d")))
            if len(solids) > MAX_PARTS:
                raise refuse(path, f"has more than {MAX_PARTS:,} solids")
        elif key == b"vertex" and solids and len(words) == 4:
            try:
                solids[-1][1].extend(list(map(float, words[1:])))
            except ValueError as error:
                raise refuse(path, f"line {number}: {error}") from None
        elif key in (b"endloop", b"endfacet"):
            if len(solids[-1][1]) % 9 if solids else True:
                raise refuse(path, f"line {number}: a facet ends that has not three corners")
        elif key and key not in IGNORED_WORDS:
            raise refuse(path, f"line {number}: {line[:40]!r} is not of an STL file")
    parts = list[MeshPart]()
    for name, numbers in solids:
        if len(numbers) % 9:
            raise refuse(path, f"solid {name[:60]!r} ends in the middle of a facet")
        vertices = np.array(numbers).reshape(-1, 3)
        parts += single_part(path, name, vertices, np.arange(len(vertices)).reshape(-1, 3), unindexed=True)
    return parts
