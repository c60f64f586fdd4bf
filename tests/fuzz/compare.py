"""The first oracle: an answer of a body with a history against that of a fresh one, to the bit (but 0 is −0).

Exempt, as DESIGN.md and docs/distances.md say: counters; which pair `first=True` finds; faces and points that are named at a distance of
0; and what a time budget leaves out, as long as the answer says so.
"""
import numpy as np

from fuzz.world import Fresh, ask


class Wrong(Exception):
    """An answer is not right. `rows`: which rays or points, where that can be said."""

    def __init__(self, text, rows=()):
        super().__init__(text)
        self.rows = list(rows)


def rows_apart(first, second):
    """Numbers of the rows in which two arrays differ."""
    differ = ~((first == second) | (np.isnan(first) & np.isnan(second)))
    return np.flatnonzero(differ.reshape(len(first), -1).any(axis=1)) if first.ndim else np.zeros(0, int)


def equal(name, found, right):
    """Raise `Wrong` unless two arrays, or numbers, are the same."""
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape:
        extra = _extra(found, right)
        raise Wrong(f"{name}: {found.shape} instead of {right.shape}{extra}", ())
    if found.dtype != right.dtype:
        raise Wrong(f"{name}: {found.dtype} instead of {right.dtype}")
    if not np.array_equal(found, right, equal_nan=found.dtype.kind == "f"):
        rows = rows_apart(found, right)
        at = rows[0] if len(rows) else ...
        raise Wrong(f"{name}: {len(rows)} rows differ, first row {at}: {found[at].tolist()} instead of {right[at].tolist()}", rows.tolist())


def _extra(found, right):
    if found.ndim != 2 or right.ndim != 2 or found.dtype.kind != "i":
        return ""
    found, right = set(map(tuple, found.tolist())), set(map(tuple, right.tolist()))
    return f"; missing {sorted(right - found)[:5]}, too many {sorted(found - right)[:5]}"


def keys(fields):
    """Pairs of faces, with bodies where there are any, as tuples."""
    faces = fields["faces"].tolist()
    bodies = fields["bodies"].tolist() if "bodies" in fields else [()] * len(faces)
    return [(*body, *pair) for body, pair in zip(bodies, faces, strict=True)]


def check_part(step, fields, right):
    """`first=True`, "each", and budgets: a part of the answer, and the right statement about what is missing."""
    found, full = keys(fields), keys(right)
    if not set(found) <= set(full):
        raise Wrong(f"pairs that do not meet: {sorted(set(found) - set(full))[:5]}")
    if found != sorted(set(found)):
        raise Wrong("pairs are not sorted, or not unique")
    if step.get("first") == "each":
        if sorted(key[:2] for key in found) != sorted({key[:2] for key in full}):
            raise Wrong(f'first="each" finds {found}, all pairs are {full[:9]}')
    elif step.get("first"):
        if len(found) != min(1, len(full)):
            raise Wrong(f"first=True finds {len(found)} pairs of {len(full)}")
    elif fields["complete"]:
        if len(found) != len(full):
            raise Wrong(f"complete, but {len(found)} pairs of {len(full)}")
    else:
        check_unresolved(fields, sorted(set(full) - set(found)))


def check_unresolved(fields, missing):
    unresolved = fields["unresolved"]
    if "bodies" in fields:
        some = set(map(tuple, unresolved.tolist()))
        lost = [key for key in missing if key[:2] not in some]
    else:
        lost = [(i, j) for i, j in missing if not (unresolved[0][i] and unresolved[1][j])]
    if lost:
        raise Wrong(f"missing pairs that are not unresolved: {lost[:5]}")


def check_fresh(world, fresh: Fresh, step, fields):
    """Raise `Wrong` unless the answer is that of fresh bodies; how many rows were compared."""
    if step["do"] == "vertices":
        equal("vertices", fields["values"], world.models[step["a"]].world())
        return len(fields["values"])
    right = ask(fresh, step, whole=True)
    for name in ("body", "bodies"):
        if name in right and (step.get("target") == "scene" or step["do"].startswith("scene")):
            ids = np.array([*sorted(world.ids.values()), -1], np.int64)
            right[name] = ids[right[name]]
    if step.get("first") or step.get("budget_ms") is not None:
        check_part(step, fields, right)
        return max(1, len(fields["faces"]))
    exempt = {"complete", "unresolved"}
    if step["do"].endswith("distance") and fields.get("distance") == 0 == right["distance"]:
        exempt |= {"points", "faces", "bodies"}
    if set(fields) - exempt != set(right) - exempt:
        raise Wrong(f"fields {sorted(fields)} instead of {sorted(right)}")
    order = sorted(set(right) - exempt, key=lambda name: (name not in ("faces", "face"), name))
    for name in order:
        found, expected = fields[name], right[name]
        if name == "points" and step["do"].endswith("within"):
            apart = fields["distances"] > 0
            found, expected = found[apart], expected[apart]
        equal(name, found, expected)
    return max(1, len(np.atleast_1d(fields[order[0]])))
