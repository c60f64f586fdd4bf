"""OFF, the object file format (Geomview manual, section 4.2.5): text, with any of its prefixes but 4 and n, which change what a row means.

Rows: the word OFF; numbers of vertices, faces and edges; a vertex each, of which x, y and z are read; a face each: how many corners, which
ones, and perhaps a colour. A face that is shorter than it says is refused; trimesh would pass over it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pliant.io.limits import MAX_MESH_BYTES, Lines, check_fits, refuse, size_of
from pliant.io.mesh_part import MeshPart, polygon_part
from pliant.io.polygons import checked_polygons

KEYWORDS = (b"OFF", b"COFF", b"NOFF", b"STOFF", b"CNOFF", b"STCOFF", b"STNOFF", b"STCNOFF")


def read_off(path: Path) -> list[MeshPart]:
    """The part of a file, named as the file is."""
    size = size_of(path, MAX_MESH_BYTES)
    coordinates, corners, counts, face_rows = array("d"), array("q"), array("q"), array("q")
    with path.open("rb") as file:
        rows = _word_rows(text := Lines(path, file))
        first = next(rows, [b""])
        if first[0].upper() not in KEYWORDS:
            raise refuse(path, "does not begin with OFF")
        try:
            vertices, faces = map(int, (first[1:] or next(rows))[:2])
            check_fits(path, "vertices", vertices, len("0 0 0\n"), size)
            check_fits(path, "faces", faces, len("0\n"), size)
            for _ in range(vertices):
                x, y, z = next(rows)[:3]
                coordinates.extend((float(x), float(y), float(z)))
            for row in range(faces):
                words = next(rows)
                count = int(words[0])
                if not 0 <= count < len(words):
                    raise refuse(path, f"face {row} announces {count} corners and has {len(words) - 1} numbers")
                if count < 3:  # no face
                    text.idle += 1
                    continue
                corners.extend(list(map(int, words[1 : 1 + count])))
                counts.append(count)
                face_rows.append(row)
        except StopIteration:
            raise refuse(path, "ends before all the vertices and faces that it announces") from None
    polygons = checked_polygons(path, np.array(corners, np.int64), np.array(counts, np.int64), vertices, np.array(face_rows, np.int64))
    return [polygon_part(path.stem, np.array(coordinates).reshape(-1, 3), polygons)] if len(counts) else []


def _word_rows(text: Lines) -> Iterator[list[bytes]]:
    """The words of each line that has any, without comments."""
    for line in text:
        if words := line.partition(b"#")[0].split():
            yield words
        else:
            text.idle += 1
