"""The shows that come with the library, by name."""

from __future__ import annotations

from collections.abc import Callable

from pliant.render.animation import Show
from pliant.render.demo_soup import museum
from pliant.render.demo_spheres import nine

SHOWS: dict[str, Callable[..., Show]] = {"nine": nine, "museum": museum}  # each takes `faces`
