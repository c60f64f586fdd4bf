"""The shows that come with the library, by name."""

from __future__ import annotations

from collections.abc import Callable

from pliant.render.animation import AnimatedScene
from pliant.render.demo_soup import make_demo_soup
from pliant.render.demo_spheres import make_demo_spheres

SCENES: dict[str, Callable[..., AnimatedScene]] = {"nine": make_demo_spheres, "museum": make_demo_soup}  # each takes `faces`
