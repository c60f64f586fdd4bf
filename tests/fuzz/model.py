"""Where the vertices of a case are after each step, computed without the library: by the definitions that its documentation gives.

A body of a case is a table:

    motion     "free", "rigid", "morph" or "blended"
    vertices   rows (n, 3): where the body starts; at rest, for a blended one
    faces      rows (m, 3)
    options    keywords of `Body`: volume, build, arity, leaf, policy
    weld       true to merge vertices that start at one place
    key_poses  for free bodies: key poses (k, n, 3)
    shapes     for morphing bodies: targets (k, n, 3), `vertices` being the first; `form`: "targets", "base" or "relative"
    weights    for blended bodies: rows (n, m)

A step is a table too; `do` names it. `STEPS` below are those that change where vertices are.
"""
import numpy as np

import blends
import morphs
import poses


def rows_of(rows):
    """(n, 3) float64."""
    return np.array(rows, np.float64).reshape(-1, 3)


class Model:
    """One body: `corners` (m, 3) vertex indices with welded ones replaced, `local` (n, 3) vertices before the transform."""

    def __init__(self, table):
        self.table, self.motion = table, table["motion"]
        self.local = rows_of(table["vertices"])
        self.faces = np.array(table["faces"], np.int32).reshape(-1, 3)
        self.corners = self.lowest()[self.faces] if table.get("weld") else self.faces
        self.transform, self.version = None, 0

    def lowest(self):
        """(n,): for each vertex the lowest one that stays at its place: with the same targets and weights."""
        n, known = len(self.local), {}
        columns = [self.local, *self.table.get("shapes", ()), *([self.table["weights"]] if self.motion == "blended" else [])]
        rows = (np.concatenate([np.array(each, np.float64).reshape(n, -1) for each in columns], axis=1) + 0.0).tolist()
        return np.array([known.setdefault(tuple(row), k) for k, row in enumerate(rows)], np.int32)

    def world(self):
        """(n, 3) vertices where they are."""
        with np.errstate(under="ignore"):
            return self.local.copy() if self.transform is None else poses.moved(self.transform, self.local)

    def triangles(self):
        """(m, 3, 3) corners of the faces."""
        return self.world()[self.corners]

    def apply(self, step):
        """Change the state as a step says."""
        STEPS[step["do"]](self, step)
        self.version += 1


def _place(model, step):
    matrix = step.get("transform")
    model.transform = None if matrix is None else np.array(matrix, np.float64)


def _update(model, step):
    model.local = rows_of(step["vertices"])
    _place(model, step)


def _changed(model, step):
    model.local[np.array(step["changed"], np.intp)] = rows_of(step["vertices"])
    _place(model, step)


def _control(model, step):
    values, table = np.array(step["values"], np.float64), model.table
    with np.errstate(under="ignore"):
        if model.motion == "morph":
            model.local = morphs.where(table["form"], np.array(table["shapes"], np.float64), values)
        else:
            model.local = blends.where(rows_of(table["vertices"]), np.array(table["weights"], np.float64), values)
    _place(model, step)


def _refused(model, step):
    """Nothing changes."""


STEPS = {"update": _update, "changed": _changed, "transform": _place, "control": _control, "refused": _refused, "reload": _refused}
