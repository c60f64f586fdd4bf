"""The search for the largest error of a floating-point formula compared with the bound that its file claims.

An attack is a function of one array of points, rows of coordinates, that returns (error, bound): what the formula is off by in rational
arithmetic, and what it is allowed to be off by. It returns None where the file claims nothing. `search` looks for the points with the
largest error ÷ bound: it starts from families in which formulas are known to fail (midpoints and their neighbours, equal exponents,
powers of two, cancelling sums, axis-aligned and nearly degenerate points, points far from the origin) and climbs by steps of single ulps,
exchanges, powers of two and sums that cancel. A ratio of 1 or more refutes the bound.

    def evaluate(points):                                               # (2, 1): a − b
        (a,), (b,) = points
        exact = Fraction(a) - Fraction(b)
        return abs(Fraction(a - b) - exact), abs(exact) * Fraction(1, 2**53)

    found = search(evaluate, families((2, 1)), np.random.default_rng(1), 10_000)
    assert found.ratio <= 1, found

`attacks` is the list of all attacks. A module in `tests/bounds/` adds to it by `@bound(…)`; tests and `python -m benchmarks.bounds` go
through the list (`load`), so that no attack is forgotten. Fractions take 2 µs an operation; `integers` makes exact arithmetic ten times as
fast: all coordinates as integers times one power of two.
"""

import math
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

PATIENCE = 200  # steps without a larger ratio, after which a climb begins elsewhere
MAX_RATIO = 10**300  # ratios beyond are this
RETURN = 0.3  # the share of climbs that begin at the best points so far


# --- families of points ------------------------------------------------------------------------------------------------------------------


def _uniform(rng, shape):
    return rng.uniform(-1, 1, shape)


def _tenths(rng, shape):
    return rng.integers(-10, 11, shape) / 10


def _whole(rng, shape):
    return rng.integers(-4, 5, shape).astype(float)


def _powers(rng, shape):
    return rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.integers(-12, 13, shape)


def _beside_powers(rng, shape):
    return _powers(rng, shape) * (1 + rng.integers(-2, 3, shape) * 2.0**-52)


def _one_exponent(rng, shape):
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(1, 2, shape)


def _long_mantissas(rng, shape):
    """Just below and above powers of two: each rounding is nearly half an ulp of the larger side."""
    return rng.choice([-1.0, 1.0], shape) * (1 + rng.integers(0, 64, shape) * 2.0**-30) * 2.0 ** rng.integers(-3, 4, shape)


def _midpoints(rng, shape):
    """The last points are midpoints of others, or one ulp beside them."""
    points = _tenths(rng, shape) if rng.random() < 0.7 else _uniform(rng, shape)
    for k in range(max(len(points) // 2, 1), len(points)):
        i, j = rng.integers(0, k, 2)
        points[k] = (points[i] + points[j]) / 2
        if rng.random() < 0.7:
            points[k] = np.nextafter(points[k], points[k] + rng.integers(-1, 2, points[k].shape))
    return points[rng.permutation(len(points))]


def _aligned(rng, shape):
    """Points that share coordinates."""
    points = _tenths(rng, shape)
    for k in range(shape[-1]):
        some = rng.random(len(points)) < 0.6
        points[some, k] = points[0, k]
    return points


def _far(rng, shape):
    return _uniform(rng, shape) * 2.0 ** rng.integers(-6, 1) + _powers(rng, (1, shape[-1])) * 16


def _one_far(rng, shape):
    points = _uniform(rng, shape)
    points[rng.integers(len(points))] *= 2.0 ** rng.integers(4, 30)
    return points


def _flat(rng, shape):
    """All points nearly in a plane, or on a line, through the first."""
    base, axes = _tenths(rng, (1, shape[-1])), _uniform(rng, (rng.integers(1, 3), shape[-1]))
    points = base + _uniform(rng, (shape[0], len(axes))) @ axes
    return points + _uniform(rng, shape) * rng.choice([0.0, 2.0**-50, 2.0**-24, 2.0**-10])


def _few(rng, shape):
    """Few distinct coordinates: sums cancel exactly."""
    return rng.choice(_uniform(rng, 3), shape)


FAMILIES = {name[1:]: make for name, make in list(globals().items()) if name[0] == "_" != name[1] and callable(make)}


def families(shape, dtype=np.float64, scales=(1.0,)):
    """{name: rng -> points} of all families, for arrays of this shape (points, coordinates), times one of the scales."""

    def start(make):
        return lambda rng: (make(rng, shape) * rng.choice(scales)).astype(dtype)

    return {name: start(make) for name, make in FAMILIES.items()}


# --- steps ------------------------------------------------------------------------------------------------------------------------------


def _step_ulps(rng, points, at):
    for _ in range(rng.integers(1, 4)):
        points[at] = np.nextafter(points[at], points.dtype.type(rng.choice([-np.inf, np.inf])))


def _step_share(rng, points, at):
    points[at] += points[at] * points.dtype.type(rng.normal() * 2.0 ** -rng.integers(0, 40))


def _step_anew(rng, points, at):
    points[at] = rng.uniform(-1, 1) * np.abs(points).max()


def _step_mantissa(rng, points, at):
    """Fewer bits, or other last bits."""
    m, e = math.frexp(points[at])
    keep = 2.0 ** rng.integers(1, 53)
    m = np.round(m * keep) / keep if rng.random() < 0.5 else m + rng.uniform(-1, 1) / keep
    points[at] = np.ldexp(m, e)


def _step_power(rng, points, at):
    points[at] *= points.dtype.type(2.0 ** rng.integers(-4, 5))


def _step_row_power(rng, points, at):
    points[at[0]] *= points.dtype.type(2.0 ** rng.integers(-3, 4))


def _step_sign(rng, points, at):
    points[at] = -points[at]


def _step_zero(rng, points, at):
    points[at] = 0


def _step_copy(rng, points, at):
    points[at] = points[rng.integers(len(points)), at[1]]


def _step_copy_any(rng, points, at):
    points[at] = points[rng.integers(len(points)), rng.integers(points.shape[1])]


def _step_exchange(rng, points, at):
    other = rng.integers(len(points)), rng.integers(points.shape[1])
    points[at], points[other] = points[other], points[at]


def _step_exchange_rows(rng, points, at):
    other = rng.integers(len(points))
    points[[at[0], other]] = points[[other, at[0]]]


def _step_middle(rng, points, at):
    """A point between two others, or beyond them."""
    i, j = rng.integers(0, len(points), 2)
    points[at[0]] = points[i] + (points[j] - points[i]) * points.dtype.type(rng.choice([0.5, 0.5, 2, -1, rng.random()]))


def _step_cancel(rng, points, at):
    """A coordinate such that a sum or a difference with two others cancels."""
    i, j = rng.integers(0, len(points), 2)
    points[at] = points.dtype.type(rng.choice([1, -1])) * points[i, at[1]] + points.dtype.type(rng.choice([1, -1])) * points[j, at[1]]


def _step_shift(rng, points, at):
    """All points along one axis: differences keep their values, but for rounding."""
    points[:, at[1]] += points.dtype.type(rng.choice([-1, 1]) * 2.0 ** rng.integers(-8, 9)) * points[at]


def _step_ends(rng, points, at):
    """Just below or above a power of two."""
    m, e = math.frexp(points[at])
    one = points.dtype.type(np.copysign(np.ldexp(1.0, e), m))
    points[at] = np.nextafter(one, points.dtype.type(rng.choice([-np.inf, np.inf])))


STEPS = tuple(make for name, make in list(globals().items()) if name.startswith("_step_"))


def changed(rng, points):
    """A copy of the points after one to three steps."""
    points = points.copy()
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            at = int(rng.integers(len(points))), int(rng.integers(points.shape[1]))
            step = STEPS[0] if rng.random() < 0.3 else STEPS[rng.integers(len(STEPS))]
            step(rng, points, at)
    return points


# --- the search -------------------------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The largest error ÷ bound (infinite where a bound of 0 does not hold), the points that have it, the family they come from, and how
    many points were evaluated within what the file claims."""

    ratio: float
    points: np.ndarray | None
    kind: str
    evaluations: int


def ratio_of(error, bound):
    """error ÷ bound of numbers of any kind; infinite if that is no number. Of a one-sided bound the error may be negative."""
    if error == 0:
        return 0.0
    if bound == 0 or not all(isinstance(number, Fraction) or math.isfinite(number) for number in (error, bound)):
        return math.inf
    return float(min(max(Fraction(error) / Fraction(bound), -MAX_RATIO), MAX_RATIO))


def search(evaluate, starts, rng, evaluations):
    """The largest error ÷ bound that this many evaluations find. `starts`: {kind: rng -> points}, as `families` makes them."""
    names, best, tried, counted = list(starts), Found(-math.inf, None, "", 0), 0, 0

    def ratio_at(points):
        nonlocal tried, counted
        tried += 1
        if not np.isfinite(points).all():
            return -math.inf
        result = evaluate(points)
        counted += result is not None
        return -math.inf if result is None else ratio_of(*result)

    turn = 0
    while tried < evaluations and best.ratio < math.inf:
        if best.points is not None and turn >= len(names) and rng.random() < RETURN:
            kind, points = best.kind, changed(rng, best.points)
        else:
            kind = names[turn % len(names)]
            points, turn = starts[kind](rng), turn + 1
        here, idle = ratio_at(points), 0
        while True:
            if here > best.ratio:
                best = Found(here, points, kind, counted)
            if idle >= PATIENCE or tried >= evaluations or here == math.inf or (here == -math.inf and idle >= PATIENCE // 10):
                break
            other = changed(rng, points)
            there = ratio_at(other)
            idle = 0 if there > here else idle + 1
            if there >= here:
                points, here = other, there
    return best._replace(evaluations=counted)


# --- exact numbers ------------------------------------------------------------------------------------------------------------------------


def integers(numbers):
    """(rows of Python integers, e <= 0): the numbers, of any shape, are the integers times 2**e, exactly."""
    numbers = np.asarray(numbers, np.float64)
    parts = [value.as_integer_ratio() for value in numbers.reshape(-1).tolist()]
    most = max((bottom.bit_length() for _, bottom in parts), default=1)
    flat = [top << (most - bottom.bit_length()) for top, bottom in parts]
    if numbers.ndim == 1:
        return flat, 1 - most
    width = numbers.shape[-1]
    return [flat[k:k + width] for k in range(0, len(flat), width)], 1 - most


def scaled(integer, exponent):
    """integer · 2**exponent as a Fraction."""
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


def cross(u, v):
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def dot(u, v):
    return sum(p * q for p, q in zip(u, v, strict=True))


def minus(u, v):
    return tuple(p - q for p, q in zip(u, v, strict=True))


# --- the list of all attacks ----------------------------------------------------------------------------------------------------------


class Attack(NamedTuple):
    """An attack on one bound. `source` is the file below `src/pliant/` that derives it, `covers` the names of that file that it is about,
    `evaluations` how many a test takes, `section` the words in the file with which the derivation begins."""

    name: str
    source: str
    covers: tuple
    evaluate: object
    starts: dict
    evaluations: int
    section: str = ""


attacks = {}


def bound(name, source, covers, starts, evaluations=20_000, section=""):
    """Add the decorated function of points to `attacks`."""

    def add(evaluate):
        assert name not in attacks, name
        attacks[name] = Attack(name, source, tuple(covers), evaluate, starts, evaluations, section)
        return evaluate

    return add


def load():
    """All attacks, {name: Attack}, in the order of their modules' names."""
    for path in sorted((Path(__file__).parent / "bounds").glob("[a-z]*.py")):
        import_module(f"bounds.{path.stem}")
    return attacks
