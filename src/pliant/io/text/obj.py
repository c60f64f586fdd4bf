"""Wavefront OBJ: positions and faces of text files (Wavefront's Advanced Visualizer manual, appendix B1).

Only `v`, `f`, `o` and `g` matter here. The vertices of a part are those of the `v` lines, in their order, because a point cache counts
them; a reader that splits vertices where textures have seams would lose that order. Indices count from 1, or, where negative, back from the
last vertex before the face. Materials and textures are never opened.

Objects are parts of their own; where a file has none, groups are. But many files call regions of one surface groups: parts that share
vertices are one.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from pliant.io.animation import Floats
from pliant.io.limits import LONGEST, MOST_MESH, Lines, refuse, size_of
from pliant.io.mesh_part import MOST_PARTS, Indices, Part, fans, in_range, whole

GOES_ON = (b"\\", b"\\\r")  # how a line ends that the next one continues
PASSED = (b"vn", b"vt", b"vp", b"l ", b"p ")  # normals, textures, lines and points: worth writing down, but of no surface


class Content:
    """What has been read of a file so far; of faces the indices as they are written, and how many vertices came before."""

    def __init__(self) -> None:
        self.coordinates, self.corners = array("d"), array("q")
        self.counts, self.before = array("q"), array("q")
        self.names = {b"o": Names(), b"g": Names()}

    def vertex(self, words: list[bytes]) -> None:
        if len(words) < 4:
            raise ValueError(f"expected three coordinates, got {len(words) - 1}")
        self.coordinates.extend((float(words[1]), float(words[2]), float(words[3])))

    def face(self, words: list[bytes]) -> None:
        self.corners.extend([int(word.partition(b"/")[0]) for word in words])
        self.counts.append(len(words))
        self.before.append(len(self.coordinates) // 3)

    def polygons(self) -> tuple[Indices, Indices]:
        """Corners, counted from 0, with −1 for what is no index; and how many each polygon has."""
        counts, corners = np.array(self.counts, np.int64), np.array(self.corners, np.int64)
        return np.where(corners >= 0, corners - 1, corners + np.repeat(np.array(self.before, np.int64), counts)), counts


class Names:
    """The objects, or the groups: label 0 is for faces before the first."""

    def __init__(self) -> None:
        self.known, self.labels, self.starts = {b"": 0}, [0], [0]

    def enter(self, name: bytes, face: int) -> bool:
        """From this face on it is that one; whether the one before has any."""
        label, new = self.known.setdefault(name, len(self.known)), face > self.starts[-1]
        if len(self.known) > MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS:,} objects or groups")
        if new:
            self.labels.append(label)
            self.starts.append(face)
        self.labels[-1] = label
        return new

    def of(self, faces: int) -> Indices:
        """(faces,) the label of each."""
        return np.repeat(np.array(self.labels, np.int64), np.diff(self.starts, append=faces))


def read_obj(path: Path) -> list[Part]:
    """The parts of a file."""
    size_of(path, MOST_MESH)
    content, begun = Content(), bytearray()
    with path.open("rb") as file:
        text = Lines(path, file)
        for number, line in enumerate(text, 1):
            try:
                if line.endswith(GOES_ON):
                    begun += line.rstrip()[:-1] + b" "
                    if len(begun) > LONGEST:
                        raise ValueError(f"continues lines of more than {LONGEST:,} bytes")
                else:
                    text.idle += not _line(content, bytes(begun) + line if begun else line)
                    begun.clear()
            except (ValueError, OverflowError) as error:
                raise refuse(path, f"line {number}: {error}") from None
    if begun:
        raise refuse(path, "ends in the middle of a line that is to go on")
    return _parts(path, content)


def _line(content: Content, line: bytes) -> bool:
    """Take in what a line says; whether it says anything."""
    key = line[:2]
    if key == b"v ":
        content.vertex(line.split(None, 4))
    elif key == b"f ":
        content.face(line.partition(b"#")[0].split()[1:])
    elif key in PASSED:
        return True
    elif key in (b"o ", b"g "):
        return content.names[key[:1]].enter(line[2:].strip(), len(content.counts))
    elif key[:1].isspace() or key[1:] == b"\t":
        words = line.split()
        return bool(words) and _line(content, b" ".join(words))
    else:
        return False
    return True


def _parts(path: Path, content: Content) -> list[Part]:
    vertices = np.array(content.coordinates).reshape(-1, 3)
    corners, counts = content.polygons()
    faces = fans(corners, counts)
    names = content.names[b"o" if len(content.names[b"o"].known) > 1 else b"g"]
    label = np.repeat(names.of(len(counts)), np.maximum(counts - 2, 0))
    known = [name.decode("utf-8", "replace") or path.stem for name in names.known]
    used = np.unique(label)
    if len(used) <= 1:
        return whole(path, known[used[0]] if len(used) else path.stem, vertices, faces)
    in_range(path, faces, len(vertices))
    owner = _connected(faces, label, len(known), len(vertices))[label]
    order = np.argsort(owner, kind="stable")
    surfaces = sorted(np.split(order, np.flatnonzero(np.diff(owner[order])) + 1), key=lambda some: int(some[0]))
    if len(surfaces) == 1:
        return whole(path, path.stem, vertices, faces)
    return [_part(known[label[some[0]]], vertices, faces[some]) for some in surfaces]


def _connected(faces: Indices, label: Indices, labels: int, count: int) -> Indices:
    """(labels,): which of the labels are one, because faces of both have a vertex in common."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.repeat(label, 3), labels + faces.ravel()
    graph = coo_array((np.ones(len(ends[0]), np.int32), ends), shape=(labels + count, labels + count))
    found: Indices = connected_components(graph.tocsr(), directed=False)[1][:labels]
    return found


def _part(name: str, vertices: Floats, faces: Indices) -> Part:
    rows, corners = np.unique(faces, return_inverse=True)
    return Part(name, vertices[rows], corners.reshape(-1, 3).astype(np.int32), rows, len(vertices))
