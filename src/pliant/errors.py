"""Exceptions. Every message names the argument, the row and the value that is wrong, and what to do.

What Pliant raises on purpose is a `PliantError`, and also the built-in class that users expect: `except ValueError` keeps working.
"""


class PliantError(Exception):
    """Base class of every error that Pliant raises on purpose."""


class ArgumentError(PliantError, ValueError):
    """An argument has a value that is not allowed."""


class ArgumentTypeError(PliantError, TypeError):
    """An argument is of the wrong type, is missing, or does not go with the others."""


class UnknownIdError(PliantError, KeyError):
    """A scene has no body with this id or name, and no group with this name."""

    def __str__(self) -> str:
        """The message; KeyError would show it in quotes."""
        return str(self.args[0]) if self.args else ""


class StaleResultError(PliantError, RuntimeError):
    """A part of a result that is computed when it is first read was read only after the surface had been updated."""


class MissingExtraError(PliantError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


class MeshError(ArgumentError):
    """Vertices or faces that do not describe a triangle mesh: wrong shape, not finite, out of range."""


class FileError(PliantError, ValueError):
    """A file that is not what it claims to be: damaged, truncated, foreign or too large."""


class TooManyPairsError(PliantError, MemoryError):
    """The result does not fit into the remaining memory; nothing was truncated, nothing is returned."""


class DeviceError(PliantError, RuntimeError):
    """No GPU is available, or arrays are in the memories of different devices."""


class DeviceMemoryError(PliantError, MemoryError):
    """A query needs more memory than the GPU has; nothing is returned."""
