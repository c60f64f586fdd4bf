"""What can go wrong, by name. Every message says which argument, which row and which value, and what to do."""


class PliantError(Exception):
    """Anything that Pliant raises on purpose."""


class MeshError(PliantError, ValueError):
    """Vertices or faces that do not describe a triangle mesh: wrong shape, not finite, out of range."""


class FileError(PliantError, ValueError):
    """A file that is not what it claims to be: damaged, truncated, foreign or too large."""


class TooManyPairsError(PliantError, MemoryError):
    """The answer does not fit into the memory that is left; nothing was truncated, nothing is returned."""


class DeviceError(PliantError, RuntimeError):
    """No GPU can be used here, or arrays are in different places."""


class DeviceMemoryError(PliantError, MemoryError):
    """The memory of the GPU does not hold what a query needs; nothing is returned."""
