"""Count the operations of a test of two volumes: the formulas run on numbers that count operations.

Formulas of volumes are written once for scalars, lanes and NumPy rows (`volume/protocol.py`); here they run on rows that record every
arithmetic operation and every comparison. An operation on all lanes of a register counts once per lane; formulas have no early exits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.volume.protocol import VOLUME_TYPES, RigidTransform, overlap, sat_cross_axes, transform_volume

ARITHMETIC = {np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.absolute, np.fabs, np.negative, np.square, np.reciprocal}
COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.minimum, np.maximum, np.fmin, np.fmax}


class Count(NamedTuple):
    """Arithmetic operations and comparisons."""

    arithmetic: int
    comparisons: int


class Counted(np.ndarray[Any, np.dtype[Any]]):
    """A row of numbers that counts in `done`, which all rows derived from it share."""

    done: dict[str, int]

    def __array_finalize__(self, made_of: Any) -> None:
        """Views count together with their base."""
        self.done = getattr(made_of, "done", {})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Count the operation, and execute it."""
        done = next(value.done for value in inputs if isinstance(value, Counted))
        plain = [value.view(np.ndarray) if isinstance(value, Counted) else value for value in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        done["arithmetic"] += ufunc in ARITHMETIC
        done["comparisons"] += ufunc in COMPARISONS
        return counted(result, done)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Selecting lanes does not count."""
        done = self.done
        plain = [value.view(np.ndarray) if isinstance(value, Counted) else value for value in args]
        return counted(function(*plain, **kwargs), done)


def counted(value: Any, done: dict[str, int]) -> Any:
    """The value, as a row that counts."""
    row = np.asarray(value).view(Counted)
    row.done = done
    return row


def operations(volume_type: str) -> dict[str, Count]:
    """Operations of a test of two volumes of one type with a rotation between them: `transform_volume` ("carry"), once for a volume that is
    tested against several; `overlap`; and `sat_cross_axes` ("skew"), for the volumes that pass `overlap`."""
    volume = VOLUME_TYPES[volume_type].volume
    done = {"arithmetic": 0, "comparisons": 0}

    def number() -> Any:
        return counted(np.ones(1, np.float32), done)

    def since() -> Count:
        count = Count(**done)
        done.update(arithmetic=0, comparisons=0)
        return count

    found = {}
    with np.errstate(all="ignore"):
        one = volume(*(number() for _ in volume._fields))  # type: ignore[attr-defined]
        seen = transform_volume(one, RigidTransform(*(number() for _ in RigidTransform._fields)))
        found["carry"] = since()
        overlap(one, seen)
        found["overlap"] = since()
        sat_cross_axes(one, seen)
        found["skew"] = since()
    return found
