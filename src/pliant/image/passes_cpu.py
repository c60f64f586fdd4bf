"""Passes 1 to 4 of the image engine on the CPU, but for sampling (`sample_cpu.py`): loops over the step functions of `screen.py`,
`merge.py` and `separate.py`; and pairs of adjacent faces, by the loop of `query/collide/self_collide.py`, which needs no BVH."""
import numpy as np

from pliant.core import threads as pool
from pliant.core.jit import kernel
from pliant.image.merge import EMPTY_BOX, level_layout, merge_texel
from pliant.image.screen import STRIDE, project_vertex, survey_face, view_coord
from pliant.image.separate import BOX_SIZE, clip_face_box, separate_face
from pliant.query.collide.adjacent import adjacent_loop
from pliant.query.collide.leaf_overlap import face_bits
from pliant.query.scheduler import run_loop, workspace


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


@kernel
def merge_level(active, boxes, size, margin, below, below_side, begin, side):
    for y in range(side):
        for x in range(side):
            boxes[begin + y * side + x] = merge_texel(active, boxes, size, margin, below, below_side, x, y)


def merge(active, size, margin):
    """The texels of all levels from 1 up, and how they lie: (boxes, begins, sides)."""
    begins, sides, total = level_layout(size)
    boxes = np.empty(total, np.int64)
    for k in range(1, len(sides)):
        merge_level(active, boxes, size, margin, begins[k - 1], sides[k - 1], begins[k], sides[k])
    return boxes, begins, sides


CHUNK = 1 << 15                                                         # faces between looks at Ctrl-C


@kernel
def separate_range(screen, faces, begin, end, error_xy, error_z, size, margin, active, boxes, begins, sides, out):
    for f in range(begin, end):
        out[f] = separate_face(screen, faces, f, error_xy, error_z, size, margin, active, boxes, begins, sides)


def separate(screen, faces, view, margin, active, boxes, begins, sides):
    """(f,) int64: the box of pixels in which each face may collide, or NONE."""
    sparse = np.empty(len(faces) // 3, np.int64)
    pool.map_chunks(len(sparse), CHUNK, lambda begin, end: separate_range(
        screen, faces, begin, end, view.error_xy, view.error_z, view.size, margin, active, boxes, begins, sides, sparse))
    return sparse


@kernel
def compact(sparse, packed_faces, boxes):
    """Put the faces whose box is not NONE, and these boxes, one after the other; how many."""
    n = 0
    for f in range(len(sparse)):
        if sparse[f] != EMPTY_BOX:
            packed_faces[n], boxes[n] = f, sparse[f]
            n += 1
    return n


@kernel
def clip_boxes(screen, faces, packed_faces, pixels, error_xy, error_z, boxes):
    """Put what is left of these faces within their boxes of pixels."""
    for i in range(len(packed_faces)):
        clip_face_box(screen, faces, np.int64(packed_faces[i]), error_xy, error_z, pixels[i], boxes, BOX_SIZE * i)


def pack(sparse):
    """(faces that are left, their boxes of pixels)."""
    packed_faces, boxes = np.empty(len(sparse), np.int32), np.empty(len(sparse), np.int64)
    n = compact(sparse, packed_faces, boxes)
    return packed_faces[:n], boxes[:n]


def adjacent_pairs(subject, first):
    """(keys f << 32 | g, pairs tested, how many exactly)."""
    with workspace() as work:
        loop = adjacent_loop(work, subject, first)
        if loop is None:
            return np.empty(0, np.int64), 0, 0
        keys, stats, _ = run_loop(loop, work)
    index_bits = face_bits(subject)
    return (keys >> index_bits) << 32 | keys & ((1 << index_bits) - 1), stats.n_p, stats.n_exact
