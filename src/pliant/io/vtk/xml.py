"""VTK's XML files of one moment: UnstructuredGrid (.vtu) and PolyData (.vtp), in one piece or several.

The VTK User's Guide, "XML File Formats". Only points, cells and a field of displacements are read; whatever else is there is passed over.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from pliant.core.validate_table import read_bytes
from pliant.io.limits import MOST_BYTES, refuse, size_of
from pliant.io.vtk.arrays import Arrays
from pliant.io.vtk.safe_xml import attribute, check_head, count
from pliant.io.vtk.surface import EMPTY, POLYGON, STRIP, Cells, Floats, Grid, indices, joined, kinds
from pliant.io.vtk.time_series import is_displacement

KINDS = ("UnstructuredGrid", "PolyData")
LISTS = {"Polys": POLYGON, "Strips": STRIP}  # of PolyData; its vertices and lines have no surface


def read_grid(path: Path) -> Grid:
    """All pieces of a file as one grid, not checked yet."""
    size_of(path)
    check_head(path)
    arrays = Arrays(path, read_bytes(path, MOST_BYTES, "VTK file"))
    kind = attribute(path, arrays.root, "type")
    if kind not in KINDS:
        raise refuse(path, f"holds {kind[:40]!r}, expected {' or '.join(KINDS)}, which ParaView's filter Extract Surface makes of others")
    found = arrays.root.find(kind)
    pieces = [] if found is None else found.findall("Piece")
    if not pieces:
        raise refuse(path, f"has no <Piece> in its <{kind}>")
    return joined(path, [_piece(arrays, piece, kind) for piece in pieces])


def _piece(arrays: Arrays, piece: Element, kind: str) -> Grid:
    path, points = arrays.path, count(arrays.path, piece, "NumberOfPoints")
    place = piece.find("Points/DataArray")
    if place is None and points:
        raise refuse(path, "a piece has no points")
    rows = np.empty((0, 3)) if place is None else _rows(arrays, place, points, "points")
    fields = [field for field in piece.findall("PointData/DataArray") if is_displacement(field.get("Name", ""))]
    moved = _rows(arrays, fields[0], points, "displacements") if fields and _components(path, fields[0]) == 3 else None
    return Grid(rows, _cells(arrays, piece) if kind == "UnstructuredGrid" else _polygons(arrays, piece), moved)


def _components(path: Path, element: Element) -> int:
    """How many numbers a row has; some writers leave the attribute empty."""
    return count(path, element, "NumberOfComponents") if element.get("NumberOfComponents") else 1


def _rows(arrays: Arrays, element: Element, rows: int, what: str) -> Floats:
    values = arrays.read(element)
    if len(values) != 3 * rows:
        raise refuse(arrays.path, f"{what}: {len(values):,} numbers, expected {rows:,} rows of 3")
    return values.astype(np.float64).reshape(rows, 3)


def _named(arrays: Arrays, section: Element, name: str) -> NDArray[np.generic]:
    """The array of a section that has this name."""
    for element in section.findall("DataArray"):
        if element.get("Name") == name:
            return arrays.read(element)
    raise refuse(arrays.path, f"<{section.tag}> has no array {name!r}")


def _cells(arrays: Arrays, piece: Element) -> Cells:
    section, number = piece.find("Cells"), count(arrays.path, piece, "NumberOfCells")
    if section is None:
        raise refuse(arrays.path, "a piece has no <Cells>")
    connectivity, offsets = (indices(arrays.path, name, _named(arrays, section, name)) for name in ("connectivity", "offsets"))
    types = kinds(arrays.path, _named(arrays, section, "types"))
    if not len(offsets) == len(types) == number:
        raise refuse(arrays.path, f"{number:,} cells are announced, {len(types):,} types and {len(offsets):,} offsets are there")
    return Cells(types, np.concatenate([np.zeros(1, np.int64), offsets]), connectivity)


def _polygons(arrays: Arrays, piece: Element) -> Cells:
    """Polygons and strips of PolyData as cells."""
    parts = []
    for tag, kind in LISTS.items():
        section = piece.find(tag)
        if section is not None and len(section) and count(arrays.path, piece, f"NumberOf{tag}", default="1"):
            connectivity, offsets = (indices(arrays.path, name, _named(arrays, section, name)) for name in ("connectivity", "offsets"))
            parts.append(Cells(np.full(len(offsets), kind, np.uint8), np.concatenate([np.zeros(1, np.int64), offsets]), connectivity))
    nowhere = np.empty((0, 3))
    return joined(arrays.path, [Grid(nowhere, cells) for cells in parts or [EMPTY]]).cells
