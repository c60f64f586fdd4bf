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
from pliant.io.guard import LONGEST, MOST_MESH, lines, refuse, size_of
from pliant.io.part import MOST_PARTS, Indices, Part, fans, in_range, whole


class Content:
    """What has been read of a file so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.coordinates, self.corners, self.counts = array("d"), array("q"), array("q")
        self.kinds = {b"o": _Names(path), b"g": _Names(path)}

    def vertex(self, words: list[bytes]) -> None:
        if len(words) < 4:
            raise ValueError(f"expected three coordinates, got {len(words) - 1}")
        x, y, z = words[1:4]
        self.coordinates.extend((float(x), float(y), float(z)))

    def face(self, words: list[bytes]) -> None:
        known = len(self.coordinates) // 3
        for word in words[1:]:
            index = int(word.partition(b"/")[0])
            self.corners.append(index - 1 if index > 0 else known + index if index else -1)
        self.counts.append(len(words) - 1)
        for names in self.kinds.values():
            names.labels.append(names.current)


class _Names:
    """The objects, or the groups: label 0 is for faces before the first."""

    def __init__(self, path: Path) -> None:
        self.path, self.known, self.current, self.labels = path, {b"": 0}, 0, array("q")

    def enter(self, name: bytes) -> None:
        self.current = self.known.setdefault(name, len(self.known))
        if len(self.known) > MOST_PARTS:
            raise refuse(self.path, f"has more than {MOST_PARTS:,} objects or groups")


def read_obj(path: Path) -> list[Part]:
    """The parts of a file."""
    size_of(path, MOST_MESH)
    content, begun = Content(path), bytearray()
    with path.open("rb") as file:
        for number, line in enumerate(lines(path, file), 1):
            if line.rstrip().endswith(b"\\"):
                begun += line.rstrip()[:-1] + b" "
                if len(begun) > LONGEST:
                    raise refuse(path, f"line {number}: continues lines of more than {LONGEST:,} bytes")
                continue
            try:
                _line(content, bytes(begun) + line if begun else line)
            except (ValueError, OverflowError) as error:
                raise refuse(path, f"line {number}: {error}") from None
            begun.clear()
    return _parts(path, content)


def _line(content: Content, line: bytes) -> None:
    key = line[:2]
    if key[:1].isspace() or key[1:] == b"\t":
        line = b" ".join(line.split())
        key = line[:2]
    if key == b"v ":
        content.vertex(line.split(None, 4))
    elif key == b"f ":
        content.face(line.partition(b"#")[0].split())
    elif key in (b"o ", b"g "):
        content.kinds[key[:1]].enter(line[2:].strip())


def _parts(path: Path, content: Content) -> list[Part]:
    vertices = np.array(content.coordinates).reshape(-1, 3)
    counts = np.array(content.counts, np.int64)
    faces = fans(np.array(content.corners, np.int64), counts)
    names = content.kinds[b"o" if len(content.kinds[b"o"].known) > 1 else b"g"]
    label = np.repeat(np.array(names.labels, np.int64), np.maximum(counts - 2, 0))
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
