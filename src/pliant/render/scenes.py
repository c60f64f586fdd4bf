"""The shows that come with the library, by name."""

from __future__ import annotations

from collections.abc import Callable

from pliant.render.museum import museum
from pliant.render.nine import nine
from pliant.render.show import Show

SHOWS: dict[str, Callable[..., Show]] = {"nine": nine, "museum": museum}  # each takes `faces`
