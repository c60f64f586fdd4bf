"""USD stages with meshes, made by the library."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom, Vt

from pliant.errors import FileError
from pliant.io.usd.usd import read_usd
from solids import cube

MESH = '''#usda 1.0
(
    startTimeCode = 1
    endTimeCode = 2
)
def Mesh "m" (
)
{
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    matrix4d xformOp:transform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )
    uniform token[] xformOpOrder = ["xformOp:transform"]
}
'''
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)


def raised(height):
    """The text of a triangle that moves, so that who reads it keeps its stage."""
    first, second = (f"[(0, 0, {z}), (1, 0, 0), (0, 1, 0)]" for z in (height, height + 1))
    return MESH.replace("points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]", f"points.timeSamples = {{ 1: {first}, 2: {second} }}")


def stage_at(path, end=4, codes=24.0):
    stage = Usd.Stage.CreateNew(str(path))
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(end)
    stage.SetTimeCodesPerSecond(codes)
    return stage


def mesh_at(stage, name, points=SQUARE, counts=(4,), corners=(0, 1, 2, 3)):
    mesh = UsdGeom.Mesh.Define(stage, name)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(points, np.float32)))
    mesh.CreateFaceVertexCountsAttr(list(counts))
    mesh.CreateFaceVertexIndicesAttr(list(corners))
    mesh.CreateSubdivisionSchemeAttr("none")
    return mesh


def hexahedra():
    """The surface of the cube as quads: (points, counts, corners)."""
    points, cells = cube("hexahedron", 1)
    quads = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    return points[1:9].astype(np.float32), [4] * 6, [int(cells[0, k]) - 1 for quad in quads for k in quad]


def refused(path, *parts):
    with pytest.raises(FileError) as caught:
        read_usd(path)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(str(path))
    for part in parts:
        assert part in message, message
