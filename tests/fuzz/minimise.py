"""`minimise(case)`: a smaller case with the same kind of fault. Deterministic, but for faults of threads: it counts the
cases it has played, and looks at no clock.

Kept are changes after which `play` still shows a difference of the same kind (query and oracle): fewer steps, bodies, rays, points, faces
and vertices, and default options. The passes are repeated until none of them helps.
"""
import copy

import numpy as np

from fuzz.model import STEPS, Model
from fuzz.play import ORACLES, play

MOST_PLAYS, REPEATS = 600, 10
PLAIN = {"volume": "aabb", "build": "sah", "arity": 8, "leaf": 8, "policy": "auto"}
ROWS = ("origins", "directions", "points", "planes")                    # of queries
POINTS = ("vertices", "weights")                                        # of bodies, a row for each vertex; `keys` and `shapes` have several
FLAGS = ("weld", "key_poses")                                           # of bodies
EXTRAS = ("transform", "key_pose", "copy", "contacts", "first", "budget_ms", "engine", "signed", "max_distance", "traversal",
          "t_min", "t_max")


def minimise(case, kind=None, most=MOST_PLAYS):
    """(the smaller case, its differences). `kind`: of the difference to keep, by default that of the first one."""
    search = _Search(case, kind, most)
    if not search.differences:
        return case, []                                                 # of two threads, in another order
    before = None
    while before != search.case and search.left > 0:
        before = search.case
        for step in (search.cut, search.bake, search.steps, search.threads, search.extras, search.rows, search.bodies, search.faces,
                     search.vertices, search.options):
            step()
    return search.case, search.differences


class _Search:
    def __init__(self, case, kind, most):
        self.case, self.left = case, most
        found = _differences(case, ORACLES, kind)
        self.kind = kind or found[0].kind
        self.differences = [difference for difference in found if difference.kind == self.kind]
        oracle = self.kind.split(":")[1]
        self.oracles = (oracle,) if oracle in ORACLES else ()

    def keep(self, case):
        """Is the fault still there? Then this is the case from now on."""
        if self.left <= 0 or case == self.case:
            return False
        self.left -= 1
        found = [difference for difference in _differences(case, self.oracles, self.kind) if difference.kind == self.kind]
        if found:
            self.case, self.differences = case, found
        return bool(found)

    def changed(self):
        """A copy to change."""
        return copy.deepcopy(self.case)

    def cut(self):
        case = self.changed()
        del case["steps"][self.differences[0].step + 1:]
        self.keep(case)

    def bake(self):
        """A free body that starts where it is when it is asked, instead of one that was moved there."""
        for k, body in enumerate(self.case["bodies"]):
            model, steps = Model(body), self.case["steps"]
            if not any(_moves(step, k) for step in steps) and body["motion"] == "free":
                continue
            for step in steps[:self.differences[0].step]:
                if _moves(step, k):
                    model.apply(step)
            case = self.changed()
            case["bodies"][k] = {"motion": "free", "kind": body.get("kind"), "vertices": model.world().tolist(),
                                 "faces": model.corners.tolist(), "options": body["options"] | {"policy": "auto"}}
            case["steps"] = [step for step in case["steps"] if not _moves(step, k)]
            self.keep(case)

    def drop(self, count, without):
        """Drop items in ever smaller runs, as long as that keeps the fault; `without(first, last)` makes the case, `count()` counts."""
        run = max(1, count() // 2)
        while True:
            first = 0
            while first < count():
                if not self.keep(without(first, min(first + run, count()))):
                    first += run
            if run == 1:
                return
            run //= 2

    def steps(self):
        def without(first, last):
            case = self.changed()
            del case["steps"][first:last]
            return case
        self.drop(lambda: len(self.case["steps"]), without)

    def threads(self):
        """One query instead of several at the same time."""
        for k, step in enumerate(self.case["steps"]):
            for query in step.get("queries", ()):
                case = self.changed()
                case["steps"][k] = query
                if self.keep(case):
                    break

    def extras(self):
        for k, step in enumerate(self.case["steps"]):
            for name in [name for name in EXTRAS if name in step and len(step) > 2]:
                if step["do"] == "transform" and name == "transform":
                    continue
                case = self.changed()
                del case["steps"][k][name]
                self.keep(case)

    def rows(self):
        """Rays, points and planes, of all queries."""
        for k, step in enumerate(self.case["steps"]):
            names = [name for name in ROWS if isinstance(step.get(name), list)]
            if names:
                wrong = [row for difference in self.differences if difference.step == k for row in difference.rows]
                if wrong:
                    self.keep(_without_rows(self.case, k, names, keep=[wrong[0]]))
                self.drop(lambda k=k, names=names: len(self.case["steps"][k][names[0]]),
                          lambda first, last, k=k, names=names: _without_rows(self.case, k, names, first=first, last=last))

    def bodies(self):
        for k in reversed(range(len(self.case["bodies"]))):
            case = _without_body(self.case, k)
            if case["bodies"]:
                self.keep(case)

    def faces(self):
        for k in range(len(self.case["bodies"])):
            def without(first, last, k=k):
                case = self.changed()
                del case["bodies"][k]["faces"][first:last]
                return case
            self.drop(lambda k=k: len(self.case["bodies"][k]["faces"]), without)

    def vertices(self):
        for k, body in enumerate(self.case["bodies"]):
            used = sorted({v for face in body["faces"] for v in face})
            if not self.keep(_with_vertices(self.case, k, used or [0])) and len(used) + 1 < len(body["vertices"]):
                for v in reversed(sorted(set(range(len(body["vertices"]))) - set(used))):
                    self.keep(_with_vertices(self.case, k, [w for w in range(len(self.case["bodies"][k]["vertices"])) if w != v]))

    def options(self):
        for k, body in enumerate(self.case["bodies"]):
            for name, value in PLAIN.items():
                case = self.changed()
                case["bodies"][k]["options"][name] = value
                self.keep(case)
            for name in FLAGS:
                if body.get(name):
                    case = self.changed()
                    del case["bodies"][k][name]
                    self.keep(case)


def _moves(step, k):
    """Does a step change where body k is?"""
    return step.get("body") == k and step["do"] in STEPS


def _differences(case, oracles, kind):
    """Of a case; one with threads is played several times, because they may meet or not."""
    found = []
    for _ in range(REPEATS if any("queries" in step for step in case["steps"]) else 1):
        try:
            found = play(case, oracles).differences
        except (IndexError, KeyError, ValueError):
            return []                                                   # a step refers to what was dropped
        if any(difference.kind == kind for difference in found):
            break
    return found


def _without_rows(case, k, names, first=0, last=0, keep=None):
    case = copy.deepcopy(case)
    for name in names:
        rows = case["steps"][k][name]
        case["steps"][k][name] = rows[:first] + rows[last:] if keep is None else [rows[row] for row in keep]
    return case


def _without_body(case, k):
    """Without a body and the steps that name it."""
    case = copy.deepcopy(case)
    del case["bodies"][k]

    def kept(step):
        if "queries" in step:
            return all(map(kept, step["queries"]))
        numbers = [(name, step[name]) for name in ("body", "a", "b", "target", "first", "second")
                   if type(step.get(name)) is int]
        for name, number in numbers:
            step[name] = number - (number > k)
        return all(number != k for _, number in numbers)
    case["steps"] = [step for step in case["steps"] if kept(step)]
    return case


def _with_vertices(case, k, used):
    """With these vertices of body k alone; indices that are gone fall away."""
    case = copy.deepcopy(case)
    body, place = case["bodies"][k], {v: at for at, v in enumerate(used)}
    count = len(body["vertices"])
    for name in POINTS:
        if name in body:
            body[name] = [body[name][v] for v in used]
    for name in ("key_poses", "shapes"):
        if name in body:
            body[name] = [[rows[v] for v in used] for rows in body[name]]
    body["faces"] = [[place.get(v, 0) for v in face] for face in body["faces"]]
    steps = []
    for step in case["steps"]:
        if step.get("body") == k:
            if step["do"] == "update" and len(step["vertices"]) == count:
                step["vertices"] = [step["vertices"][v] for v in used]
            elif step["do"] == "changed":
                rows = [(place[v], row) for v, row in zip(step["changed"], step["vertices"], strict=True) if v in place]
                step["changed"], step["vertices"] = [v for v, _ in rows], np.array([row for _, row in rows]).reshape(-1, 3).tolist()
            elif step["do"] == "refused":
                step["row"] = place.get(step["row"], 0)
        steps.append(step)
    case["steps"] = steps
    return case
