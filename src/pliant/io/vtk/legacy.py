"""VTK's legacy files of one moment (.vtk): UNSTRUCTURED_GRID and POLYDATA, ASCII or binary, of versions 1.0 to 5.1.

The VTK User's Guide, "Simple Legacy Formats"; since version 5.0 lists of cells are offsets and connectivity. Binary numbers are big-endian.
Points and cells come before the data that belong to them, which are not read: a field of displacements is taken from XML files only.

Invariant: a count is compared with the bytes that are left before memory is asked for; a number takes two bytes at least. Blanks, however
many, are passed over by searches in compiled code.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.core.validate_table import read_bytes
from pliant.io.limits import MAX_FILE_BYTES, UTF8_MARK, check_fits, refuse, size_of, skip_byte_order_mark
from pliant.io.vtk.safe_xml import parse_numbers
from pliant.io.vtk.surface import NO_CELLS, POLYGON, STRIP, Cells, CellTypes, Floats, Indices, VtkGrid, cell_types, merge_grids

TYPES = {"bit": "u1", "unsigned_char": "u1", "char": "i1", "unsigned_short": "u2", "short": "i2", "unsigned_int": "u4", "int": "i4",
         "unsigned_long": "u8", "long": "i8", "float": "f4", "double": "f8", "vtktypeint64": "i8", "vtktypeint32": "i4",
         "vtkidtype": "i4"}  # fmt: skip
DATASETS = ("UNSTRUCTURED_GRID", "POLYDATA")
CELL_LISTS = {"CELLS": 0, "VERTICES": 2, "LINES": 4, "POLYGONS": POLYGON, "TRIANGLE_STRIPS": STRIP}
OFFSETS_VERSION = (5, 0)  # the version that brought them
MAX_LINE = 1 << 12  # characters of a line that is no data
MAX_KEYWORDS = 100_000  # lines that are no data: each may be short, and is read by itself
SIGNATURE = b"# vtk DataFile Version"
BLANKS, BLANK_LINE = re.compile(rb"\s*"), re.compile(rb"\n[ \t\r]*\n")
NUMBER_WIDTH, WINDOW = 24, 1 << 22  # characters that a number and its blank are expected to take, and that are looked at together


class _LegacyReader:
    """A file and how far it is read."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content, self.position, self._keyword_count = path, content, 0, 0
        head = self.line()
        found = re.match(SIGNATURE.decode() + r" (\d{1,3})\.(\d{1,3})", head)
        if not found:
            raise refuse(path, f"does not begin with '{SIGNATURE.decode()}'")
        self.version = int(found[1]), int(found[2])
        self.line()  # the title
        form = self.line().strip().upper()
        if form not in ("ASCII", "BINARY"):
            raise refuse(path, f"its third line is {form[:40]!r}, expected ASCII or BINARY")
        self.ascii = form == "ASCII"

    def line(self) -> str:
        """The next line, without its end; empty at the end of the file."""
        end = self.content.find(b"\n", self.position)
        end = len(self.content) if end < 0 else end
        if end - self.position > MAX_LINE:
            raise refuse(self.path, f"has a line of more than {MAX_LINE:,} characters where a keyword is expected")
        text = self.content[self.position : end].decode("latin-1").rstrip("\r")
        self.position = end + 1
        return text

    def keywords(self) -> list[str]:
        """The words of the next line that has any; none at the end of the file."""
        self._keyword_count += 1
        if self._keyword_count > MAX_KEYWORDS:
            raise refuse(self.path, f"has more than {MAX_KEYWORDS:,} sections and arrays")
        self.position = _match_end(BLANKS.match(self.content, self.position), self.position)
        return self.line().split() if self.position < len(self.content) else []

    def skip_to_blank_line(self) -> None:
        """Go behind the next line that is blank."""
        self.position = _match_end(BLANK_LINE.search(self.content, self.position - 1), len(self.content))

    def numbers(self, what: str, count: int, kind: str) -> NDArray[np.generic]:
        """(count,) numbers that come next."""
        if kind not in TYPES:
            raise refuse(self.path, f"{what}: of type {kind[:40]!r}, expected one of {', '.join(TYPES)}")
        dtype, left = np.dtype(">" + TYPES[kind]), len(self.content) - self.position
        if not self.ascii:
            check_fits(self.path, what, count, dtype.itemsize, left)
            start, self.position = self.position, self.position + count * dtype.itemsize
            return np.frombuffer(self.content, dtype, count, start)
        check_fits(self.path, what, count, 2, left + 1)
        start, self.position = self.position, self._end_of_words(what, count)
        return parse_numbers(self.path, what, self.content[start : self.position].decode("latin-1"), dtype.newbyteorder("="))

    def _end_of_words(self, what: str, count: int) -> int:
        """Where the next `count` words end. A word ends where a blank follows something else; the end of the file counts as one."""
        at, size = self.position, 0
        while count:
            size = min(max(NUMBER_WIDTH * count, 2 * size), WINDOW)  # there may be many blanks between words
            part = np.frombuffer(self.content[at : at + size + 1].ljust(size + 1), np.uint8)  # one more, to see what follows
            blank = part <= ord(" ")
            ends = np.flatnonzero(blank[1:] & ~blank[:-1]) + 1
            if len(ends) >= count:
                return at + int(ends[count - 1])
            count, at = count - len(ends), at + size
            if at >= len(self.content):
                raise refuse(self.path, f"{what}: {count:,} numbers more are announced than are there")
        return at


def read_grid(path: Path) -> VtkGrid:
    """The grid of a file, not checked yet."""
    size_of(path)
    with path.open("rb") as file:
        skip_byte_order_mark(path, file)
        if file.read(len(SIGNATURE)) != SIGNATURE:  # before all of it is read
            raise refuse(path, f"does not begin with '{SIGNATURE.decode()}'")
    reader = _LegacyReader(path, read_bytes(path, MAX_FILE_BYTES, "VTK file").removeprefix(UTF8_MARK))
    words = reader.keywords()
    if len(words) < 2 or words[0].upper() != "DATASET" or words[1].upper() not in DATASETS:
        raise refuse(path, f"its dataset is {' '.join(words)[:60]!r}, expected {' or '.join(DATASETS)}, which ParaView's filter Extract "
                           "Surface makes of others")  # fmt: skip
    points: Floats | None = None
    parts: dict[str, Cells] = {}
    types: CellTypes | None = None
    while words := reader.keywords():
        section = words[0].upper()
        if section in ("POINT_DATA", "CELL_DATA"):
            break
        if section == "POINTS":
            rows = _parse_count(path, words, 1)
            points = reader.numbers("coordinates", 3 * rows, _word_at(path, words, 2).lower()).astype(np.float64).reshape(rows, 3)
        elif section in CELL_LISTS:
            parts[section] = _read_cells(reader, words, CELL_LISTS[section])
        elif section == "CELL_TYPES":
            types = cell_types(path, reader.numbers("types of cells", _parse_count(path, words, 1), "int"))
        elif section == "FIELD":
            _skip_field(reader, _parse_count(path, words, 2))
        elif section == "METADATA":
            reader.skip_to_blank_line()
        else:
            raise refuse(path, f"has a section {section[:40]!r}, which is not known")
    return _assemble_grid(path, points, parts, types)


def _assemble_grid(path: Path, points: Floats | None, parts: dict[str, Cells], types: CellTypes | None) -> VtkGrid:
    if points is None:
        raise refuse(path, "has no POINTS")
    if not parts:  # as a moment is written in which there is nothing
        return VtkGrid(points, NO_CELLS)
    if "CELLS" in parts:
        cells = parts.pop("CELLS")
        if types is None or len(types) != len(cells.types) or parts:
            raise refuse(path, f"{len(cells.types):,} cells need as many CELL_TYPES, and no other lists")
        return VtkGrid(points, cells._replace(types=types))
    nowhere = np.empty((0, 3))
    ordered = [parts[name] for name in CELL_LISTS if name in parts]  # as data of cells have them
    return VtkGrid(points, merge_grids(path, [VtkGrid(nowhere, cells) for cells in ordered]).cells)


def _read_cells(reader: _LegacyReader, words: list[str], kind: int) -> Cells:
    """A list of cells: each its number of points and these (before version 5.0), or offsets and then all points."""
    path, first, second = reader.path, _parse_count(reader.path, words, 1), _parse_count(reader.path, words, 2)
    if reader.version >= OFFSETS_VERSION:
        offsets = _read_integers(reader, "OFFSETS", first)
        connectivity = _read_integers(reader, "CONNECTIVITY", second)
        return Cells(np.full(max(len(offsets) - 1, 0), kind, np.uint8), offsets if len(offsets) else np.zeros(1, np.int64), connectivity)
    values = reader.numbers("corners of cells", second, "int").astype(np.int64)
    check_fits(path, "cells", first, 1, second)
    if first and second % first == 0 and (values[:: second // first] == second // first - 1).all():  # all alike, as most files have them
        size = second // first - 1
        return Cells(np.full(first, kind, np.uint8), size * np.arange(first + 1), values.reshape(first, size + 1)[:, 1:].ravel())
    starts = np.empty(first + 1, np.int64)
    at, sizes = 0, values.tolist()
    for cell in range(first):  # where a cell begins is known when the one before has been read
        starts[cell] = at
        if not 0 <= at < second or not 0 <= sizes[at] <= second - at - 1:
            raise refuse(path, f"cell {cell} has more corners than are left")
        at += sizes[at] + 1
    starts[first] = at
    if at != second:
        raise refuse(path, f"{second:,} numbers of corners are announced, {at:,} belong to cells")
    return Cells(np.full(first, kind, np.uint8), starts - np.arange(first + 1), np.delete(values, starts[:-1]))


def _read_integers(reader: _LegacyReader, name: str, count: int) -> Indices:
    """One of the two arrays of a list of cells."""
    words = reader.keywords()
    if len(words) != 2 or words[0].upper() != name:
        raise refuse(reader.path, f"has {' '.join(words)[:40]!r}, expected {name}")
    return reader.numbers(name.lower(), count, words[1].lower()).astype(np.int64)


def _skip_field(reader: _LegacyReader, arrays: int) -> None:
    """Arrays that belong to the whole dataset, such as its time."""
    for _ in range(arrays):
        words = reader.keywords()
        if len(words) < 4:
            raise refuse(reader.path, "a FIELD has fewer arrays than it announces")
        reader.numbers("numbers of a field", _parse_count(reader.path, words, 1) * _parse_count(reader.path, words, 2), words[3].lower())


def _match_end(found: re.Match[bytes] | None, default: int) -> int:
    """Where a match ends."""
    return found.end() if found else default


def _word_at(path: Path, words: list[str], place: int) -> str:
    if place >= len(words):
        raise refuse(path, f"{words[0][:40]}: expected {place} values behind it")
    return words[place]


def _parse_count(path: Path, words: list[str], place: int) -> int:
    text = _word_at(path, words, place)
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise refuse(path, f"{words[0][:40]}: {text[:40]!r} is no count")
    return int(text)
