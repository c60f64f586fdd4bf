"""Types of arguments: what a mesh may be, and the options of a body. For annotations in programs that use Pliant.

Names of volumes, builders and policies are open: other packages may register more. So their types list the built-in names for
completion in editors, and accept any string.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol, TypeAlias, TypedDict

from numpy.typing import ArrayLike


class HasFaces(Protocol):
    """A mesh as trimesh has it."""

    @property
    def vertices(self) -> ArrayLike: ...
    @property
    def faces(self) -> ArrayLike: ...


class HasTriangles(Protocol):
    """A mesh as Open3D has it."""

    @property
    def vertices(self) -> ArrayLike: ...
    @property
    def triangles(self) -> ArrayLike: ...


class SparseWeights(Protocol):
    """A SciPy sparse array or matrix."""

    def tocsr(self) -> object: ...


class DeviceArray(Protocol):
    """An array on a GPU, of CuPy, Torch, JAX or Numba: anything with the CUDA array interface."""

    @property
    def __cuda_array_interface__(self) -> dict[str, object]: ...


MeshLike: TypeAlias = HasFaces | HasTriangles
VolumeName: TypeAlias = Literal["aabb", "sphere", "kdop6", "kdop14", "kdop18", "kdop26", "obb", "rss", "slabcutball",
                                "double_slabcutball"] | str
BuilderName: TypeAlias = Literal["sah", "connectivity", "centre", "mean", "partition", "covariance", "matching"] | str
PolicyName: TypeAlias = Literal["auto", "bottom_up", "hybrid", "lazy", "active", "fitted", "inflated", "rebuild"] | str
PolicyLike: TypeAlias = PolicyName | os.PathLike[str] | Mapping[str, object]
Adjacent: TypeAlias = Literal["exact", "ignore"]
BodyEnd: TypeAlias = ArrayLike | tuple[ArrayLike | None, ArrayLike] | None  # a state, (state, transform), or None for a body at rest


class BodyOptions(TypedDict, total=False):
    """The keyword arguments of `Body`."""
    volume: VolumeName
    build: BuilderName
    arity: Literal[2, 4, 8]
    leaf: int
    policy: PolicyLike
    origin: ArrayLike | None
    build_poses: ArrayLike | Iterable[ArrayLike] | None
    weld: bool | float | ArrayLike
