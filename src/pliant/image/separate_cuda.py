"""Pass 3 on CUDA: a thread for each face."""
from pliant.core.cooperative_cuda import cuda, device_function
from pliant.image.separate import separate_face


@device_function
def separate(screen, faces, n, error_xy, error_z, size, margin, active, texels, level_begins, level_sides, sparse):
    """Pass 3: what is left of each face."""
    for f in range(cuda.grid(1), n, cuda.gridsize(1)):
        sparse[f] = separate_face(screen, faces, f, error_xy, error_z, size, margin, active, texels, level_begins, level_sides)
