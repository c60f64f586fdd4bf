"""How good a tree still is: what a query would find in it, relative to what it holds."""
from pliant.core.jit import kernel
from pliant.core.records import lane, whole
from pliant.volume.protocol import size


@kernel
def quality(nodes):
    """The sum of the squared sizes of all volumes below the root's, which must be true, over that of the root: the lower the better. By the
    surface area heuristic the number of volumes that a random line or small body meets grows like it."""
    total = 0.0
    for i in range(len(nodes)):
        for k in range(nodes[i]["count"]):
            extent = size(lane(nodes, i, k))
            total += extent * extent
    extent = size(whole(nodes, 0))
    return total / (extent * extent) if extent > 0 else 1.0
