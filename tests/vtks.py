"""VTK's files for tests: written by meshio, by hand in the forms that ParaView writes, and lists of moments."""

import base64
import zlib

import meshio
import numpy as np

from solids import bent, cube

HEADERS = {"UInt32": "<u4", "UInt64": "<u8"}
POLYDATA = """# vtk DataFile Version 3.0
a strip, a pentagon and a line
ASCII
DATASET POLYDATA
FIELD FieldData 1
TIME 1 1 double
0.5
POINTS 9 float
0 0 0  1 0 0  0 1 0  1 1 0
3 0 0  4 0 0  4 1 0  3.5 2 0  3 1 0
METADATA
INFORMATION 0

TRIANGLE_STRIPS 1 5
4 0 1 2 3
LINES 1 3
2 0 4
POLYGONS 1 6
5 4 5 6 7 8
POINT_DATA 9
SCALARS anything
"""


def write(path, points, cells, **options):
    """By meshio. What it says about itself on the terminal is nobody's business here."""
    meshio.Mesh(points, cells, **options.pop("data", {})).write(path, **options)
    return path


def encoded(array, form, compressed, header):
    """Bytes of an array as VTK stores them: raw or base64."""
    data, kind = array.tobytes(), np.dtype(HEADERS[header])
    pack = (lambda content: content) if form == "raw" else base64.b64encode
    if not compressed:
        return pack(np.array([len(data)], kind).tobytes() + data)
    size = 64  # several blocks, the last one shorter
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    packed = [zlib.compress(block) for block in blocks]
    head = np.array([len(blocks), size, len(data) % size, *map(len, packed)], kind)
    return pack(head.tobytes()) + pack(b"".join(packed))


def handmade(path, form, compressed=False, header="UInt32", kind="UnstructuredGrid", more=0):
    """A square of two pieces, one triangle each and `more` points that none has, in a form that ParaView writes."""
    pieces = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], np.float32)
    appended, text = b"", []
    for points in pieces:
        arrays = {"points": np.concatenate([points, np.zeros((more, 3), np.float32)]), "connectivity": np.arange(3, dtype=np.int64),
                  "offsets": np.array([3], np.int64), "types": np.array([5], np.uint8)}  # fmt: skip
        tags = {}
        for name, array in arrays.items():
            type_ = {"f": "Float32", "i": "Int64", "u": "UInt8"}[array.dtype.kind]
            head = f'<DataArray type="{type_}" Name="{name}" NumberOfComponents="{3 if name == "points" else 1}"'
            if form == "inline":
                tags[name] = f'{head} format="binary">\n  {encoded(array, form, compressed, header).decode()}\n</DataArray>'
            else:
                tags[name] = f'{head} format="appended" offset="{len(appended)}"/>'
                appended += encoded(array, form, compressed, header)
        lists = tags["connectivity"] + tags["offsets"]
        body = f"<Cells>{lists}{tags['types']}</Cells>" if kind == "UnstructuredGrid" else f"<Verts></Verts><Polys>{lists}</Polys>"
        count = 'NumberOfCells="1"' if kind == "UnstructuredGrid" else 'NumberOfPolys="1"'
        text.append(f'<Piece NumberOfPoints="{3 + more}" {count}><Points>{tags["points"]}</Points>{body}</Piece>')
    more = b"" if form == "inline" else f'<AppendedData encoding="{form}">\n _'.encode() + appended + b"\n</AppendedData>"
    compressor = 'compressor="vtkZLibDataCompressor"' if compressed else ""
    top = f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="{header}" {compressor}>'
    path.write_bytes(f"{top}<{kind}>{''.join(text)}</{kind}>".encode() + more + b"</VTKFile>")
    return path


def collection(folder, times, name="run.pvd", **options):
    points, cells = cube("tetra")
    for number, time in enumerate(times):
        write(folder / f"cube_{number}.vtu", bent(points, time), [("tetra", cells)], **options)
    lines = [f'<DataSet timestep="{time}" group="" part="0" file="cube_{number}.vtu"/>' for number, time in enumerate(times)]
    (folder / name).write_text(f'<?xml version="1.0"?><VTKFile type="Collection"><Collection>{"".join(lines)}</Collection></VTKFile>')
    return folder / name
