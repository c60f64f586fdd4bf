"""Creatures of paper G moved on a device: the formula of `creatures.py` in a CUDA kernel, a thread for each vertex.

Constant data is copied to the device once; a frame sends parameters, some kilobytes, and vertices stay on the device. This module imports
numba.cuda, so it is imported only when it is needed.
"""

from __future__ import annotations

from typing import Any

from experiments.georgii2007.creatures import Parameters, Swarm, carried
from pliant.core import device
from pliant.core.cooperative_cuda import cuda, cuda_kernel


@cuda_kernel  # type: ignore[untyped-decorator, unused-ignore]
def carry_all(vertices, owner, limb, axes, poses, sways, out):  # type: ignore[no-untyped-def]
    """All vertices (n, 3) into `out`."""
    i = cuda.grid(1)  # type: ignore[call-arg, var-annotated, unused-ignore]
    if i < out.shape[0]:
        out[i, 0], out[i, 1], out[i, 2] = carried(i, vertices, owner, limb, axes, poses, sways)


class Mover:
    """A swarm on the device: `faces` (f, 3), and vertices (n, 3) that each frame overwrites."""

    def __init__(self, swarm: Swarm) -> None:
        here = device.require_cuda()
        self.rest = [here.to_device(array) for array in swarm.rest]
        self.faces = here.to_device(swarm.faces)
        self.vertices = here.device_array_like(swarm.rest.vertices)
        self.given = [here.to_device(array) for array in swarm.played[0]]

    def move(self, parameters: Parameters) -> Any:
        """Vertices with these parameters, always in the same device array."""
        for there, here in zip(self.given, parameters, strict=True):
            there.copy_to_device(here)
        carry_all[device.launch_grid(self.vertices.shape[0])](*self.rest, *self.given, self.vertices)
        return self.vertices
