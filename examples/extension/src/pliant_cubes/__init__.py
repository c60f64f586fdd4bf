"""One of everything that another package can add to Pliant; importing it registers all."""
from pliant_cubes import cube, halves, periodic, reader, twist  # noqa: F401
