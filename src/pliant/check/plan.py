"""What a check asks: which frames, which bodies against which, how. Everything is examined before the first frame is read.

Bodies are named by patterns, as file names are in a shell (`arm*`), or by the name of a group of them. A rule A:B is about pairs of a body
that A names and one that B names; A:A is about such bodies with each other and with themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from pliant.core import check
from pliant.image.options import DEVICES
from pliant.query.collide import ENGINES
from pliant.query.selfcollide import ADJACENT
from pliant.refit.policy import POLICIES


@dataclass(frozen=True)
class Question:
    """What a user asks of an animation; names as on the command line."""

    frames: str = ":"  # START:STOP:STEP, or one number
    between: bool = True  # bodies with others
    with_self: bool = True  # bodies with themselves
    pairs: Sequence[str] = ()  # rules A:B; only these
    ignore: Sequence[str] = ()  # rules A:B; not these
    groups: Mapping[str, str] = field(default_factory=dict)  # name: patterns with commas between
    within: float | None = None  # also pairs that are no farther apart
    adjacent: str = "exact"
    engine: str = "tree"
    device: str = "cpu"
    policy: str = "auto"
    weld: float | bool = True

    def __post_init__(self) -> None:
        check.choice("adjacent", self.adjacent, ADJACENT)
        check.choice("engine", self.engine, ENGINES)
        check.choice("device", self.device, DEVICES)
        check.choice("policy", self.policy, POLICIES)
        check.weld("weld", self.weld)
        if self.within is not None:
            check.number("within", self.within, 0.0)
            if self.engine != "tree":
                raise ValueError(f"within: distances need engine 'tree', got {self.engine!r}")
        if self.device != "cpu" and self.engine != "image":
            raise ValueError(f"device: {self.device!r} is for engine 'image', got {self.engine!r}")
        if not (self.between or self.with_self):
            raise ValueError("pairs: neither bodies with others nor with themselves are asked for")


def chosen_frames(text: str, count: int) -> list[int]:
    """The frames that START:STOP:STEP, or one number, chooses of so many; negative ones count from the end, as in Python."""
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
        raise ValueError(f"frames: expected a frame or START:STOP:STEP, such as 0:100 or ::2, got {text!r}") from None
    if not found:
        raise ValueError(f"frames: {text!r} names none of the frames 0 to {count - 1}")
    return found


def named(option: str, pattern: str, names: Sequence[str], groups: Mapping[str, str]) -> NDArray[np.bool_]:
    """(n,): which bodies a pattern or a group means; an error if none, or if one of a group's patterns names none."""
    found = np.zeros(len(names), bool)
    for each in [part.strip() for part in groups[pattern].split(",")] if pattern in groups else [pattern]:
        fits = np.array([name == each or fnmatchcase(name, each) for name in names], bool)
        if not fits.any():
            known = ", ".join([*groups, *names[:20]]) + (", …" if len(names) > 20 else "")
            raise ValueError(f"{option}: {each!r} names no body; known are {known}")
        found |= fits
    return found


def rule(option: str, text: str, names: Sequence[str], groups: Mapping[str, str]) -> NDArray[np.bool_]:
    """(n, n), symmetric: which pairs of bodies the rule A:B is about. A name may have a colon itself, if only one way to part it fits."""
    parts = text.split(":")
    if len(parts) < 2:
        raise ValueError(f"{option}: expected A:B, two names or patterns of bodies, got {text!r}")
    fitting, errors = list[NDArray[np.bool_]](), list[ValueError]()
    for k in range(1, len(parts)):
        sides = ":".join(parts[:k]).strip(), ":".join(parts[k:]).strip()
        try:
            fitting.append(np.outer(*(named(option, side, names, groups) for side in sides)))
        except ValueError as error:
            errors.append(error)
    if len(fitting) > 1:
        raise ValueError(f"{option}: {text!r} can be parted in {len(fitting)} ways; use a pattern with ? for the colons of a name")
    if not fitting:
        raise errors[0]
    return np.asarray(fitting[0] | fitting[0].T)


def allowed(question: Question, names: Sequence[str]) -> NDArray[np.bool_]:
    """(n, n), symmetric: which bodies are tested against which, the diagonal: with themselves."""
    n = len(names)

    def any_of(option: str, rules: Iterable[str]) -> NDArray[np.bool_]:
        found = np.zeros((n, n), bool)
        for each in rules:
            found |= rule(option, each, names, question.groups)
        return found

    for name in question.groups:
        named("group", name, names, question.groups)
    asked = any_of("pairs", question.pairs) if question.pairs else np.ones((n, n), bool)
    asked &= ~any_of("ignore", question.ignore)
    asked &= np.where(np.eye(n, dtype=bool), question.with_self, question.between)
    if n and not asked.any():
        raise ValueError(f"pairs: of {n} bod{'y' if n == 1 else 'ies'}, nothing is left to test with these options")
    return asked
