"""VTK's XML files of one moment: UnstructuredGrid (.vtu) and PolyData (.vtp), in one piece or several.

The VTK User's Guide, "XML File Formats". Only points, cells and a field of displacements are read; whatever else is there is passed over.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from pliant.core.validate_table import read_bytes
from pliant.io.limits import MAX_FILE_BYTES, refuse, size_of
from pliant.io.vtk.arrays import ArrayReader
from pliant.io.vtk.safe_xml import attribute, check_xml_start, count_attribute
from pliant.io.vtk.surface import NO_CELLS, POLYGON, STRIP, Cells, Floats, VtkGrid, cell_types, merge_grids, to_int64
from pliant.io.vtk.time_series import is_displacement

GRID_TYPES = ("UnstructuredGrid", "PolyData")
CELL_LISTS = {"Verts": 2, "Lines": 4, "Polys": POLYGON, "Strips": STRIP}  # of PolyData, in the order in which its cells are numbered


def read_grid(path: Path) -> VtkGrid:
    """All pieces of a file as one grid, not checked yet."""
    size_of(path)
    check_xml_start(path)
    arrays = ArrayReader(path, read_bytes(path, MAX_FILE_BYTES, "VTK file"))
    kind = attribute(path, arrays.root, "type")
    if kind not in GRID_TYPES:
        raise refuse(path, f"holds {kind[:40]!r}, expected {' or '.join(GRID_TYPES)}, "
                           "which ParaView's filter Extract Surface makes of others")
    found = arrays.root.find(kind)
    pieces = [] if found is None else found.findall("Piece")
    if not pieces:
        raise refuse(path, f"has no <Piece> in its <{kind}>")
    return merge_grids(path, [_read_piece(arrays, piece, kind) for piece in pieces])


def _read_piece(arrays: ArrayReader, piece: Element, kind: str) -> VtkGrid:
    path, points = arrays.path, count_attribute(arrays.path, piece, "NumberOfPoints")
    element = piece.find("Points/DataArray")
    if element is None and points:
        raise refuse(path, "a piece has no points")
    rows = np.empty((0, 3)) if element is None else _read_rows(arrays, element, points, "points")
    fields = [field for field in piece.findall("PointData/DataArray") if is_displacement(field.get("Name", ""))]
    displacement = _read_rows(arrays, fields[0], points, "displacements") if fields and _components(path, fields[0]) == 3 else None
    return VtkGrid(rows, _read_cells(arrays, piece) if kind == "UnstructuredGrid" else _read_polygons(arrays, piece), displacement)


def _components(path: Path, element: Element) -> int:
    """How many numbers a row has; some writers leave the attribute empty."""
    return count_attribute(path, element, "NumberOfComponents") if element.get("NumberOfComponents") else 1


def _read_rows(arrays: ArrayReader, element: Element, rows: int, what: str) -> Floats:
    values = arrays.read(element)
    if len(values) != 3 * rows:
        raise refuse(arrays.path, f"{what}: {len(values):,} numbers, expected {rows:,} rows of 3")
    return values.astype(np.float64).reshape(rows, 3)


def _read_named(arrays: ArrayReader, section: Element, name: str) -> NDArray[np.generic]:
    """The array of a section that has this name."""
    for element in section.findall("DataArray"):
        if element.get("Name") == name:
            return arrays.read(element)
    raise refuse(arrays.path, f"<{section.tag}> has no array {name!r}")


def _read_cells(arrays: ArrayReader, piece: Element) -> Cells:
    section, number = piece.find("Cells"), count_attribute(arrays.path, piece, "NumberOfCells")
    if section is None:
        raise refuse(arrays.path, "a piece has no <Cells>")
    connectivity, offsets = (to_int64(arrays.path, name, _read_named(arrays, section, name)) for name in ("connectivity", "offsets"))
    types = cell_types(arrays.path, _read_named(arrays, section, "types"))
    if not len(offsets) == len(types) == number:
        raise refuse(arrays.path, f"{number:,} cells are announced, {len(types):,} types and {len(offsets):,} offsets are there")
    return Cells(types, np.concatenate([np.zeros(1, np.int64), offsets]), connectivity)


def _read_polygons(arrays: ArrayReader, piece: Element) -> Cells:
    """Vertices, lines, polygons and strips of PolyData as cells."""
    parts = []
    for tag, kind in CELL_LISTS.items():
        section = piece.find(tag)
        if section is not None and len(section) and count_attribute(arrays.path, piece, f"NumberOf{tag}", default="1"):
            connectivity, offsets = (to_int64(arrays.path, name, _read_named(arrays, section, name))
                                     for name in ("connectivity", "offsets"))
            parts.append(Cells(np.full(len(offsets), kind, np.uint8), np.concatenate([np.zeros(1, np.int64), offsets]), connectivity))
    no_points = np.empty((0, 3))
    return merge_grids(arrays.path, [VtkGrid(no_points, cells) for cells in parts or [NO_CELLS]]).cells
