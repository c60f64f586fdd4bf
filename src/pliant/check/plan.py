"""The options of a check: which frames, which bodies against which, how. Everything is validated before the first frame is read.

Bodies are named by patterns, as file names are in a shell (`arm*`), or by the name of a group of them. A rule A:B selects pairs of a body
that A names and one that B names; A:A selects such bodies with each other and with themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate, validate_weld
from pliant.errors import ArgumentError
from pliant.image.options import DEVICES
from pliant.query.collide.two_bodies import ENGINES
from pliant.query.options import ADJACENT_MODES
from pliant.refit.policy import POLICIES
from pliant.typing import Adjacent
from pliant.volume.protocol import VOLUME_TYPES

UP_AXES = ("y", "z")
FAIL_RULES = ("any", "new", "near")


def parse_fail_rule(text: str) -> tuple[str, float]:
    """(rule, depth) of "any", "new", "near" or "depth>X"; the depth of the others is 0."""
    if text in FAIL_RULES:
        return text, 0.0
    name, sign, number = str(text).partition(">")
    try:
        if name.strip() == "depth" and sign and 0 <= float(number) < math.inf:
            return "depth", float(number)
    except ValueError:
        pass
    raise ArgumentError(f"fail-on: expected any, new, near or depth>X, such as 'depth>0.5', got {text!r}")


def parse_baseline(text: str | None) -> tuple[str, int | None]:
    """("none" | "rest" | "frame" | "file", frame) of None, "rest", "frame N" or a path."""
    if text is None:
        return "none", None
    words = text.split()
    if text.strip() == "rest":
        return "rest", None
    if len(words) == 2 and words[0] == "frame" and words[1].isdecimal() and len(words[1]) < 10:
        return "frame", int(words[1])
    if not text.strip() or words[0] == "frame":
        raise ArgumentError(f"baseline: expected rest, 'frame N', a folder of results or a file, got {text!r}")
    return "file", None


@dataclass(frozen=True)
class CheckOptions:
    """Options of a check; names as on the command line.

    frames : START:STOP:STEP as in Python, or one number
    between : test different bodies against each other
    with_self : test each body for self-collisions
    pairs : rules "A:B" of names, patterns or groups; only these pairs of bodies are tested
    ignore : rules "A:B"; these pairs of bodies are excluded
    groups : {name: patterns, separated by commas}
    within : also report pairs of faces within this distance, and all distances
    enclosed : also report bodies that lie inside a closed body without touching it
    adjacent : "exact", or "ignore": no pairs of faces that share a vertex
    engine, device : "tree" or "image"; "cpu" or "cuda", for the image engine
    policy, volume : the refit policy and the bounding-volume type; results do not depend on them
    weld : merge vertices at the same position, or within this distance
    up : the axis that points up in the report, "y" or "z", where the file does not say it
    baseline : which pairs are known: "rest", "frame N", or the path of an earlier check or of a baseline; None: none
    depth : find how deep collisions are
    min_depth : contacts shallower than this are set aside: they do not count as collisions
    fail_on : which findings make the check fail: "any", "new", "near" or "depth>X"; the results do not depend on it
    """

    frames: str = ":"
    between: bool = True
    with_self: bool = True
    pairs: Sequence[str] = ()
    ignore: Sequence[str] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    within: float | None = None
    enclosed: bool = True
    adjacent: Adjacent = "exact"
    engine: str = "tree"
    device: str = "cpu"
    policy: str = "auto"
    volume: str = "aabb"
    weld: float | bool = True
    up: str = "y"
    baseline: str | None = None
    depth: bool = True
    min_depth: float = 0.0
    fail_on: str = "any"

    def __post_init__(self) -> None:
        validate.choice("adjacent", self.adjacent, ADJACENT_MODES)
        validate.choice("engine", self.engine, ENGINES)
        validate.choice("device", self.device, DEVICES)
        validate.choice("policy", self.policy, POLICIES)
        validate.choice("volume", self.volume, VOLUME_TYPES)
        validate_weld.weld_distance("weld", self.weld)
        validate.choice("up", self.up, UP_AXES)
        parse_baseline(self.baseline)
        validate.number("min-depth", self.min_depth, 0.0)
        if not self.depth and (self.min_depth or parse_fail_rule(self.fail_on)[0] == "depth"):
            raise ArgumentError(f"{'min-depth' if self.min_depth else 'fail-on'}: needs depths, which depth=False leaves out")
        parse_fail_rule(self.fail_on)
        validate.flag("enclosed", self.enclosed)
        if self.within is not None:
            validate.number("within", self.within, 0.0)
            if self.engine != "tree":
                raise ArgumentError(f"within: distances need engine 'tree', got {self.engine!r}")
        if self.device != "cpu" and self.engine != "image":
            raise ArgumentError(f"device: {self.device!r} is for engine 'image', got {self.engine!r}")
        if not (self.between or self.with_self):
            raise ArgumentError("pairs: nothing to test: between=False and with_self=False exclude all pairs")


def select_frames(text: str, count: int) -> list[int]:
    """The frames that START:STOP:STEP, or one number, selects among `count`; negative ones count from the end, as in Python."""
    parts = text.strip().split(":")
    try:
        numbers = [int(part) if part.strip() else None for part in parts]
        if len(parts) == 1 and numbers[0] is not None:
            k = numbers[0]
            found = [k + count if k < 0 else k] if -count <= k < count else []
        elif 2 <= len(parts) <= 3 and (len(parts) == 2 or numbers[2] is None or numbers[2] > 0):
            found = list(range(count)[slice(*numbers)])
        else:
            raise ValueError
    except ValueError:
        raise ArgumentError(f"frames: expected a frame or START:STOP:STEP, such as 0:100 or ::2, got {text!r}") from None
    if not found:
        raise ArgumentError(f"frames: {text!r} names none of the frames 0 to {count - 1}")
    return found


def match_bodies(option: str, pattern: str, names: Sequence[str], groups: Mapping[str, str]) -> NDArray[np.bool_]:
    """(n,): which bodies a pattern or a group names; an error if none, or if one of a group's patterns names none."""
    found = np.zeros(len(names), bool)
    for each in [part.strip() for part in groups[pattern].split(",")] if pattern in groups else [pattern]:
        fits = np.array([name == each or fnmatchcase(name, each) for name in names], bool)
        if not fits.any():
            known = ", ".join([*groups, *names[:20]]) + (", …" if len(names) > 20 else "")
            raise ArgumentError(f"{option}: {each!r} names no body; known are {known}")
        found |= fits
    return found


def parse_rule(option: str, text: str, names: Sequence[str], groups: Mapping[str, str]) -> NDArray[np.bool_]:
    """(2, n): which bodies are A and which are B of the rule A:B. A name may have a colon itself, if only one way to split the rule
    fits."""
    parts = text.split(":")
    if len(parts) < 2:
        raise ArgumentError(f"{option}: expected A:B, two names or patterns of bodies, got {text!r}")
    fitting, errors = list[NDArray[np.bool_]](), list[ValueError]()
    for k in range(1, len(parts)):
        sides = ":".join(parts[:k]).strip(), ":".join(parts[k:]).strip()
        try:
            fitting.append(np.stack([match_bodies(option, side, names, groups) for side in sides]))
        except ValueError as error:
            errors.append(error)
    if len(fitting) > 1:
        raise ArgumentError(f"{option}: {text!r} can be split in {len(fitting)} ways; use a pattern with ? for the colons of a name")
    if not fitting:
        raise errors[0]
    return fitting[0]


class PairFilter(NamedTuple):
    """Which bodies are tested against which. Bodies that no rule distinguishes are of one kind; rules apply to kinds, so that memory grows
    with the number of rules and not with the number of pairs of bodies."""

    body_kinds: NDArray[np.int64]  # (n,) the kind of each body
    allowed_pairs: NDArray[np.bool_]  # (k, k), symmetric: whether two bodies of these kinds are tested against each other
    allowed_self: NDArray[np.bool_]  # (k,) whether bodies of this kind are tested with themselves


def make_pair_filter(options: CheckOptions, names: Sequence[str]) -> PairFilter:
    """The pair filter for bodies of these names."""
    for name in options.groups:
        match_bodies("group", name, names, options.groups)
    wanted, ignored = ([parse_rule(option, each, names, options.groups) for each in rules]
                       for option, rules in (("pairs", options.pairs), ("ignore", options.ignore)))  # fmt: skip
    everybody = np.ones((2, len(names)), bool)
    if not names:
        return PairFilter(np.zeros(0, np.int64), np.zeros((0, 0), bool), np.zeros(0, bool))
    columns, kinds, counts = np.unique(np.stack([everybody, *wanted, *ignored]), axis=2, return_inverse=True, return_counts=True)
    allowed_kinds = _union(columns[1 : 1 + len(wanted)] if wanted else columns[:1]) & ~_union(columns[1 + len(wanted) :])
    found = PairFilter(kinds.ravel(), allowed_kinds & options.between, allowed_kinds.diagonal() & options.with_self)
    if not (found.allowed_self.any() or (found.allowed_pairs & ((counts > 1) | ~np.eye(len(counts), dtype=bool))).any()):
        raise ArgumentError(f"pairs: of {len(names)} bod{'y' if len(names) == 1 else 'ies'}, nothing is left to test with these options")
    return found


def _union(rules: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(k, k), symmetric: which pairs of kinds any of these rules (m, 2, k) selects."""
    found = np.zeros((rules.shape[2], rules.shape[2]), bool)
    for first, second in rules:
        found |= np.outer(first, second)
    return found | found.T
