"""Small files of every format of meshes, written by the formats' descriptions and not by any reader's library."""

import struct

import numpy as np

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
SIZES = {"f4": "float", "f8": "double", "i4": "int", "u1": "uchar"}


def fanned(polygons):
    """Triangles of polygons, one by one."""
    return [[each[0], each[k], each[k + 1]] for each in polygons for k in range(1, len(each) - 1)]


FACES = fanned(QUADS)


def obj(vertices=CUBE, polygons=QUADS, corner="{}"):
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices, float).tolist()]
    return "\n".join([*rows, *("f " + " ".join(corner.format(i + 1) for i in each) for each in polygons)]).encode() + b"\n"


def off(vertices=CUBE, polygons=QUADS):
    rows = [f"OFF\n{len(vertices)} {len(polygons)} 0", *(f"{x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices, float).tolist())]
    return "\n".join([*rows, *(" ".join(map(str, [len(each), *each])) for each in polygons)]).encode()


def ply_head(form, vertices, faces, kind="f4", more=""):
    xyz = "".join(f"property {SIZES[kind]} {axis}\n" for axis in "xyz")
    return (f"ply\nformat {form} 1.0\ncomment made by a test\nelement vertex {vertices}\n{xyz}{more}element face {faces}\n"
            "property list uchar int vertex_indices\nproperty uchar flag\nend_header\n").encode()  # fmt: skip


def ply(vertices=CUBE, polygons=QUADS, form="ascii", kind="f4"):
    head = ply_head(form, len(vertices), len(polygons), kind)
    if form == "ascii":
        rows = [*(" ".join(map(repr, row)) for row in np.asarray(vertices, float).tolist()),
                *(" ".join(map(str, [len(each), *each, 7])) for each in polygons)]  # fmt: skip
        return head + "\n".join(rows).encode() + b"\n"
    order = "<" if "little" in form else ">"
    faces = b"".join(bytes([len(each)]) + np.array(each, order + "i4").tobytes() + b"\7" for each in polygons)
    return head + np.asarray(vertices, order + kind).tobytes() + faces


def stl_text(solids):
    """Texts of solids (name, vertices, triangles)."""
    rows = []
    for name, vertices, faces in solids:
        rows.append(f"solid {name}")
        for face in np.asarray(vertices, float)[np.asarray(faces, int)].tolist():
            rows += ["  facet normal 0 0 0", "    outer loop", *(f"      vertex {x!r} {y!r} {z!r}" for x, y, z in face), "    endloop",
                     "  endfacet"]  # fmt: skip
        rows.append(f"endsolid {name}")
    return "\n".join(rows).encode() + b"\n"


def stl(vertices=CUBE, faces=FACES, count=None):
    rows = b"".join(bytes(12) + np.asarray(vertices, "<f4")[each].tobytes() + b"\0\0" for each in faces)
    return b"\0" * 80 + struct.pack("<I", len(faces) if count is None else count) + rows


def pc2(frames, points=None, samples=None, version=1):
    frames = np.asarray(frames, "<f4")
    numbers = version, frames.shape[1] if points is None else points, 0.0, 1.0, len(frames) if samples is None else samples
    return b"POINTCACHE2\0" + struct.pack("<iiffi", *numbers) + frames.tobytes()


def mdd(frames, rate=24.0, points=None, samples=None):
    frames = np.asarray(frames, ">f4")
    head = struct.pack(">ii", len(frames) if samples is None else samples, frames.shape[1] if points is None else points)
    return head + (np.arange(len(frames)) / rate).astype(">f4").tobytes() + frames.tobytes()
