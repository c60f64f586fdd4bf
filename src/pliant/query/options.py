"""Options that several queries share. Those of BVH traversal change the work, never the result."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pliant.core import validate
from pliant.errors import ArgumentTypeError

ADJACENT_MODES = "exact", "ignore"
EACH_PAIR = "each"                                                      # one pair of faces for each two bodies that intersect
SAT_MODES, DESCEND_MODES, RAY_MODES = ("full", "lite"), ("both", "larger"), ("wide", "stackless")


@dataclass(frozen=True)
class Traversal:
    """How BVHs are traversed, for experiments; the result is always the same.

    sat : separating axes tested between boxes of bodies with a transform: "full" all 15, "lite" the 6 face normals
    descend : which of two nodes is opened: "both", or the "larger" one
    rays : "wide", nearest child first and several rays at once, or "stackless", by skip indices (Larsson and Akenine-Möller 2003, Fig 7.2)

    >>> import pliant as pl
    >>> pl.Traversal(descend="larger")
    Traversal(sat='full', descend='larger', rays='wide')
    """
    sat: Literal["full", "lite"] = "full"
    descend: Literal["both", "larger"] = "both"
    rays: Literal["wide", "stackless"] = "wide"

    def __post_init__(self) -> None:
        for name, modes in (("sat", SAT_MODES), ("descend", DESCEND_MODES), ("rays", RAY_MODES)):
            validate.choice(name, getattr(self, name), modes)

    @property
    def full_sat(self) -> bool:
        """Test all 15 separating axes?"""
        return self.sat == "full"

    @property
    def descend_larger(self) -> bool:
        """Open one node at a time, the larger one?"""
        return self.descend == "larger"

    @property
    def stackless(self) -> bool:
        """Trace rays by skip indices?"""
        return self.rays == "stackless"


DEFAULT_TRAVERSAL = Traversal()


def check_traversal(traversal: object) -> Traversal:
    """Validate the argument `traversal` of a query."""
    if not isinstance(traversal, Traversal):
        raise ArgumentTypeError(f"traversal: expected a pliant.Traversal, got {type(traversal).__name__} {traversal!r}")
    return traversal


class ManyOptions(NamedTuple):
    """Options of a query of many pairs of bodies, and its deadline."""
    first: bool | str
    contacts: bool
    adjacent: str
    traversal: Traversal
    deadline: float | None

    @property
    def stops_early(self) -> bool:
        """Does the query end at the first pair of faces?"""
        return self.first is True

    @property
    def answer_key(self) -> tuple[Any, ...]:
        """The options that the answer depends on."""
        return self.first, self.contacts, self.adjacent


def check_many_options(first: object, contacts: object, adjacent: object, traversal: object, end_time: float | None) -> ManyOptions:
    """Validate the options of a query of many pairs of bodies."""
    checked = validate.choice("first", first, (EACH_PAIR,)) if isinstance(first, str) else validate.flag("first", first)
    return ManyOptions(checked, validate.flag("contacts", contacts), validate.choice("adjacent", adjacent, ADJACENT_MODES),
                       check_traversal(traversal), end_time)
