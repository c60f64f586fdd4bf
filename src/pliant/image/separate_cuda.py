"""Pass 3 on CUDA: a thread for each face."""
from pliant.core.cooperative_cuda import cuda, of_kernels
from pliant.image.separate import separated


@of_kernels
def separate(screen, faces, n, slack, slack_z, size, margin, on, texels, level_begins, level_sides, sparse):
    """Pass 3: what is left of each face."""
    for f in range(cuda.grid(1), n, cuda.gridsize(1)):
        sparse[f] = separated(screen, faces, f, slack, slack_z, size, margin, on, texels, level_begins, level_sides)
