"""Wavefront OBJ: positions and faces of text files (Wavefront's Advanced Visualizer manual, appendix B1).

Only `v`, `f`, `o`, `g` and the names of `usemtl` matter here. The vertices of a part are those of the `v` lines, in their order, because a
point cache counts them; a reader that splits vertices where textures have seams would lose that order. Indices count from 1, or, where
negative, back from the last vertex before the face. Materials and textures are never opened.

Objects are parts of their own; where a file has none, groups are. But many files call regions of one surface groups: parts that share
vertices are one.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from pliant.io.animation import Floats
from pliant.io.limits import MAX_LINE_BYTES, MAX_MESH_BYTES, Lines, refuse, size_of
from pliant.io.mesh_part import MAX_PARTS, MeshPart, polygon_part, with_materials
from pliant.io.polygons import Indices, Polygons, checked_polygons

CONTINUATIONS = (b"\\", b"\\\r")  # how a line ends that the next one continues
IGNORED_KEYS = (b"vn", b"vt", b"vp", b"l ", b"p ")  # normals, textures, lines and points: worth writing down, but of no surface


class ObjContent:
    """What has been read of a file so far; of faces the indices as they are written, and how many vertices came before."""

    def __init__(self) -> None:
        self.coordinates, self.corners = array("d"), array("q")
        self.counts, self.vertices_before = array("q"), array("q")
        self.names = {b"o": FaceLabels(), b"g": FaceLabels()}
        self.materials = FaceLabels()

    def vertex(self, words: list[bytes]) -> None:
        if len(words) < 4:
            raise ValueError(f"expected three coordinates, got {len(words) - 1}")
        self.coordinates.extend((float(words[1]), float(words[2]), float(words[3])))

    def face(self, words: list[bytes]) -> None:
        self.corners.extend([int(word.partition(b"/")[0]) for word in words])
        self.counts.append(len(words))
        self.vertices_before.append(len(self.coordinates) // 3)

    def polygons(self) -> tuple[Indices, Indices]:
        """Corners, counted from 0, with −1 for what is no index; and how many each polygon has."""
        counts, corners = np.array(self.counts, np.int64), np.array(self.corners, np.int64)
        return np.where(corners >= 0, corners - 1, corners + np.repeat(np.array(self.vertices_before, np.int64), counts)), counts


class FaceLabels:
    """The objects, the groups or the materials: label 0 is for faces before the first."""

    def __init__(self) -> None:
        self.label_of_name, self.labels, self.starts = {b"": 0}, [0], [0]

    def begin(self, name: bytes, face: int) -> bool:
        """From this face on it is that one; whether the one before has any."""
        label, new = self.label_of_name.setdefault(name, len(self.label_of_name)), face > self.starts[-1]
        if len(self.label_of_name) > MAX_PARTS:
            raise ValueError(f"more than {MAX_PARTS:,} objects, groups or materials")
        if new:
            self.labels.append(label)
            self.starts.append(face)
        self.labels[-1] = label
        return new

    def of_faces(self, faces: int) -> Indices:
        """(faces,) the label of each."""
        return np.repeat(np.array(self.labels, np.int64), np.diff(self.starts, append=faces))


def read_obj(path: Path) -> list[MeshPart]:
    """The parts of a file."""
    size_of(path, MAX_MESH_BYTES)
    content, continued = ObjContent(), bytearray()
    with path.open("rb") as file:
        text = Lines(path, file)
        for number, line in enumerate(text, 1):
            try:
                if line.endswith(CONTINUATIONS):
                    continued += line.rstrip()[:-1] + b" "
                    if len(continued) > MAX_LINE_BYTES:
                        raise ValueError(f"continues lines of more than {MAX_LINE_BYTES:,} bytes")
                else:
                    text.idle += not _parse_line(content, bytes(continued) + line if continued else line)
                    continued.clear()
            except (ValueError, OverflowError) as error:
                raise refuse(path, f"line {number}: {error}") from None
    if continued:
        raise refuse(path, "ends in the middle of a line that is to go on")
    materials = [name.decode("utf-8", "replace") for name in content.materials.label_of_name]
    label = content.materials.of_faces(len(content.counts))
    return [with_materials(part, materials, label) for part in _split_parts(path, content)]


def _parse_line(content: ObjContent, line: bytes) -> bool:
    """Take in what a line says; whether it says anything."""
    key = line[:2]
    if key == b"v ":
        content.vertex(line.split(None, 4))
    elif key == b"f ":
        content.face(line.partition(b"#")[0].split()[1:])
    elif key in IGNORED_KEYS:
        return True
    elif key in (b"o ", b"g "):
        return content.names[key[:1]].begin(line[2:].strip(), len(content.counts))
    elif line.startswith(b"usemtl "):
        return content.materials.begin(line[7:].strip(), len(content.counts))
    elif key[:1].isspace() or key[1:] == b"\t":
        words = line.split()
        return bool(words) and _parse_line(content, b" ".join(words))
    else:
        return False
    return True


def _split_parts(path: Path, content: ObjContent) -> list[MeshPart]:
    vertices = np.array(content.coordinates).reshape(-1, 3)
    polygons = checked_polygons(path, *content.polygons(), len(vertices))
    if not len(polygons.counts):
        return []
    names = content.names[b"o" if len(content.names[b"o"].label_of_name) > 1 else b"g"]
    label = names.of_faces(len(content.counts))[polygons.rows]
    label_names = [name.decode("utf-8", "replace") or path.stem for name in names.label_of_name]
    used = np.unique(label)
    if len(used) == 1:
        return [polygon_part(label_names[used[0]], vertices, polygons)]
    owner = _connected_labels(polygons, label, len(label_names), len(vertices))[label]
    order = np.argsort(owner, kind="stable")
    surfaces = sorted(np.split(order, np.flatnonzero(np.diff(owner[order])) + 1), key=lambda some: int(some[0]))
    if len(surfaces) == 1:
        return [polygon_part(path.stem, vertices, polygons)]
    return [_make_part(label_names[label[some[0]]], vertices, polygons.take(some)) for some in surfaces]


def _connected_labels(polygons: Polygons, label: Indices, labels: int, count: int) -> Indices:
    """(labels,): which of the labels are one, because polygons of both have a vertex in common."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.repeat(label, polygons.counts), labels + polygons.corners
    graph = coo_array((np.ones(len(ends[0]), np.int32), ends), shape=(labels + count, labels + count))
    found: Indices = connected_components(graph.tocsr(), directed=False)[1][:labels]
    return found


def _make_part(name: str, vertices: Floats, polygons: Polygons) -> MeshPart:
    rows, corners = np.unique(polygons.corners, return_inverse=True)
    return polygon_part(name, vertices[rows], polygons._replace(corners=corners))._replace(rows=rows, file_vertices=len(vertices))
