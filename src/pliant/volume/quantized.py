"""Slab cut balls in 26 bytes instead of 36 (Larsson and Akenine-Möller 2008, 1.1). Loose, never short.

For arrays of volumes that others keep or send. Pliant's own BVHs do not use it: `Body.save` writes no volumes, as the first query fits them
again, and nodes keep float32, since a test would have to unpack eight volumes of which it needs each once.

    centre   3 × float32, as it is          normal   3 × int16, a direction of any length
    radius   float32, as it is              f, e     int16, in units of radius / UNITS_PER_RADIUS

The normal comes first: n' is the unit along a vector of whole numbers q near n, as float32 rounds it. A point of the ball at the height z
along n, |n| = 1, is at n' · d = z k + s w along n', where k = n' · n, s = |n' × n| and w <= sqrt(r² − z²). That grows with z as far as
k r, where it is |n'| r, and s² r / 2 less at z = r, which MORE exceeds; so for z in [f, e]

    e' = k e + s sqrt(r² − e²) + MORE r,    f' = k f − s sqrt(r² − f²) − MORE r,

both rounded outward to a whole number of units, and again to float32 when they are unpacked. It is tighter than e + |n − n'| r where the
slab is near the rim. This is one less than the largest int16, so that planes beyond the ball, where rounding has made |n'| > 1, have a
number too.

Of LENGTHS lengths of q the one is taken whose direction is nearest to n: the mean angle is 4e-6 instead of 1.5e-5, a fraction of a unit.

How loose: over the 25,092 volumes of the tree of an icosphere of 20,480 triangles, leaves of one, fitted, slabs become 1.54 times as thick
and as voluminous in the mean, by 3.5e-5 of the radius each. That is all in the leaves, 1.66 times: a slab around one triangle is
5e-5 of its radius thick, which float32 needs. Above them it is 1.001.
"""
import numpy as np

from pliant.errors import ArgumentError
from pliant.volume.slabcutball import SlabCutBall

PACKED_DTYPE = np.dtype([("centre", np.float32, (3,)), ("radius", np.float32), ("normal", np.int16, (3,)), ("f", np.int16),
                         ("e", np.int16)])
INT16_MAX, UNITS_PER_RADIUS = 32767, 32766
N_LENGTHS = 16
RADIUS_ERROR = 2.0**-30                                                 # of the radius: above s² / 2, and above what float64 rounds


def pack(volumes):
    """Slab cut balls, a `SlabCutBall` of numbers or of arrays, or records with its fields, as an array of `PACKED_DTYPE`, of the same
    shape.

    >>> import numpy as np
    >>> flat = SlabCutBall(1, 2, 3, 10, 0.6, 0, 0.8, -0.25, 0.5)
    >>> small = pack(flat)
    >>> small.nbytes
    26
    >>> [round(float(x), 3) for x in unpack(small)]
    [1.0, 2.0, 3.0, 10.0, 0.6, 0.0, 0.8, -0.25, 0.5]
    """
    read = volumes._asdict() if isinstance(volumes, SlabCutBall) else volumes
    rows = np.broadcast_arrays(*(np.asarray(read[name], np.float32) for name in SlabCutBall._fields))
    for name, row in zip(SlabCutBall._fields, rows, strict=True):
        if np.isnan(row).any():
            raise ArgumentError(f"volumes: {name} is not a number at {np.argwhere(np.isnan(row))[0].tolist()}")
    x, y, z, radius, nx, ny, nz, f, e = rows
    made = np.zeros(x.shape, PACKED_DTYPE)
    made["centre"], made["radius"] = np.stack([x, y, z], axis=-1), radius
    normal, heights = _normalize_slabs(np.stack([nx, ny, nz], axis=-1).astype(np.float64), f, e, radius)
    made["normal"] = _quantize_normals(normal)
    unit_normals = _dequantize_normals(made).astype(np.float64)
    r = np.where(np.isfinite(radius), np.maximum(radius, 0), 0).astype(np.float64)
    k, s = (unit_normals * normal).sum(axis=-1), np.linalg.norm(np.cross(unit_normals, normal), axis=-1)
    for name, at, sign in zip("fe", heights, (-1, 1), strict=True):
        height = np.clip(at, -r, r)
        end = np.minimum(sign * k * height + s * np.sqrt(np.maximum(r * r - height * height, 0)) + RADIUS_ERROR * r, r * (1 + 2.0**-22))
        units = np.ceil(end * (UNITS_PER_RADIUS / np.where(r > 0, r, 1)))
        units = np.where(units * r < end * UNITS_PER_RADIUS, units + 1, units)  # the quotient may have been rounded down
        units = np.where(radius == np.inf, INT16_MAX, units)
        made[name] = (sign * np.clip(units, -INT16_MAX, INT16_MAX)).astype(np.int16)
    return made


def unpack(packed):
    """The slab cut balls of an array of `PACKED_DTYPE`: a `SlabCutBall` of float32 arrays of its shape, around what was packed.

    >>> ball = SlabCutBall(0, 0, 0, 1, 0, 0, 1, -1, 1)
    >>> bool(unpack(pack(ball)).e >= ball.e)
    True
    """
    packed = np.asarray(packed, PACKED_DTYPE)
    radius, normal = packed["radius"], _dequantize_normals(packed)
    r = np.where(radius > 0, radius, 0).astype(np.float64)
    f, e = (packed[name] * np.where(packed[name] == 0, 0.0, r) / UNITS_PER_RADIUS for name in "fe")  # r may be infinite
    centre = packed["centre"]
    return SlabCutBall(centre[..., 0], centre[..., 1], centre[..., 2], radius, normal[..., 0], normal[..., 1], normal[..., 2],
                       _round_outward(f, -np.inf), _round_outward(e, np.inf))


def _normalize_slabs(normal, f, e, radius):
    """(Normals of length 1, (f, e) as heights along them.) Where there is no normal, the slab is the whole ball."""
    length = np.linalg.norm(normal, axis=-1)
    over = 1 / np.where(length > 0, length, 1)
    normal = np.where(length[..., None] > 0, normal * over[..., None], (0.0, 0.0, 1.0))
    with np.errstate(invalid="ignore"):                                 # 0 · inf
        return normal, [np.where(length > 0, end * over, sign * np.inf) for sign, end in ((-1, f), (1, e))]


def _quantize_normals(normal):
    """Whole numbers (…, 3) nearly along units (…, 3), of the length that comes nearest."""
    best, min_error = np.zeros(normal.shape), np.full(normal.shape[:-1], np.inf)
    for length in np.linspace(INT16_MAX, INT16_MAX * 2 / 3, N_LENGTHS):
        q = np.round(normal * length)
        error = np.linalg.norm(np.cross(q, normal), axis=-1) / np.linalg.norm(q, axis=-1)
        best, min_error = np.where((error < min_error)[..., None], q, best), np.minimum(error, min_error)
    return best.astype(np.int16)


def _dequantize_normals(packed):
    """(…, 3) float32: of length 1, but for rounding."""
    q = packed["normal"].astype(np.float64)
    return (q / np.linalg.norm(q, axis=-1, keepdims=True)).astype(np.float32)


def _round_outward(value, direction):
    """float64 as float32, not short of it in that direction."""
    nearest = np.asarray(value, np.float32)
    short = nearest < value if direction > 0 else nearest > value
    return np.where(short, np.nextafter(nearest, np.float32(direction)), nearest)
