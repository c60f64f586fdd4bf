"""Loops of `screen.py` on the CPU, over one part at a time."""
import numpy as np

from pliant.core.jit import kernel
from pliant.image.screen import STRIDE, project_vertex, survey_face, view_coord


@kernel
def bounds(vertices, frame, out):
    """Put low and high corner (2, 3) around all vertices, turned."""
    for k in range(3):
        out[0, k], out[1, k] = np.inf, -np.inf
    for v in range(len(vertices) // 3):
        for k in range(3):
            x = view_coord(vertices, v, frame, k)
            out[0, k], out[1, k] = min(out[0, k], x), max(out[1, k], x)


@kernel
def project(vertices, frame, first, screen, begin, end):
    """Put vertices begin … end on the screen."""
    for v in range(begin, end):
        project_vertex(vertices, v, frame, screen, STRIDE * (first + v))


@kernel
def survey(vertices, faces, shift, begin, end, step, frame, layers):
    """Count every so many-th face of a part."""
    for f in range(begin, end, step):
        survey_face(vertices, faces, f, shift, step, frame, layers, 0)

