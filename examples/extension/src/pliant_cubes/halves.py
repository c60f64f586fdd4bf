"""A builder: every node is divided at the median of the face midpoints, along the longest axis, until it has `arity` children."""
import numpy as np

from pliant.tree.nodes import WIDTH_OF_ARITY, Builder, register_builder, tree_from_spans


def build(points, faces, arity, leaf):
    """The Tree of faces (f, 3), at least one, over points (n, 4) float32 rows x y z ·, with at most `leaf` faces in a leaf."""
    midpoints, order = points[faces, :3].mean(axis=1), np.arange(len(faces), dtype=np.int32)
    child, count, spans = [], [], []                                    # of each node; of each leaf its range of `order`

    def divide(begin, end):
        """Add the node of the faces order[begin:end], then its descendants: a subtree owns a range of nodes. The number of the node."""
        parts, node = [(begin, end)], len(child)
        while len(parts) < arity:
            k = max(range(len(parts)), key=lambda k: parts[k][1] - parts[k][0])
            first, last = parts[k]
            if last - first <= leaf:
                break
            rows, middle = order[first:last], (first + last) // 2
            axis = np.ptp(midpoints[rows], axis=0).argmax()
            order[first:last] = rows[np.argsort(midpoints[rows, axis], kind="stable")]
            parts[k:k + 1] = (first, middle), (middle, last)
        child.append([0] * WIDTH_OF_ARITY[arity])
        count.append(len(parts))
        for k, (first, last) in enumerate(parts):
            if last - first <= leaf:
                child[node][k] = ~len(spans)
                spans.append((first, last))
            else:
                child[node][k] = divide(first, last)
        return node

    divide(0, len(faces))
    return tree_from_spans(np.array(child, np.int32), np.array(count, np.int32), np.array(spans, np.int32), order, faces)


register_builder(Builder("halves", build))
