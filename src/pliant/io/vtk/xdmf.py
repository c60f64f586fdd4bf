"""Simulations in XDMF files: XML that says what is where, and numbers in it, in HDF5 or in raw binary files beside it.

XDMF Model and Format (versions 2 and 3). The first temporal collection of grids is the animation, or, where several share a mesh, as FEniCS
writes one for each function, the first with displacements; a grid without a collection is one frame. Grids may take topology and geometry
from others by XInclude or Reference, within the file only.

Invariant: of the XML everything is kept, with the numbers that are in it; of other files one topology. All else is read when a frame is
asked for.
"""

from __future__ import annotations

import math
import re
import threading
import weakref
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from pliant.io.animation import DEFAULT_SETTINGS, Animation, Settings
from pliant.io.limits import check_fits, display_name, file_errors, refuse, resolve_inside, size_of
from pliant.io.subprocess_client import SubprocessClient
from pliant.io.vtk.safe_xml import attribute, parse_numbers, parse_xml, read_chunks
from pliant.io.vtk.surface import POLYGON, Cells, Floats, Indices, VtkGrid, to_int64
from pliant.io.vtk.time_series import MAX_FRAMES, frame_rate, is_displacement, make_actor
from pliant.io.vtk.xpath import MAX_POINTER, find_element

MAX_XML = 1 << 31  # bytes
TYPES = {"int": "i", "uint": "u", "float": "f", "char": "i", "uchar": "u"}
MESH_TAGS = ("Topology", "Geometry")

# XDMF's topologies: number in mixed ones, VTK's type, nodes; the names are compared without case and underscores.
TOPOLOGIES = {"polyvertex": (1, 2, 0), "polyline": (2, 4, 0), "polygon": (3, POLYGON, 0), "triangle": (4, 5, 3), "quadrilateral": (5, 9, 4),
              "tetrahedron": (6, 10, 4), "pyramid": (7, 14, 5), "wedge": (8, 13, 6), "hexahedron": (9, 12, 8), "edge3": (34, 21, 3),
              "quadrilateral9": (35, 28, 9), "triangle6": (36, 22, 6), "quadrilateral8": (37, 23, 8), "tetrahedron10": (38, 24, 10),
              "pyramid13": (39, 27, 13), "wedge15": (40, 26, 15), "wedge18": (41, 32, 18), "hexahedron20": (48, 25, 20),
              "hexahedron24": (49, 33, 24), "hexahedron27": (50, 29, 27)}  # fmt: skip
ABBREVIATIONS = {"tri": "triangle", "quad": "quadrilateral", "tet": "tetrahedron", "hex": "hexahedron"}
MIXED_TYPES = {number: (kind, nodes) for number, kind, nodes in TOPOLOGIES.values()}


class _XdmfDocument:
    """The XML, and what its elements refer to."""

    def __init__(self, path: Path) -> None:
        self.path, self.root = path, parse_xml(path, read_chunks(path, MAX_XML))
        if self.root.tag != "Xdmf":
            raise refuse(path, f"is <{self.root.tag[:40]}>, expected <Xdmf>")
        items = [item for item in self.root.iter("DataItem") if "Reference" not in item.attrib]
        named = {_item_file(item) for item in items if _item_format(item) in ("HDF", "BINARY")}
        self.files = path, *(resolve_inside(path, name) for name in sorted(named))  # refused at once, whenever they would be read
        self._elements: dict[str, Element] = {}
        self._last_cells: tuple[Element, Cells] | None = None
        self._lock = threading.Lock()
        self._arrays = _hdf5_client()

    def grid(self, grid: Element) -> VtkGrid:
        """A uniform grid in numbers, not checked yet."""
        topology, geometry = (self._mesh_element(grid, name) for name in MESH_TAGS)
        fields = [each for each in grid.findall("Attribute") if is_displacement(each.get("Name", "")) and _is_nodal(each)]
        moved = self._rows(fields[0].findall("DataItem"), "displacements") if fields else None
        return VtkGrid(self._points(geometry), self._cells(topology), moved)

    def _mesh_element(self, grid: Element, name: str) -> Element:
        """The topology or geometry of a grid, its own or one that it refers to."""
        found = grid.find(name)
        for include in grid.findall("include") if found is None else ():
            if "href" in include.attrib:
                raise refuse(self.path, "includes another file, which is not read")
            text = include.get("xpointer", "").strip()[: 2 * MAX_POINTER]  # a longer one is not found
            pointer = re.fullmatch(r"xpointer\((.*)\)", text, re.DOTALL)
            target = pointer[1].strip() if pointer else text
            found = self._element_at(re.sub(r"/\*\[self::[^\]]*\]$|/(Topology|Geometry)$", "", target)).find(name)
            if found is not None:
                break
        if found is None:
            raise refuse(self.path, f"a grid has no {name}")
        return self._dereference(found)

    def _dereference(self, element: Element) -> Element:
        """The element that this one stands for: itself, or the one whose path its attribute Reference has or, if that is XML, its text."""
        pointer = element.get("Reference")
        if pointer is None:
            return element
        found = self._element_at((element.text or "") if pointer == "XML" else pointer)
        if found.tag != element.tag or "Reference" in found.attrib:
            raise refuse(self.path, f"refers to {pointer[:80]!r}, which is no {element.tag} with values")
        return found

    def _element_at(self, pointer: str) -> Element:
        """The element that a pointer means."""
        pointer = pointer.strip()
        if pointer not in self._elements:
            found = find_element(self.root, pointer)
            if found is None:
                raise refuse(self.path, f"refers to {pointer[:80]!r}, which is not found")
            self._elements[pointer] = found
        return self._elements[pointer]

    def _cells(self, topology: Element) -> Cells:
        """Cells of a topology. The last is kept, since in most files all grids have the same."""
        with self._lock:
            if self._last_cells is not None and self._last_cells[0] is topology:
                return self._last_cells[1]
        found = self._read_cells(topology)
        with self._lock:
            self._last_cells = topology, found
        return found

    def _read_cells(self, topology: Element) -> Cells:
        kind = attribute(self.path, topology, "TopologyType", "Type").lower().replace("_", "")
        values = to_int64(self.path, "topology", self._values(self._single_item(topology)))
        if topology.get("BaseOffset", "0").strip() != "0":
            raise refuse(self.path, "has corners that are not counted from 0")
        if kind == "mixed":
            return _mixed_cells(self.path, values.ravel())
        for short, full in ABBREVIATIONS.items():
            kind = re.sub(rf"^{short}(?=\d*$)", full, kind)
        if kind not in TOPOLOGIES:
            raise refuse(self.path, f"has a topology of type {kind[:40]!r}, expected Mixed or one of {', '.join(TOPOLOGIES)}")
        _, vtk, nodes = TOPOLOGIES[kind]
        nodes = nodes or _parse_integer(self.path, topology.get("NodesPerElement") or str(values.shape[-1] if values.ndim == 2 else 0))
        if nodes < 1 or values.size % nodes:
            raise refuse(self.path, f"{values.size:,} corners do not make cells of {nodes} each")
        count = values.size // nodes
        return Cells(np.full(count, vtk, np.uint8), nodes * np.arange(count + 1), values.ravel())

    def _points(self, geometry: Element) -> Floats:
        kind, items = attribute(self.path, geometry, "GeometryType", "Type", default="XYZ").upper(), geometry.findall("DataItem")
        if kind not in ("XYZ", "XY", "X_Y_Z", "X_Y"):
            raise refuse(self.path, f"has a geometry of type {kind[:40]!r}, expected XYZ or XY, together or apart")
        return self._rows(items, "points", kind.count("X") + kind.count("Y") + kind.count("Z"))

    def _rows(self, items: list[Element], what: str, width: int = 3) -> Floats:
        """(n, 3) numbers of one item, or of one for each axis; what is flat gets zeros."""
        parts = [self._values(self._dereference(item)) for item in items]
        if len(parts) == 1:
            columns = parts[0].shape[1] if parts[0].ndim == 2 else width
            rows = parts[0].reshape(-1, columns) if columns in (2, 3) and parts[0].size % columns == 0 else None
        else:
            even = len(parts) == width and len({part.size for part in parts}) == 1
            rows = np.stack([part.ravel() for part in parts], axis=1) if even else None
        if rows is None:
            raise refuse(self.path, f"{what}: expected rows of two or three numbers")
        return np.pad(rows.astype(np.float64), ((0, 0), (0, 3 - rows.shape[1])))

    def _single_item(self, element: Element) -> Element:
        items = element.findall("DataItem")
        if len(items) != 1:
            raise refuse(self.path, f"<{element.tag}> has {len(items)} items, expected one; structured grids are not read")
        return self._dereference(items[0])

    def _values(self, item: Element) -> NDArray[np.generic]:
        """The numbers of a DataItem in the shape of its Dimensions."""
        if item.get("ItemType", "Uniform") != "Uniform":
            raise refuse(self.path, f"has an item of type {item.get('ItemType', '')[:40]!r}; only uniform ones are read")
        shape = [_parse_integer(self.path, word) for word in attribute(self.path, item, "Dimensions").split()]
        if not 1 <= len(shape) <= 2:
            raise refuse(self.path, f"has an item of dimensions {shape!r:.60}, expected one or two")
        found = self._read_item(item, math.prod(shape))
        if found.size != math.prod(shape):
            raise refuse(self.path, f"has an item of dimensions {shape}, where {found.size:,} numbers are")
        return found.reshape(shape)

    def _read_item(self, item: Element, count: int) -> NDArray[np.generic]:
        form, text = _item_format(item), item.text or ""
        if form == "XML":
            return parse_numbers(self.path, "an item", text, self._dtype(item))
        if form == "HDF":
            return self._dataset(resolve_inside(self.path, _item_file(item)), text.rpartition(":")[2].strip())
        if form == "BINARY" and attribute(self.path, item, "Compression", default="Raw") == "Raw":
            return self._binary(item, resolve_inside(self.path, _item_file(item)), count)
        raise refuse(self.path, f"has an item of format {form[:40]!r}, expected XML, HDF or uncompressed Binary")

    def _dataset(self, path: Path, name: str) -> NDArray[np.generic]:
        """Numbers of an HDF5 file."""
        _, (values,) = self._arrays.request(path, "read_array", str(path), name)
        return values

    def _binary(self, item: Element, path: Path, count: int) -> NDArray[np.generic]:
        """Numbers of a raw file, from the byte that Seek says."""
        dtype, start = self._dtype(item), _parse_integer(self.path, item.get("Seek", "0"))
        order = attribute(self.path, item, "Endian", default="Native").upper()
        dtype = dtype.newbyteorder("<") if order == "LITTLE" else dtype.newbyteorder(">") if order == "BIG" else dtype
        check_fits(path, "numbers", count, dtype.itemsize, size_of(path) - start)
        return np.fromfile(path, dtype, count, offset=start)

    def _dtype(self, item: Element) -> np.dtype[Any]:
        """NumberType is of version 2, DataType of version 3; a number has 4 bytes if nothing is said, a character one."""
        kind = attribute(self.path, item, "DataType", "NumberType", default="Float").lower()
        size = attribute(self.path, item, "Precision", default="1" if "char" in kind else "4")
        if kind not in TYPES or size not in (("4", "8") if kind == "float" else ("1", "2", "4", "8")):
            raise refuse(self.path, f"has numbers of type {kind[:40]!r} with {size[:40]!r} bytes, which are not known")
        return np.dtype(f"{TYPES[kind]}{size}")


_shared_client: weakref.ReferenceType[SubprocessClient] | None = None
_client_lock = threading.Lock()


def _hdf5_client() -> SubprocessClient:
    """A process that starts when something in HDF5 is asked for: one for all documents there are, since it remembers nothing of a file."""
    global _shared_client
    with _client_lock:
        found = None if _shared_client is None else _shared_client()
        if found is None:
            found = SubprocessClient("pliant.io.vtk.hdf5", "Hdf5Service")
            _shared_client = weakref.ref(found)
        return found


def read_xdmf(path: str | Path, settings: Settings = DEFAULT_SETTINGS) -> Animation:
    """Read an XDMF file. Numbers in HDF5 need h5py: pip install 'pliant[vtk]'."""
    path = Path(path)
    with file_errors(path):
        document = _XdmfDocument(path)
        steps, times, notes = _time_steps(document)
        if not 1 <= len(steps) <= MAX_FRAMES:
            raise refuse(path, f"has {len(steps):,} grids that are steps of time, expected 1 to {MAX_FRAMES:,}")
        made, more = make_actor(path.stem, len(steps), lambda frame: document.grid(steps[frame]), lambda _: path, len(steps))
        rate, uneven = frame_rate(times, settings)
        return Animation(path.stem, [made], len(steps), rate, notes=notes + uneven + more, files=document.files)


def _time_steps(document: _XdmfDocument) -> tuple[list[Element], list[float], tuple[str, ...]]:
    """The grids of all frames, their times, and what was left out."""
    path, grids = document.path, document.root.findall("Domain/Grid")
    series = [each for each in grids if each.get("GridType") == "Collection" and each.get("CollectionType", "Spatial") == "Temporal"]
    uniform = [each for each in grids if each.get("GridType", "Uniform") == "Uniform"]
    if not series and len(uniform) == 1 and len(grids) == 1:
        return uniform, [0.0], ()
    if not series:
        raise refuse(path, f"has {len(grids)} grids; expected a temporal collection, or one uniform grid")
    with_displacement = [each for each in series
                         if any(is_displacement(field.get("Name", "")) for field in each.iterfind("Grid/Attribute"))]
    chosen = (with_displacement or series)[0]
    steps = chosen.findall("Grid")
    if any(step.get("GridType", "Uniform") != "Uniform" for step in steps):
        raise refuse(path, "has collections within collections, which are not read")
    skipped = len(series) - 1
    shown = display_name(chosen.get("Name", "the first"))
    notes = (f"{skipped} more collections of the file were left out: {shown} is shown.",) if skipped else ()
    return steps, _step_times(document, chosen, steps), notes


def _step_times(document: _XdmfDocument, collection: Element, steps: list[Element]) -> list[float]:
    """Of each step: its own, or by a list or start, stride and count of the collection; else their numbers."""
    own = [step.find("Time") for step in steps]
    if all(each is not None and "Value" in each.attrib for each in own):
        return [_parse_number(document.path, each.get("Value", "")) for each in own if each is not None]
    shared = collection.find("Time")
    item = None if shared is None else shared.find("DataItem")
    if shared is None or item is None:
        return [float(number) for number in range(len(steps))]
    values = [_parse_number(document.path, word) for word in (item.text or "").split()]
    if shared.get("TimeType") == "HyperSlab" and len(values) == 3:
        return [values[0] + values[1] * number for number in range(len(steps))]
    if len(values) != len(steps):
        raise refuse(document.path, f"has {len(values)} times of {len(steps)} steps")
    return values


def _mixed_cells(path: Path, values: Indices) -> Cells:
    """Cells of several types: the number of each type comes before its corners, with their count where that is not fixed."""
    types, starts, sizes, at, data = [], [], [], 0, values.tolist()
    while at < len(data):
        if data[at] not in MIXED_TYPES:
            raise refuse(path, f"has a mixed topology with cells of type {data[at]}, which are not read")
        kind, nodes = MIXED_TYPES[data[at]]
        at += 1
        if not nodes:
            nodes, at = data[at] if at < len(data) else -1, at + 1
        if nodes < 0 or at + nodes > len(data):
            raise refuse(path, "has a mixed topology that ends within a cell")
        types.append(kind)
        starts.append(at)
        sizes.append(nodes)
        at += nodes
    depth = np.zeros(len(values) + 1, np.int64)
    np.add.at(depth, starts, 1)
    np.add.at(depth, np.add(starts, sizes, dtype=np.int64) if starts else np.empty(0, np.int64), -1)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    return Cells(np.array(types, np.uint8), offsets, values[np.cumsum(depth)[:-1] > 0])


def _item_format(item: Element) -> str:
    return item.get("Format", "XML").strip().upper()


def _item_file(item: Element) -> str:
    """The name of the file that an item is in: all of its text or, for HDF5, what is before the path of the dataset."""
    text = item.text or ""
    return (text.rpartition(":")[0] if _item_format(item) == "HDF" else text).strip()


def _is_nodal(field: Element) -> bool:
    return field.get("Center", "Node") == "Node"


def _parse_integer(path: Path, text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit() and len(text) < 16):
        raise refuse(path, f"has {text[:40]!r} where a count is expected")
    return int(text)


def _parse_number(path: Path, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refuse(path, f"a time is {text[:40]!r}, expected a finite number")
    return value
