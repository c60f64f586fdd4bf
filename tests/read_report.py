"""A report taken apart again, by the words of its format alone: nothing here imports what wrote it."""

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(rb'<script type="application/octet-stream" id="([\w-]+)">([A-Za-z0-9+/=]*)</script>')


class Body(NamedTuple):
    positions: list  # (x, y, z) each
    faces: list  # (a, b, c) each
    marked: list
    near: list
    quiet: list
    grid: list  # positions on the grid, x of all, then y, then z
    step: float


def parts(path):
    """The story, and the bytes of each block, inflated."""
    content = Path(path).read_bytes()
    report_data = json.loads(re.search(rb'<script type="application/json" id="page-data">(.*?)</script>', content, re.DOTALL)[1])
    return report_data, {name.decode(): zlib.decompress(base64.b64decode(data, validate=True)) for name, data in BLOCK.findall(content)}


def integers(data, size, count):
    """Planes of bytes, the lowest first; even codes are 0, 1, 2 …, odd ones −1, −2, −3 …"""
    codes = [sum(data[plane * count + i] << (8 * plane) for plane in range(size)) for i in range(count)]
    return [code // 2 if code % 2 == 0 else -(code + 1) // 2 for code in codes]


def sums(values):
    total, found = 0, []
    for value in values:
        total = (total + value) % 2**32
        found.append(total)
    return found


def short(value):
    return (value + 2**15) % 2**16 - 2**15


def frames(report_data, blocks):
    """{place: [Body, …]} of all frames."""
    count, found, past = len(report_data["bodies"]), {}, [[] for _ in report_data["bodies"]]
    for number in range(report_data["chunks"]):
        data, at = blocks[f"frames-{number}"], 0
        while at < len(data):
            (place,) = struct.unpack_from("<i", data, at)
            heads = [struct.unpack_from("<6i", data, at + 4 + 24 * body) for body in range(count)]
            places = [struct.unpack_from("<4d", data, at + 4 + 24 * count + 32 * body) for body in range(count)]
            at += 4 + 56 * count
            bodies = []
            for body, (mode, vertices, faces, *marked) in enumerate(heads):
                corners = past[body][0].faces if faces < 0 else None
                if corners is None:
                    flat = sums(integers(data[at : at + 12 * faces], 4, 3 * faces))
                    corners, at = list(zip(flat[::3], flat[1::3], flat[2::3], strict=True)), at + 12 * faces
                if mode & 8:
                    grid = past[body][0].grid
                else:
                    grid, at = _grid(mode, integers(data[at : at + 6 * vertices], 2, 3 * vertices), vertices, past[body]), at + 6 * vertices
                marks = list(past[body][0][2:5]) if past[body] else [[], [], []]
                for k, some in enumerate(marked):
                    if some >= 0:
                        marks[k], at = sums(integers(data[at : at + 4 * some], 4, some)), at + 4 * some
                *zero, step = places[body]
                axes = [[zero[axis] + step * grid[axis * vertices + i] for i in range(vertices)] for axis in range(3)]
                bodies.append(Body(list(zip(*axes, strict=True)), corners, *marks, grid, step))
                past[body] = [bodies[-1], *past[body][:1]]
            assert place not in found
            found[place] = bodies
        assert at == len(data)
    return found


def _grid(mode, values, vertices, past):
    if mode & 4:
        values = [short(total) for axis in range(3) for total in sums(values[axis * vertices : (axis + 1) * vertices])]
    if mode & 3 == 1:
        values = [short(value + before) for value, before in zip(values, past[0].grid, strict=True)]
    if mode & 3 == 2:
        values = [short(value + 2 * before - earlier) for value, before, earlier in zip(values, past[0].grid, past[1].grid, strict=True)]
    return values


def hierarchy(report_data, blocks, body):
    """(order, levels): levels are lists of (begin, end)."""
    told, data, at = report_data["bodies"][body], blocks[f"hierarchy-{body}"], 0
    found = []
    for count in [told["order"], *(2 * level for level in told["levels"])]:
        found.append(sums(integers(data[at : at + 4 * count], 4, count)))
        at += 4 * count
    assert at == len(data)
    return found[0], [list(zip(ends[: len(ends) // 2], ends[len(ends) // 2 :], strict=True)) for ends in found[1:]]
