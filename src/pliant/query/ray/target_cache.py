"""What a scene keeps for rays between queries: the records of its bodies, and the tree of their boxes.

Bodies that were updated since the last query are known by their versions, and BVHs that an interrupt has set back by their count of trees;
only their records are made anew. The tree keeps its nodes while
bodies move, and its boxes are fitted; when as many bodies have moved as there are, it is built again.
"""
import threading

from pliant.query.ray.cast import build_top_level, ray_targets, set_targets
from pliant.query.ray.top_level import fit_boxes


class RayTargetCache:
    """The RayTargets and the TopLevel of one group of bodies. Callers hold the read locks of the bodies: so none is updated while a query
    runs, and no record changes under it."""

    def __init__(self):
        self._lock = threading.Lock()
        self.clear()

    def clear(self):
        """Forget all bodies."""
        with self._lock:
            self._group = self._versions = self._n_trees = self._targets = self._top_level = None
            self._n_moved = 0                                           # since the tree was built

    def of(self, bodies, numbers, masks):
        """(RayTargets, TopLevel) of these bodies, with these ids and masks."""
        with self._lock:
            group, known = (bodies, numbers, masks), self._group
            versions = [body._version for body in bodies]
            self._group = None                                          # whoever is interrupted from here on starts afresh
            if known != group:
                self._targets = ray_targets(bodies, numbers, masks, False)
                self._top_level, self._n_moved = build_top_level(self._targets.records), 0
            else:
                self._update(bodies, numbers, masks, [k for k, bvh in enumerate(self._targets.bvhs)
                                                      if versions[k] != self._versions[k] or bvh.n_trees != self._n_trees[k]])
            self._group, self._versions, self._n_trees = group, versions, [bvh.n_trees for bvh in self._targets.bvhs]
            return self._targets, self._top_level

    def _update(self, bodies, numbers, masks, moved):
        """Replace the records of bodies that have moved."""
        if not moved:
            return
        targets = self._targets
        set_targets(targets, moved, bodies, numbers, masks)
        self._n_moved += len(moved)
        if self._n_moved >= len(bodies):
            self._top_level, self._n_moved = build_top_level(targets.records), 0
        elif len(self._top_level.child):
            fit_boxes(self._top_level, targets.records)
