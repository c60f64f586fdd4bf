"""Is a point in a volume? Plain formulas, in float64 with an error bound, or exactly, by the same code on fractions.

`outside(v, x, y, z, share)` is INSIDE, OUTSIDE or DOUBTFUL; `share` is the relative error of a sum of a few products: SHARE in float64, 0
for fractions. A field is float32 and taken as exact.
"""

from fractions import Fraction

from pliant.core.dispatch import generic
from pliant.core.jit import helper
from pliant.volume.aabb import Box
from pliant.volume.double_slabcutball import DoubleSlabCutBall
from pliant.volume.kdop import KDop14, KDop18, KDop26
from pliant.volume.obb import OrientedBox
from pliant.volume.rss import SweptRectangle
from pliant.volume.slabcutball import SlabCutBall
from pliant.volume.sphere import Sphere

INSIDE, OUTSIDE, DOUBTFUL = range(3)
SHARE = 2.0**-45


@generic("v")
def outside(v, x, y, z, share):
    """INSIDE, OUTSIDE or DOUBTFUL."""


def exactly(v, point):
    """Is the point in the volume, in real numbers?"""
    fields = type(v)(*(Fraction(float(field)) for field in v))
    return outside(fields, *map(Fraction, point), 0) == INSIDE


@helper
def verdict(excess, bound):
    """For a number that is <= 0 inside, and its error."""
    return OUTSIDE if excess > bound else INSIDE if excess <= -bound else DOUBTFUL


@helper
def either(a, b):
    """Inside both?"""
    return OUTSIDE if a == OUTSIDE or b == OUTSIDE else max(a, b)


@helper
def slab(x, y, z, nx, ny, nz, low, high, share):
    """Between the planes at low and high along n."""
    p, q, r = nx * x, ny * y, nz * z
    along, bound = p + (q + r), share * (abs(p) + (abs(q) + abs(r)))
    return either(verdict(low - along, bound), verdict(along - high, bound))


@helper
def ball(x, y, z, radius, share):
    """Within a radius, which is not a float32."""
    far, most = x * x + (y * y + z * z), radius * radius
    return OUTSIDE if radius < 0 else verdict(far - most, share * (far + most))


@helper
def box(v, x, y, z):
    """Without rounding: differences of floating-point numbers have the right sign."""
    return verdict(max(max(v.lox - x, x - v.hix), max(max(v.loy - y, y - v.hiy), max(v.loz - z, z - v.hiz))), 0)


@helper
def diagonals(v, x, y, z, share):
    one = either(slab(x, y, z, 1, 1, 1, v.loppp, v.hippp, share), slab(x, y, z, 1, 1, -1, v.loppm, v.hippm, share))
    return either(one, either(slab(x, y, z, 1, -1, 1, v.lopmp, v.hipmp, share), slab(x, y, z, 1, -1, -1, v.lopmm, v.hipmm, share)))


@helper
def edges(v, x, y, z, share):
    one = either(slab(x, y, z, 1, 1, 0, v.loppo, v.hippo, share), slab(x, y, z, 1, -1, 0, v.lopmo, v.hipmo, share))
    two = either(slab(x, y, z, 1, 0, 1, v.lopop, v.hipop, share), slab(x, y, z, 1, 0, -1, v.lopom, v.hipom, share))
    three = either(slab(x, y, z, 0, 1, 1, v.loopp, v.hiopp, share), slab(x, y, z, 0, 1, -1, v.loopm, v.hiopm, share))
    return either(either(one, two), three)


@outside.register(Box)
def _(v, x, y, z, share):
    return box(v, x, y, z)


@outside.register(KDop14)
def _(v, x, y, z, share):
    return either(box(v, x, y, z), diagonals(v, x, y, z, share))


@outside.register(KDop18)
def _(v, x, y, z, share):
    return either(box(v, x, y, z), edges(v, x, y, z, share))


@outside.register(KDop26)
def _(v, x, y, z, share):
    return either(box(v, x, y, z), either(diagonals(v, x, y, z, share), edges(v, x, y, z, share)))


@outside.register(Sphere)
def _(v, x, y, z, share):
    return ball(x - v.x, y - v.y, z - v.z, (x - x) + v.radius, share)   # 0 + …: else a product of float32 would be float32


@outside.register(SlabCutBall)
def _(v, x, y, z, share):
    p, q, r = x - v.x, y - v.y, z - v.z
    return either(ball(p, q, r, (x - x) + v.radius, share), slab(p, q, r, v.nx, v.ny, v.nz, v.f, v.e, share))


@outside.register(DoubleSlabCutBall)
def _(v, x, y, z, share):
    p, q, r = x - v.x, y - v.y, z - v.z
    once = either(ball(p, q, r, (x - x) + v.radius, share), slab(p, q, r, v.nx, v.ny, v.nz, v.f, v.e, share))
    return either(once, slab(p, q, r, v.mx, v.my, v.mz, v.g, v.h, share))


@outside.register(OrientedBox)
def _(v, x, y, z, share):
    p, q, r = x - v.x, y - v.y, z - v.z
    two = either(slab(p, q, r, v.r00, v.r01, v.r02, -v.hx, v.hx, share), slab(p, q, r, v.r10, v.r11, v.r12, -v.hy, v.hy, share))
    return either(two, slab(p, q, r, v.r20, v.r21, v.r22, -v.hz, v.hz, share))


@outside.register(SweptRectangle)
def _(v, x, y, z, share):
    # Near enough to one point of the rectangle: the closest one but for rounding, whose error is a share of its offset.
    p, q, r = x - v.x, y - v.y, z - v.z
    s = min(max(p * v.ux + (q * v.uy + r * v.uz), (x - x) - v.a), (x - x) + v.a)
    t = min(max(p * v.vx + (q * v.vy + r * v.vz), (x - x) - v.b), (x - x) + v.b)
    i, j, k = p - (s * v.ux + t * v.vx), q - (s * v.uy + t * v.vy), r - (s * v.uz + t * v.vz)
    radius, off = (x - x) + v.radius, share * (abs(p) + (abs(q) + abs(r)) + (abs(s) + abs(t)))
    excess, bound = i * i + (j * j + k * k) - radius * radius, 2 * share * radius * radius + 4 * off * (radius + off)
    return OUTSIDE if radius < 0 else verdict(excess, bound)
