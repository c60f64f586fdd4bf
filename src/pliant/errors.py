"""Exceptions. Every message says which argument, which row and which value is wrong, and what to do."""


class PliantError(Exception):
    """Base class of every error that Pliant raises on purpose."""


class MeshError(PliantError, ValueError):
    """Vertices or faces that do not describe a triangle mesh: wrong shape, not finite, out of range."""


class FileError(PliantError, ValueError):
    """A file that is not what it claims to be: damaged, truncated, foreign or too large."""


class TooManyPairsError(PliantError, MemoryError):
    """The result does not fit into the remaining memory; nothing was truncated, nothing is returned."""


class DeviceError(PliantError, RuntimeError):
    """No GPU is available, or arrays are in the memories of different devices."""


class DeviceMemoryError(PliantError, MemoryError):
    """A query needs more memory than the GPU has; nothing is returned."""
