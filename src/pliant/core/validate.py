"""Validation of all arguments: arrays are checked once and converted to one layout, so that kernels see one type.

An index out of range in a kernel would be a segmentation fault, and every other array layout another compilation. So: float64 or int32,
C order, native bytes, aligned, writable flag set (kernels never write to their inputs). An array in that layout is not copied. Errors name
the argument, the first bad row and its value, and how many rows are bad.
"""
import math
from collections.abc import Iterable
from os import PathLike

import numpy as np

from pliant.core.device import check_on_host
from pliant.errors import ArgumentError, ArgumentTypeError, MeshError

FLOAT64, INT32 = np.dtype(np.float64), np.dtype(np.int32)
CLEARLY_RIGID_TOLERANCE = 0.5e-5
RIGID_TOLERANCE = 1e-5                                                  # allowed deviation from a rotation: float32 matrices pass
MAX_COORDINATE = 1e300                                                  # below this, a transformed vertex is finite
WEIGHT_SUM_TOLERANCE = 1e-6                                             # allowed deviation of the sum of weights from 1
WEIGHT_ROUNDING = 2.0**-52                                              # a weight: no worse than after a division by the sum
MAX_FACES = 1 << 30                                                     # of a body: all links and depths of BVHs allow for that many
EXACT_INTEGER = 2**53                                                   # beyond, float64 skips integers


def is_canonical(value, rows):
    """Is this array (rows, 3) float64 in the layout of kernels? The fast path of every frame."""
    return (type(value) is np.ndarray and value.dtype is FLOAT64 and value.shape == (rows, 3)
            and value.flags.carray)                                     # carray: C order, aligned, writable, native


def positions(name, value, rows=None, why="as many as the body has vertices, which it keeps: make a new Body for another mesh"):
    """`value` as (n, 3) float64; n must be `rows` where that is given. `check_finite` is separate."""
    array = _array(name, value)
    if array.ndim == 1 and array.size == 0:
        array = array.reshape(0, 3)
    check_positions_shape(name, array.shape)
    if rows is not None and len(array) != rows:
        raise MeshError(f"{name}: expected {rows} rows, {why}, got {len(array)}")
    kind = array.dtype.kind
    if kind in "iu":
        _check_exact(name, array)
    elif kind != "f" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(f"{name}: expected real numbers (float64, float32 or integers), got dtype {array.dtype}")
    return _canonical(array, FLOAT64)


def check_positions_shape(name, shape):
    """Refuse shapes other than (n, 3)."""
    if len(shape) != 2 or shape[1] != 3:
        raise MeshError(f"{name}: expected shape (n, 3), rows x y z, got {tuple(shape)}")


def targets(name, value, rows=None):
    """`value` as (k, n, 3) float64: the same vertices in k shapes."""
    check_on_host(name, value)
    if not isinstance(value, Iterable):
        raise ArgumentTypeError(f"{name}: expected positions (k, n, 3), got {type(value).__name__}")
    if getattr(value, "ndim", 0) == 2:
        raise MeshError(f"{name}: expected shape (k, n, 3), positions of all vertices in each of k shapes, got {np.shape(value)}")
    each = []
    for k, shape in enumerate(value):
        each.append(positions(f"{name}[{k}]", shape, rows, "as many as the others have"))
        check_finite(f"{name}[{k}]", each[-1])
        rows = len(each[-1])
    if not each:
        raise MeshError(f"{name}: expected at least one, got none")
    return np.stack(each)


def weights(name, value, count, convex):
    """`value` as (count,) float64, finite; if `convex`, not negative, with a sum of 1 within WEIGHT_SUM_TOLERANCE, which is then
    normalised to 1, up to rounding."""
    array = _array(name, value)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    if array.shape != (count,):
        raise MeshError(f"{name}: expected shape ({count},), one for each target, got {array.shape}")
    array = array.astype(np.float64)
    values, minimum = array.tolist(), 0.0 if convex else -math.inf
    if not all(minimum <= value < math.inf and value != -math.inf for value in values):
        bad = ~np.isfinite(array) | (array < 0) if convex else ~np.isfinite(array)
        row = int(bad.argmax())
        wanted = "finite and not negative; a base makes targets additive, with weights of any sign" if convex else "finite"
        raise MeshError(f"{name}: row {row} is {array[row]}, expected to be {wanted}{_bad_row_count(bad)}")
    if not convex:
        return array
    total = sum(values)
    if not abs(total - 1) <= WEIGHT_SUM_TOLERANCE:
        raise MeshError(f"{name}: the sum is {total}, expected 1; divide by it, or give a base for additive targets")
    return array if abs(total - 1) <= WEIGHT_ROUNDING * len(values) else array / total


def check_finite(name, array):
    """Refuse NaN and infinity."""
    if np.isfinite(array).all():
        return
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row} is {array[row].tolist()}, not finite{_bad_row_count(bad)}")


def check_below(name, array, bound):
    """Refuse numbers of absolute value `bound` or more."""
    bad = (np.abs(array) >= bound).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row} is {array[row].tolist()}, expected sizes below {bound:.3g}{_bad_row_count(bad)}")


def faces(name, value, n_vertices):
    """`value` as (f, 3) int32 with 0 <= index < n_vertices."""
    array = _array(name, value)
    if array.size == 0 and (array.ndim == 1 or array.shape == (0, 3)):
        return np.zeros((0, 3), INT32)
    check_faces_shape(name, array.shape)
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{name}: expected integer indices, got dtype {array.dtype}; "
                                "convert them with .astype(np.int32) if they are whole")
    bad = ((array < 0) | (array >= n_vertices)).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        hint = "; do they count from 1? Then subtract 1" if array.min() == 1 and array.max() == n_vertices else ""
        raise MeshError(f"{name}: row {row} is {array[row].tolist()}, but indices go from 0 to {n_vertices - 1}{hint}{_bad_row_count(bad)}")
    return _canonical(array, INT32)


def check_faces_shape(name, shape):
    """Refuse shapes other than (f, 3), and more faces than can be numbered."""
    if len(shape) != 2 or shape[1] != 3:
        raise MeshError(f"{name}: expected shape (f, 3), three vertex indices a triangle, got {tuple(shape)}; triangulate polygons first")
    if shape[0] >= MAX_FACES:
        raise MeshError(f"{name}: {shape[0]} are too many for one body; at most {MAX_FACES - 1}")


def check_face_count(counts):
    """Refuse bodies with too many faces together for one query."""
    if sum(counts) >= MAX_FACES:
        raise MeshError(f"faces: {sum(counts)} are too many for one query; at most {MAX_FACES - 1}, of all bodies together")


def indices(name, value, count, what="the vertices that have changed"):
    """`value` as (k,) int64 with 0 <= index < count; of duplicates the last counts."""
    array = _array(name, value)
    if array.ndim != 1:
        raise MeshError(f"{name}: expected shape (k,), {what}, got {array.shape}")
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentTypeError(f"{name}: expected integer indices, got dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= count):
        bad = (array < 0) | (array >= count)
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row} is {array[row]}, but indices go from 0 to {count - 1}{_bad_row_count(bad)}")
    return array.astype(np.int64)                                       # a copy: the next query reads it again


def changed_indices(name, value, count):
    """(k,) int64: indices of changed vertices, from indices or from a mask (count,) of bool."""
    check_on_host(name, value)
    mask = value if isinstance(value, np.ndarray) else np.asarray(value) if isinstance(value, (list, tuple)) else None
    if mask is None or mask.dtype != np.bool_:
        return indices(name, value, count)
    if mask.shape != (count,):
        raise MeshError(f"{name}: expected a mask of shape ({count},), one value a vertex, got {mask.shape}")
    return np.flatnonzero(mask)


def changed_rows(name, value, changed, selection, count):
    """The rows (k, 3) float64 of the changed vertices: all of `value`, or those that the mask `selection` selects of all `count` rows."""
    is_mask = len(changed) != count and np.asarray(selection).dtype == np.bool_
    rows = positions(name, value)
    if is_mask and len(rows) == count:
        return rows[changed]
    if len(rows) != len(changed):
        raise MeshError(f"{name}: expected {len(changed)} rows, one for each of changed{f', or all {count}' if is_mask else ''}, "
                        f"got {len(rows)}")
    return rows


def mesh_arrays(name, vertices, faces_argument):
    """(vertices, faces) from two arrays, or from one object that has `.vertices` and `.faces` or `.triangles`; unchecked. `name`: of the
    argument, if it is one of several."""
    if faces_argument is not None:
        return vertices, faces_argument
    faces_attribute = getattr(vertices, "faces", None)
    faces_attribute = getattr(vertices, "triangles", None) if faces_attribute is None else faces_attribute
    if faces_attribute is None or not hasattr(vertices, "vertices"):
        if name:
            raise ArgumentTypeError(f"{name}: expected a Body, (vertices, faces), or an object with .vertices and .faces, "
                                    f"got {type(vertices).__name__}")
        if isinstance(vertices, str | PathLike):
            raise ArgumentTypeError(f"vertices: expected an array, got {vertices!r:.80}; "
                                    "pliant.read(path).actors[0].at(0) is the first body of a file")
        raise ArgumentTypeError("faces: missing; expected Body(vertices, faces), or one object with .vertices and .faces, "
                                f"got {type(vertices).__name__} alone")
    return vertices.vertices, faces_attribute


def mesh(vertices, faces_argument, name=""):
    """`mesh_arrays`, validated: (n, 3) float64 and (f, 3) int32."""
    vertices, faces_argument = mesh_arrays(name, vertices, faces_argument)
    part = f"{name}." if name else ""
    rows = positions(f"{part}vertices", vertices)
    check_finite(f"{part}vertices", rows)
    return rows, faces(f"{part}faces", faces_argument, len(rows))


def choice(name, value, options):
    """One of the names in `options`."""
    if not isinstance(value, str) or value not in options:
        known = ", ".join(repr(option) for option in options)
        raise ArgumentError(f"{name}: expected one of {known}, got {value!r}")
    return value


def choice_of(options):
    """A validator that accepts one of the names in `options`."""
    return lambda name, value: choice(name, value, options)


def integer(name, value, options):
    """One of the integers in `options`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{name}: expected an integer, got {type(value).__name__} {value!r}")
    if value not in options:
        known = f"an integer from {options[0]} to {options[-1]}" if isinstance(options, range) else f"one of {', '.join(map(str, options))}"
        raise ArgumentError(f"{name}: expected {known}, got {value}")
    return int(value)


def cells(name, value, per_axis, total):
    """(3,) int64 from one integer or three, each from 1 to `per_axis`, and at most `total` cells."""
    each = value if np.ndim(value) == 1 and len(value) == 3 else (value,) * 3
    counts = np.array([integer(name, count, range(1, per_axis + 1)) for count in each], np.int64)
    if counts.prod() > total:
        raise ArgumentError(f"{name}: {value} are {counts.prod():,} cells, expected at most {total:,}")
    return counts


def number(name, value, minimum=-np.inf):
    """A finite float, `minimum` or more."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{name}: expected a number, got {type(value).__name__} {value!r}")
    try:
        result = float(value)
    except OverflowError:                                               # an integer beyond float64's range
        result = math.inf
    if not (math.isfinite(result) and result >= minimum):
        raise ArgumentError(f"{name}: expected a finite number{'' if minimum == -np.inf else f' from {minimum} up'}, got {value!r}")
    return result


def nonnegative(name, value):
    """A float from 0 up; it may be infinite."""
    if isinstance(value, (float, np.floating)) and value == np.inf:
        return np.inf
    return number(name, value, 0.0)


def point(name, value):
    """Three finite float64."""
    rows = positions(name, np.reshape(_array(name, value), (1, -1)))
    check_finite(name, rows)
    return rows[0]


def vectors(name, value):
    """(flat float64, n) of an array (n, 3), or (flat, None) of one (3,) for all. They need not be finite."""
    array = _array(name, value)
    one = array.shape == (3,)
    return positions(name, array.reshape(1, 3) if one else array).reshape(-1), None if one else len(array)


def numbers(name, value):
    """(float64 (n,), n), or (float64 (1,), None) for one number. They need not be finite."""
    if type(value) is float:                                            # the fast path of every query
        return np.array([value]), None
    array = _array(name, value)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(f"{name}: expected a number, or one for each ray, got dtype {array.dtype}")
    if array.ndim > 1:
        raise ArgumentError(f"{name}: expected a number, or shape (n,), one for each ray, got {array.shape}")
    return _canonical(array.reshape(-1), FLOAT64), len(array) if array.ndim else None


def masks(name, value):
    """(int64 (n,), n), or (int64 (1,), None) for one: masks of at most 64 bits."""
    if type(value) is int and value == -1:                              # all bits, the default
        return np.array([-1]), None
    array = _array(name, value)
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{name}: expected an integer, or one for each ray, got dtype {array.dtype}")
    if array.ndim > 1:
        raise ArgumentError(f"{name}: expected an integer, or shape (n,), one for each ray, got {array.shape}")
    return np.ascontiguousarray(array.reshape(-1).astype(np.int64)), len(array) if array.ndim else None


def box(name, value):
    """(2, 3) float64, low and high corner; infinite sides are allowed."""
    rows = positions(name, value, None)
    if rows.shape != (2, 3) or not (rows[0] <= rows[1]).all():
        raise ArgumentError(f"{name}: expected shape (2, 3), a low corner and a high one, got {np.asarray(value).tolist()}")
    return rows


def _real_rows(name, array):
    """Rows of float64, finite."""
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    if array.dtype.kind in "iu":
        _check_exact(name, array)
    rows = _canonical(array, FLOAT64)
    check_finite(name, rows)
    return rows


def flag(name, value):
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{name}: expected True or False, got {type(value).__name__} {value!r}")
    return bool(value)


def transform(name, value):
    """A rigid transform, (4, 4) or (3, 4), as 12 float64, the rows of (R | t)."""
    array = _array(name, value)
    if array.dtype is FLOAT64 and array.shape in ((4, 4), (3, 4)) and _clearly_rigid(array.tolist()):
        return array[:3].reshape(-1).copy()                             # the fast path of every frame
    if array.shape not in ((4, 4), (3, 4)):
        raise MeshError(f"{name}: expected a matrix of shape (4, 4) or (3, 4), got {array.shape}")
    rows = _canonical(array, FLOAT64)
    check_finite(name, rows)
    if len(rows) == 4 and not np.allclose(rows[3], (0, 0, 0, 1), rtol=0, atol=RIGID_TOLERANCE):
        raise MeshError(f"{name}: the last row must be 0 0 0 1, got {rows[3].tolist()}; is the matrix transposed?")
    rotation = rows[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        error, lengths = np.abs(rotation.T @ rotation - np.eye(3)).max(), np.linalg.norm(rotation, axis=0).tolist()
    if not error <= RIGID_TOLERANCE:
        raise MeshError(f"{name}: not rigid: lengths along x, y, z become {lengths}, and the axes are {error:.3g} from perpendicular "
                        f"units, at most {RIGID_TOLERANCE:g} is allowed; move the vertices instead, or use Body.blended with one "
                        "map for scaling and shear")
    if np.linalg.det(rotation) < 0:
        raise MeshError(f"{name}: mirrors the body (determinant {np.linalg.det(rotation):.3g}); mirror the vertices instead")
    return np.ascontiguousarray(rows[:3]).reshape(-1).copy()


def _clearly_rigid(rows):
    """Do these rows of numbers pass all checks, whatever the rounding?"""
    (a, b, c, x), (d, e, f, y), (g, h, i, z) = rows[:3]
    return (abs(a * a + d * d + g * g - 1) < CLEARLY_RIGID_TOLERANCE and abs(b * b + e * e + h * h - 1) < CLEARLY_RIGID_TOLERANCE
            and abs(c * c + f * f + i * i - 1) < CLEARLY_RIGID_TOLERANCE and abs(a * b + d * e + g * h) < CLEARLY_RIGID_TOLERANCE
            and abs(a * c + d * f + g * i) < CLEARLY_RIGID_TOLERANCE and abs(b * c + e * f + h * i) < CLEARLY_RIGID_TOLERANCE
            and a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0
            and abs(x) < MAX_COORDINATE and abs(y) < MAX_COORDINATE and abs(z) < MAX_COORDINATE
            and (len(rows) == 3 or rows[3] == [0, 0, 0, 1]))


def check_transform_range(name, matrix, bound, vertices):
    """Refuse a transform (12,) that makes `vertices()` (n, 3), no coordinate larger than `bound`, overflow float64."""
    if bound < MAX_COORDINATE and max(map(abs, matrix.tolist())) < MAX_COORDINATE:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        rows, matrix = vertices(), matrix.reshape(3, 4)
        bad = ~np.isfinite(rows @ matrix[:, :3].T + matrix[:, 3]).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: puts vertex {row}, {rows[row].tolist()}, beyond the largest numbers{_bad_row_count(bad)}")


# --- helpers -----------------------------------------------------------------------------------------------------------------

def _array(name, value):
    """An array-like on the host as an ndarray, with its own dtype."""
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(f"{name}: masked arrays are refused, because a mask has no meaning here; pass .filled(…) or .data")
    check_on_host(name, value)
    try:
        array = np.from_dlpack(value) if hasattr(value, "__dlpack__") and not hasattr(value, "__array__") else np.asarray(value)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        raise MeshError(f"{name}: cannot be read as an array of rows: {error}") from None
    if array.dtype.kind not in "fiu" and array.size:
        raise ArgumentTypeError(f"{name}: expected numbers, got dtype {array.dtype}")
    return array if array.size or array.dtype.kind in "fiu" else array.astype(FLOAT64)


def _canonical(array, dtype):
    """The array in C order, native, aligned, writable; a copy only if necessary, never a subclass."""
    array = np.ascontiguousarray(array, dtype).view(np.ndarray)
    return array if array.flags.carray else array.copy()


def _check_exact(name, array):
    bad = ((array > EXACT_INTEGER) | (array < -EXACT_INTEGER)).any(axis=1) if array.dtype.itemsize == 8 else np.zeros(len(array), bool)
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row} is {array[row].tolist()}; integers beyond 2**53 do not fit into float64{_bad_row_count(bad)}")


def _bad_row_count(bad):
    n = int(np.sum(bad))
    return "" if n == 1 else f" ({n} rows are bad, this is the first)"
