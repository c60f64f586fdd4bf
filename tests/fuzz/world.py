"""Bodies and a scene as a case has made them, and the same made afresh from where vertices are; `ask` puts one question to either."""
import dataclasses
import tempfile
from pathlib import Path

import numpy as np

import morphs
import pliant as pl
from fuzz.model import Model, rows_of

FRESH = {"volume": "aabb", "build": "sah", "arity": 8, "leaf": 8, "policy": "bottom_up"}
WORK = ("stats", "image", "tested", "counters")                         # fields that say how an answer was found
HOW = ("engine", "budget_ms", "first", "traversal")                     # options that change the work, or leave out a part of the answer


def body_of(table):
    """The body of a table."""
    faces, options = np.array(table["faces"], np.int32).reshape(-1, 3), dict(table["options"], weld=bool(table.get("weld")))
    if table["motion"] == "morph":
        return morphs.morph(table["form"], np.array(table["shapes"], np.float64), faces, **options)
    if table["motion"] == "blended":
        return pl.Body.blended(rows_of(table["vertices"]), faces, np.array(table["weights"], np.float64), **options)
    if "key_poses" in table:
        options["key_poses"] = np.array(table["key_poses"], np.float64)
    return (pl.Body.rigid if table["motion"] == "rigid" else pl.Body)(rows_of(table["vertices"]), faces, **options)


class World:
    """What has a history: bodies, the scene, and the models that follow them."""

    def __init__(self, case):
        self.models = [Model(table) for table in case["bodies"]]
        self.bodies = [body_of(table) for table in case["bodies"]]
        self.scene = pl.Scene()
        self.ids, self.groups, self.rules = {}, {}, set()               # of bodies in the scene, by number
        self._borrowed = {}

    def change(self, step):
        """Do a step that is no query. What should have been refused and was not is an `AssertionError`."""
        getattr(self, "_" + step["do"], self._update)(step)
        if "body" in step and step["do"] not in ("add", "remove"):
            self.models[step["body"]].apply(step)

    def _update(self, step):
        """update, changed, transform, control."""
        k, given = step["body"], {}
        if "transform" in step:
            given["transform"] = np.array(step["transform"], np.float64)
        if step["do"] == "control":
            given["vertices"] = np.array(step["values"], np.float64)
        elif "vertices" in step:
            given["vertices"] = rows_of(step["vertices"])
        if "changed" in step:
            given["changed"] = np.array(step["changed"], np.int64)
        if "key_pose" in step:
            given["key_pose"] = step["key_pose"]
        if step.get("copy") is False:
            given["copy"] = False
        self.bodies[k].update(**given)
        if "vertices" in given:
            self._give_back(k)
            if step.get("copy") is False:
                self._borrowed[k] = given["vertices"], given["vertices"].copy()

    def _give_back(self, k):
        """An array that was borrowed is as it was; from now on its owner may write to it."""
        if k in self._borrowed:
            array, before = self._borrowed.pop(k)
            assert np.array_equal(array, before), "an array that was borrowed by copy=False has changed"
            array[:] = 12345.0

    def _refused(self, step):
        k, how, row = step["body"], step["how"], step["row"]
        body, model = self.bodies[k], self.models[k]
        rows = model.local.copy()
        if how == "matrix":
            given = {"transform": np.diag([1.0, 1.0, 2.0, 1.0])}
        elif how == "index":
            given = {"vertices": rows[:1], "changed": [len(rows)]}
        elif how == "changed":
            some = np.unique([0, row])
            given = {"vertices": np.where(some[:, None] == row, [0.5, np.nan, 0.5], rows[some] + 1), "changed": some}
        elif model.motion == "free":
            rows[row, 1] = np.nan
            given = {"vertices": rows}
        elif model.motion == "rigid":
            given = {"transform": np.full((4, 4), np.nan)}
        elif model.motion == "morph":
            given = {"vertices": np.full(len(model.table["shapes"]) - (model.table["form"] != "targets"), np.nan)}
        else:
            given = {"vertices": np.full((len(model.table["weights"][0]), 3, 4), np.nan)}
        try:
            body.update(**given)
        except (pl.PliantError, ValueError, IndexError):
            return
        raise AssertionError(f"update accepted what it should refuse: {how}")

    def _reload(self, step):
        """Save and load; the loaded body takes the place of the other, also in the scene."""
        k = step["body"]
        if "key_poses" in self.models[k].table:                         # refused, by the documentation
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "body.pliant"
            self.bodies[k].save(path)
            self.bodies[k] = pl.Body.load(path)
        self._give_back(k)
        if k in self.ids:
            group = self.groups[k]
            self._remove(step)
            self._add(step | {"group": group})

    # --- the scene ---------------------------------------------------------------------------------------------------------------

    def _add(self, step):
        k = step["body"]
        if k not in self.ids:
            self.groups[k] = step.get("group")
            self.ids[k] = self.scene.add(self.bodies[k], group=self.groups[k])

    def _remove(self, step):
        k = step["body"]
        if k in self.ids:
            number = self.ids.pop(k)
            self.scene.remove(number)
            del self.groups[k]
            self.rules = {rule for rule in self.rules if number not in rule}

    def _rule(self, step):
        """Two ids, or names of groups; None if a body is not in the scene, or has no group."""
        names = [(self.groups if step["by_group"] else self.ids).get(step[end]) for end in ("first", "second")]
        return None if None in names else frozenset(names)

    def _ignore(self, step):
        rule = self._rule(step)
        if rule:
            self.scene.ignore(min(rule), max(rule))
            self.rules.add(rule)

    def _unignore(self, step):
        rule = self._rule(step)
        if rule:
            self.scene.unignore(min(rule), max(rule))
            self.rules.discard(rule)

    def ignored(self, i, j):
        """Does a rule name two bodies, by number?"""
        names = [{self.ids[k], self.groups[k]} - {None} for k in (i, j)]
        return any(frozenset((p, q)) in self.rules for p in names[0] for q in names[1])

    def ignored_self(self, i):
        return frozenset([self.ids[i]]) in self.rules


class Fresh:
    """The same state without a history. A body serves until the next update."""

    def __init__(self, world):
        self.world, self._known = world, {}

    @property
    def bodies(self):
        """Bodies, by number."""
        return self

    def __getitem__(self, k):
        model = self.world.models[k]
        if self._known.get(k, (None,))[0] != model.version:
            self._known[k] = model.version, pl.Body(model.world(), model.corners, **FRESH)
        return self._known[k][1]

    @property
    def scene(self):
        """A new scene; its ids are the ranks of those of the other."""
        scene, ids = pl.Scene(), {}
        for k in sorted(self.world.ids, key=self.world.ids.get):
            ids[self.world.ids[k]] = scene.add(pl.Body(self[k].vertices, self[k].faces, **FRESH), group=self.world.groups[k])
        for rule in self.world.rules:
            first, second = (ids.get(name, name) for name in (min(rule), max(rule)))
            if all(name in ids.values() or name in self.world.groups.values() for name in (first, second)):
                scene.ignore(first, second)                             # a rule may be left of a group whose bodies are gone
        return scene


# --- questions -------------------------------------------------------------------------------------------------------------------

def _pairs(name):
    return lambda world, step, **options: getattr(pl, name)(world.bodies[step["a"]], world.bodies[step["b"]], **options)


def _single(name):
    return lambda world, step, **options: getattr(pl, name)(world.bodies[step["a"]], **options)


def _target(world, step):
    return world.scene if step["target"] == "scene" else world.bodies[step["target"]]


def _rays(name):
    return lambda world, step, **options: getattr(pl, name)(_target(world, step), rows_of(step["origins"]), rows_of(step["directions"]),
                                                            **options)


QUERIES = {
    "collide": _pairs("collide"),
    "self_collide": _single("self_collide"),
    "distance": _pairs("distance"),
    "self_distance": _single("self_distance"),
    "within": _pairs("within"),
    "self_within": _single("self_within"),
    "closest": lambda world, step, **options: pl.closest(_target(world, step), rows_of(step["points"]), **options),
    "inside": lambda world, step: pl.inside(_target(world, step), rows_of(step["points"])),
    "cast": _rays("cast"),
    "occluded": _rays("occluded"),
    "cast_all": _rays("cast_all"),
    "frustum_cull": lambda world, step: pl.frustum_cull(_target(world, step), np.array(step["planes"], np.float64).reshape(-1, 4)),
    "vertices": lambda world, step: world.bodies[step["a"]].vertices,
    "scene_collide": lambda world, step, **options: world.scene.collide(**options),
    "scene_distance": lambda world, step: world.scene.distance(),
    "scene_within": lambda world, step, **options: world.scene.within(**options),
}
COMPUTED = "point", "normal"                                             # properties of results that are compared like fields
ARGUMENTS = ("do", "a", "b", "target", "origins", "directions", "planes")


def ask(world, step, whole=False):
    """{field: array} of the answer. `whole`: all of it, found in the plain way."""
    options = {key: value for key, value in step.items() if key not in ARGUMENTS and value is not None and not (whole and key in HOW)}
    if step["do"] in ("closest", "inside"):
        options.pop("points")
    if "traversal" in options:
        options["traversal"] = pl.Traversal(**options["traversal"])
    answer = QUERIES[step["do"]](world, step, **options)
    if isinstance(answer, np.ndarray):
        return {"values": answer}
    names = [field.name for field in dataclasses.fields(answer) if field.name not in WORK and not field.name.startswith("_")]
    names += [name for name in COMPUTED if hasattr(type(answer), name) and name not in names]
    fields = {name: getattr(answer, name) for name in names}
    return {name: value for name, value in fields.items() if value is not None}
