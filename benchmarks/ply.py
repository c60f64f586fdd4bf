"""A reader of triangle meshes in PLY files, ASCII or binary of either byte order, for tests on files from elsewhere.

Elements other than vertices and faces, and other properties of these, are skipped; polygons are triangulated as fans. Not optimised.
"""

import struct
from pathlib import Path

import numpy as np

CODES = {
    "char": "b", "int8": "b", "uchar": "B", "uint8": "B", "short": "h", "int16": "h", "ushort": "H", "uint16": "H",
    "int": "i", "int32": "i", "uint": "I", "uint32": "I", "float": "f", "float32": "f", "double": "d", "float64": "d",
}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


def read_ply(path):
    """Vertices (n, 3) float64 and faces (m, 3) int32."""
    header, start, data = _split(Path(path).read_bytes())
    order, elements = _elements(header)
    take = _binary(data, start, order) if order else _words(data[start:])
    vertices, faces = [], []
    for name, count, properties in elements:
        for _ in range(count):
            row = {}
            for key, code, length_code in properties:
                row[key] = take(take(1, length_code)[0] if length_code else 1, code)
            if name == "vertex":
                vertices.append((*row["x"], *row["y"], *row["z"]))
            elif name == "face":
                corners = row.get("vertex_indices", row.get("vertex_index"))
                faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
    return np.array(vertices, np.float64).reshape(-1, 3), np.array(faces, np.int32).reshape(-1, 3)


def _split(data):
    """Lines of the header, where the body starts, and the data."""
    if not data.startswith(b"ply"):
        raise ValueError("not a PLY file")
    start = data.index(b"\n", data.index(b"end_header")) + 1
    return data[:start].decode("ascii", "replace").splitlines(), start, data


def _elements(header):
    """The byte order ("" for ASCII) and (name, count, [(property, code, code of the length of a list or "")])."""
    order, elements = None, []
    for line in header:
        match line.split():
            case ["format", name, _]:
                order = ORDERS[name]
            case ["element", name, count]:
                elements.append((name, int(count), []))
            case ["property", "list", length, kind, name]:
                elements[-1][2].append((name, CODES[kind], CODES[length]))
            case ["property", kind, name]:
                elements[-1][2].append((name, CODES[kind], ""))
    return order, elements


def _binary(data, at, order):
    """A function that reads the next `count` numbers of a type."""

    def take(count, code):
        nonlocal at
        layout = f"{order}{count}{code}"
        here, at = at, at + struct.calcsize(layout)
        return struct.unpack_from(layout, data, here)

    return take


def _words(data):
    """The same for text."""
    words = iter(data.split())

    def take(count, code):
        return tuple((float if code in "fd" else int)(next(words)) for _ in range(count))

    return take
