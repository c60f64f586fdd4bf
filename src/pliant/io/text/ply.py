"""PLY, the polygon file format (Turk 1994): ASCII, and binary of both byte orders.

The header names elements, each with a count and properties, which are numbers or lists of numbers. Of these only x, y and z of `vertex` and
the list `vertex_indices` (or `vertex_index`) of `face` and of `tristrips` matter; the rest is passed over, and no texture is opened. Faces
may have any number of corners, and each another one.

A triangle strip is a list of vertices; each with the two before it is a triangle, every other one turned, and −1 begins a strip anew. A
triangle that names a vertex twice only continues a strip elsewhere, and is none. Triangles of strips are numbered after the faces.

Invariant: a count is compared with the bytes that are there before any memory is asked for.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from io import SEEK_CUR
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pliant.io.animation import Floats
from pliant.io.limits import MAX_LINE_BYTES, MAX_MESH_BYTES, Lines, check_fits, refuse, size_of, skip_byte_order_mark
from pliant.io.mesh_part import MeshPart, polygon_part, to_float64
from pliant.io.polygons import Indices, checked_polygons

MAX_HEADER_LINES = 1_000  # of a header
MAX_RAGGED_LISTS = 1 << 23  # lists, where not all are as long: they are read one by one
CORNER_LISTS = ("vertex_indices", "vertex_index")
FACES, STRIPS = "face", "tristrips"  # elements that have them
RESTART = -1  # begins a strip anew
TYPE_CODES = {
    **dict.fromkeys(("char", "int8"), "i1"), **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"), **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"), **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"), **dict.fromkeys(("double", "float64"), "f8"),
}  # fmt: skip
NO_LISTS = np.zeros(0, np.int64), np.zeros(0, np.int64)  # numbers, and how many each list has
BYTE_ORDERS = {b"ascii": "", b"binary_little_endian": "<", b"binary_big_endian": ">"}


class Property(NamedTuple):
    name: str
    type: str  # of the number, or of those in the list
    length: str = ""  # the type of the length of a list


class Element(NamedTuple):
    name: str
    rows: int
    properties: list[Property]


class ListStep(NamedTuple):
    """To the next list of a row: over `gap` bytes to its length, which `unpack` reads of `skip` bytes; then numbers of `width` each."""

    gap: int
    unpack: Callable[[bytes, int], tuple[Any, ...]]
    skip: int
    width: int
    wanted: bool


def read_ply(path: Path) -> list[MeshPart]:
    """The part of a file, named as the file is."""
    size = size_of(path, MAX_MESH_BYTES)
    with path.open("rb") as file:
        order, elements = _read_header(path, file)
        present = size - file.tell()
        for element in elements:
            check_fits(path, f"rows of {element.name!r}", element.rows, _min_row_bytes(element, order), present + 1)
        vertices, lists = _read_text(path, file, elements) if not order else _read_binary(path, file, elements, size)
    corners, counts = lists.get(FACES, NO_LISTS)
    if STRIPS in lists:
        triangles = _strip_triangles(*lists[STRIPS])
        corners, counts = np.concatenate([corners, triangles.ravel()]), np.concatenate([counts, np.full(len(triangles), 3)])
    polygons = checked_polygons(path, corners, counts, len(vertices))
    return [polygon_part(path.stem, vertices, polygons)] if len(polygons.counts) else []


def _strip_triangles(corners: Indices, counts: Indices) -> Indices:
    """(f, 3) triangles of strips, those of one list after those of the other."""
    starts = np.insert(corners, np.cumsum(counts)[:-1], RESTART) if len(counts) > 1 else corners
    place = np.arange(len(starts))
    since = place - np.maximum.accumulate(np.where(starts == RESTART, place, -1)) - 1  # vertices before it in its strip
    at = np.flatnonzero((since >= 2) & (starts != RESTART))
    odd = since[at] % 2
    a, b, c = starts[at - 2 + odd], starts[at - 1 - odd], starts[at]
    found: Indices = np.stack([a, b, c], axis=1)[(a != b) & (b != c) & (c != a)]
    return found


def _min_row_bytes(element: Element, order: str) -> int:
    """Bytes that a row takes at least: its numbers and empty lists; as text, a digit and what follows it for each."""
    if not order:
        return 2 * len(element.properties)
    return sum(np.dtype(each.length or each.type).itemsize for each in element.properties)


def _read_header(path: Path, file: BinaryIO) -> tuple[str, list[Element]]:
    """The byte order, empty for text, and the elements; the file is where the data begins."""
    order, elements = None, list[Element]()
    skip_byte_order_mark(path, file)
    for number in range(1, MAX_HEADER_LINES + 1):
        line = file.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise refuse(path, f"has a line of more than {MAX_LINE_BYTES:,} bytes")
        words = line.split()
        if number == 1 and words[:1] != [b"ply"]:
            raise refuse(path, "not a PLY file: it does not begin with 'ply'")
        key = words[0] if words else b""
        if key == b"end_header":
            if order is None:
                raise refuse(path, "its header names no format")
            return order, elements
        if key == b"format" and len(words) > 1 and words[1] in BYTE_ORDERS:
            order = BYTE_ORDERS[words[1]]
        elif key == b"element" and len(words) == 3 and words[2].isdigit() and len(words[2]) < 20:
            elements.append(Element(words[1].decode("ascii", "replace"), int(words[2]), []))
        elif key == b"property" and elements:
            elements[-1].properties.append(_parse_property(path, number, order or "", [word.decode("ascii", "replace") for word in words]))
        elif key not in (b"ply", b"comment", b"obj_info", b""):
            raise refuse(path, f"line {number} of its header cannot be understood")
    raise refuse(path, f"its header does not end within {MAX_HEADER_LINES:,} lines")


def _parse_property(path: Path, number: int, order: str, words: list[str]) -> Property:
    if len(words) == 3 and words[1] in TYPE_CODES:
        return Property(words[2], order + TYPE_CODES[words[1]])
    if len(words) == 5 and words[1] == "list" and words[2] in TYPE_CODES and words[3] in TYPE_CODES and TYPE_CODES[words[2]][0] != "f":
        return Property(words[4], order + TYPE_CODES[words[3]], order + TYPE_CODES[words[2]])
    raise refuse(path, f"line {number} of its header is no property")


def _read_text(path: Path, file: BinaryIO, elements: list[Element]) -> tuple[Floats, dict[str, tuple[Indices, Indices]]]:
    text = Lines(path, file)
    rows = iter(text)
    vertices, found = array("d"), dict[str, tuple[Indices, Indices]]()
    for element in elements:
        chosen, lists, counts = _wanted_properties(path, element), array("q"), array("q")
        for number in range(element.rows):
            line = next(rows, None)
            if line is None:
                raise refuse(path, f"row {number} of {element.name!r}: the file ends before it")
            if not chosen:
                continue
            try:
                words = line.split()
                if element.name == "vertex":
                    vertices.extend([float(words[k]) for k in chosen])
                    continue
                start = _property_start(words, element.properties[: chosen[0]])
                count = int(words[start])
                corners = list(map(int, words[start + 1 : start + 1 + count]))
                if count < 0 or len(corners) != count:
                    raise ValueError(f"announces {count} corners and has {len(corners)}")
            except (ValueError, OverflowError, IndexError) as error:
                raise refuse(path, f"row {number} of {element.name!r}: {error}") from None
            text.idle += count < 3  # no face
            lists.extend(corners)
            counts.append(count)
        if chosen and element.name != "vertex":
            found[element.name] = np.array(lists, np.int64), np.array(counts, np.int64)
    return np.array(vertices).reshape(-1, 3), found


def _property_start(words: list[bytes], before: list[Property]) -> int:
    """The word at which a property begins that comes after these."""
    start = 0
    for each in before:
        start += 1 + (max(int(words[start]), 0) if each.length else 0)
    return start


def _wanted_properties(path: Path, element: Element) -> list[int]:
    """The properties of an element that matter here: those of x, y and z, or that of the corners."""
    names = [each.name for each in element.properties]
    if element.name == "vertex":
        if any(each.length for each in element.properties):
            raise refuse(path, "its vertices have lists, which no vertex has")
        if not {"x", "y", "z"} <= set(names):
            raise refuse(path, "its vertices have no x, y and z")
        return [names.index(axis) for axis in "xyz"]
    if element.name not in (FACES, STRIPS):
        return []
    found = [k for k, each in enumerate(element.properties) if each.name in CORNER_LISTS and each.length and "f" not in each.type]
    if not found and element.rows:
        raise refuse(path, f"its element {element.name!r} has no list of whole numbers {CORNER_LISTS[0]!r}")
    return found[:1]


def _read_binary(path: Path, file: BinaryIO, elements: list[Element], size: int) -> tuple[Floats, dict[str, tuple[Indices, Indices]]]:
    vertices, lists = np.zeros((0, 3)), dict[str, tuple[Indices, Indices]]()
    for element in elements:
        chosen = _wanted_properties(path, element)
        if not any(each.length for each in element.properties):
            kind = np.dtype([(f"p{k}", each.type) for k, each in enumerate(element.properties)])
            check_fits(path, f"rows of {element.name!r}", element.rows, kind.itemsize, size - file.tell())
            if chosen:
                table = np.fromfile(file, kind, element.rows)
                vertices = np.stack([to_float64(table[f"p{k}"]) for k in chosen], axis=1)
            else:
                file.seek(element.rows * kind.itemsize, SEEK_CUR)
        elif element.rows:
            start = file.tell()
            found = _read_equal_lists(path, file, element, chosen, size)
            if found is None:
                file.seek(start)
                found = _read_ragged_lists(path, file, element, chosen, size)
            if chosen:
                lists[element.name] = found
    return vertices, lists


def _read_equal_lists(path: Path, file: BinaryIO, element: Element, chosen: list[int], size: int) -> tuple[Indices, Indices] | None:
    """Lists that are as long as those of the first row: one table. None, if they are not."""
    start, fields = file.tell(), list[tuple[str, str] | tuple[str, str, tuple[int, ...]]]()
    for k, each in enumerate(element.properties):
        length = _read_length(path, file, each, size) if each.length else 1
        fields += [(f"n{k}", each.length), (f"p{k}", each.type, (length,))] if each.length else [(f"p{k}", each.type)]
        file.seek(length * np.dtype(each.type).itemsize, SEEK_CUR)
    kind = np.dtype(fields)
    if element.rows * kind.itemsize > size - start:
        return None
    file.seek(start)
    table = np.fromfile(file, kind, element.rows)
    if not all((table[f"n{k}"] == table[f"n{k}"][0]).all() for k, each in enumerate(element.properties) if each.length):
        return None
    if not chosen:
        return NO_LISTS
    return table[f"p{chosen[0]}"].astype(np.int64).ravel(), table[f"n{chosen[0]}"].astype(np.int64)


def _read_ragged_lists(path: Path, file: BinaryIO, element: Element, chosen: list[int], size: int) -> tuple[Indices, Indices]:
    """Lists of any lengths: row by row."""
    lists = element.rows * sum(bool(each.length) for each in element.properties)
    if lists > MAX_RAGGED_LISTS:
        raise refuse(path, f"has {lists:,} lists of different lengths in {element.name!r}, at most {MAX_RAGGED_LISTS:,} are read")
    start, (steps, rest) = file.tell(), _list_steps(element, chosen)
    data = file.read(size - start)
    found, counts, at, end = bytearray(), array("q"), 0, len(data)
    try:
        for _ in range(element.rows):
            for gap, unpack, skip, width, wanted in steps:
                (length,) = unpack(data, at + gap)
                at += gap + skip
                if length < 0 or at + length * width > end:
                    check_fits(path, f"numbers in a list of {element.name!r}", length, width, end - at)
                if wanted:
                    found += data[at : at + length * width]
                    counts.append(length)
                at += length * width
            at += rest
    except struct.error:
        at = end + 1
    if at > end:
        raise refuse(path, f"ends before the last row of {element.name!r}")
    file.seek(start + at)
    kind = element.properties[chosen[0]].type if chosen else "u1"
    return np.frombuffer(found, kind).astype(np.int64), np.array(counts, np.int64)


def _list_steps(element: Element, chosen: list[int]) -> tuple[list[ListStep], int]:
    """How a row is walked through: the steps from list to list, and the bytes after the last."""
    steps, gap = list[ListStep](), 0
    for k, each in enumerate(element.properties):
        width = np.dtype(each.type).itemsize
        if each.length:
            order = each.length[0] if each.length[0] in BYTE_ORDERS.values() else "="
            length = struct.Struct(order + np.dtype(each.length).char)
            steps.append(ListStep(gap, length.unpack_from, length.size, width, k in chosen))
        gap = 0 if each.length else gap + width
    return steps, gap


def _read_length(path: Path, file: BinaryIO, each: Property, size: int) -> int:
    """The length of the list that begins here, which must fit into what is left."""
    kind = np.dtype(each.length)
    data = file.read(kind.itemsize)
    if len(data) < kind.itemsize:
        raise refuse(path, f"ends before the list {each.name!r} of some row")
    length = int(np.frombuffer(data, kind)[0])
    check_fits(path, f"numbers in a list {each.name!r}", length, np.dtype(each.type).itemsize, size - file.tell())
    return length
