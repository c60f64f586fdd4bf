"""`case_of(seed)`: a case as plain JSON data. Bodies are as `model.py` says; a step has a name, `do`, and what it takes.

    update, changed, transform, control, refused, reload      change a body (`body`: its number)
    add, remove, ignore, unignore                                 change the scene
    threads                                                   asks `queries` at the same time, each in a thread of its own
    all others                                                are queries: see `world.QUERIES`
"""
import json
from typing import Any

import numpy as np

import poses
from fuzz import meshes, probes
from fuzz.model import Model
from fuzz.options import MOTIONS, campaign_of, draw, generator, options, partial_options

Case = dict[str, Any]


def plain(value):
    """Arrays and NumPy numbers as lists and numbers of JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def text_of(case):
    """JSON in lines that can be read: a body and a step each."""
    head = {key: value for key, value in case.items() if key not in ("bodies", "steps")}
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    lines += [f'"{key}": [\n  ' + ",\n  ".join(json.dumps(item) for item in case[key]) + "\n]" for key in ("bodies", "steps")]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def case_of(seed: int) -> Case:
    """The case of a seed, always the same one."""
    return _Drawing(seed).case()


class _Drawing:
    """A case while it is drawn: it follows where vertices are, so that rays and points can be aimed."""

    def __init__(self, seed):
        self.seed, self.rng, self.campaign = seed, generator(seed), campaign_of(seed)
        self.exponent = self.draw([0, 0, 0, 0, 0, int(self.rng.integers(-40, 41)), int(self.rng.integers(-300, 301)),
                                   int(self.rng.integers(-1060, 980))])
        self.size = 2.0**self.exponent
        self.models, self.kinds, self.members, self.steps = [], [], [], []
        self.moved_last, self.focus = None, 0.6                         # (body, vertices) of the last partial update; chance to aim there

    def draw(self, values):
        return draw(self.rng, values)

    def chance(self, share):
        return self.rng.random() < share

    def case(self):
        partial = self.chance(0.2)
        bodies = [self.body(partial and k == 0) for k in range(self.draw([1, 1, 2, 2, 2, 3]))]
        self.models = [Model(plain(body)) for body in bodies]
        scene = self.chance(0.3)
        for k in range(len(bodies) if scene else 0):
            self.add(k)
        if partial:
            self.partial_updates(int(self.rng.integers(5, 25)))
        for _ in range(int(self.rng.integers(6, 16))):
            if self.chance(0.45):
                self.change(scene)
            else:
                self.query()
        self.query()
        return plain({"seed": self.seed, "size": self.size, "bodies": bodies, "steps": self.steps})

    def partial_updates(self, rounds):
        """A query that comes to all volumes, then a vertex or two of body 0 that move a little, then queries at that place. Volumes that do
        not follow show there, and hardly anywhere else."""
        for _ in range(rounds):
            self.moved_last = None
            self.steps.append(self.draw([self._closest, self._cast, self._self_collide])(most=80))
            self.move(0, few=True)
            self.focus = 1.0
            self.steps.append(self.draw([self._closest, self._closest, self._cast, self._occluded, self._self_within])(most=8))
            self.focus = 0.6

    # --- bodies ------------------------------------------------------------------------------------------------------------------

    def body(self, partial=False):
        kind, vertices, faces = ("soup", *meshes.scattered(self.rng)) if partial else meshes.mesh(self.rng)
        motion = "free" if partial else self.draw([*MOTIONS, "free", "free"])
        self.kinds.append(kind)
        with np.errstate(under="ignore"):
            table = {"motion": motion, "kind": kind, "vertices": vertices * self.size, "faces": faces, "weld": self.chance(0.2)}
        if motion == "free" and self.chance(0.15):
            table["key_poses"] = [table["vertices"], *(self.moved(table["vertices"], table["vertices"]) for _ in range(2))]
        if motion == "morph":
            table["form"] = self.draw(["targets", "base", "relative"])
            table["shapes"] = [table["vertices"], *(self.near(table["vertices"]) for _ in range(int(self.rng.integers(1, 4))))]
        if motion == "blended":
            table["weights"] = self.rng.multinomial(4, self.even(), len(vertices)) / 4
        table["options"] = options(self.rng, self.campaign, motion, "key_poses" in table, table.get("form"))
        if partial:
            table["options"] |= partial_options(self.rng, "key_poses" in table)
        return table

    def even(self):
        """Equal chances for one to three maps."""
        count = int(self.rng.integers(1, 4))
        return np.full(count, 1 / count)

    def moved(self, vertices, start):
        return meshes.moved(self.rng, vertices, start, self.size)[1]

    def near(self, vertices):
        """Another shape of about the same size."""
        return meshes.MOVES[self.draw(["shift", "jitter", "wave", "flat"])](self.rng, vertices, vertices, self.size)

    # --- changes -----------------------------------------------------------------------------------------------------------------

    def do(self, **step):
        self.steps.append(step)
        if "body" in step and step["do"] not in ("add", "remove"):
            self.models[step["body"]].apply(plain(step))

    def change(self, scene):
        kinds = ["move"] * 5 + ["transform", "transform", "refused", "reload"] + (["member", "rule"] if scene else [])
        k = int(self.rng.integers(len(self.models)))
        kind = self.draw(kinds)
        if kind == "member":
            self.do(do="remove", body=self.members.pop(self.members.index(k))) if k in self.members else self.add(k)
        elif kind == "rule":
            i, j = self.rng.integers(len(self.models), size=2)
            self.do(do=self.draw(["ignore", "unignore"]), first=int(i), second=int(j), by_group=self.chance(0.4))
        elif kind == "reload":
            self.do(do="reload", body=k)
        elif kind == "refused":
            self.refuse(k)
        elif kind == "transform" or self.models[k].motion == "rigid":
            self.do(do="transform", body=k, transform=self.matrix())
        elif self.models[k].motion == "free":
            self.move(k)
        else:
            self.control(k)

    def add(self, k):
        self.members.append(k)
        self.do(do="add", body=k, group=self.draw([None, "red", "blue"]))

    def matrix(self):
        turn = self.draw([np.eye(3), self.draw(poses.quarters()), poses.any_turn(self.rng)])
        return poses.matrix(turn, meshes.decimals(self.rng, 1, 20)[0] * self.size)[:self.draw([3, 4])]

    def maybe_matrix(self):
        return {"transform": self.matrix()} if self.chance(0.15) else {}

    def move(self, k, few=False):
        model = self.models[k]
        start, n = Model(model.table).local, len(model.local)
        made = meshes.nudged(self.rng, model.local, self.size) if few and self.chance(0.8) else self.moved(model.local, start)
        if few or self.chance(0.5):
            some = np.sort(self.rng.permutation(n)[:self.draw([1, 1, 2] if few else [1, 1, 2, max(1, n // 4), n])])
            self.moved_last = k, some
            if self.chance(0.3):
                some = some[::-1]
            self.do(do="changed", body=k, changed=some, vertices=made[some], **self.maybe_matrix())
            return
        key = {"key_pose": int(self.rng.integers(len(model.table["key_poses"])))} if "key_poses" in model.table and self.chance(0.5) else {}
        self.do(do="update", body=k, vertices=made, copy=self.chance(0.8), **key, **self.maybe_matrix())

    def control(self, k):
        table = self.models[k].table
        if table["motion"] == "blended":
            maps = np.tile(np.eye(3, 4), (len(table["weights"][0]), 1, 1))
            maps = maps + self.rng.integers(-5, 6, maps.shape) / 10 * (self.rng.random((len(maps), 1, 1)) < 0.7)
            with np.errstate(under="ignore"):
                maps[:, :, 3] *= self.size
            self.do(do="control", body=k, values=maps, **self.maybe_matrix())
            return
        count = len(table["shapes"])
        shares = self.rng.multinomial(8, np.full(count, 1 / count)) / 8
        if table["form"] != "targets":
            shares = self.rng.integers(-8, 9, count - 1) / 8
        self.do(do="control", body=k, values=shares, **self.maybe_matrix())

    def refuse(self, k):
        """An update that must raise: a row that is no number, an index that does not exist, a matrix that is not rigid."""
        model = self.models[k]
        how = self.draw(["matrix", "nan"] if model.motion != "free" else ["matrix", "nan", "changed", "index"])
        self.do(do="refused", body=k, how=how, row=int(self.rng.integers(len(model.local))))

    # --- queries -----------------------------------------------------------------------------------------------------------------

    def query(self):
        if self.chance(0.1):
            self.steps.append({"do": "threads", "queries": [self.asked() for _ in range(2)]})
        else:
            self.steps.append(self.asked())

    def asked(self):
        names = ["self_collide", "self_distance", "self_within", "closest", "closest", "inside", "cast", "cast", "cast", "occluded",
                 "cast_all", "frustum_cull", "vertices"]
        if len(self.models) > 1:
            names += ["collide"] * 4 + ["distance"] * 2 + ["within"] * 2
        if self.members:
            names += ["scene_collide"] * 4 + ["scene_distance", "scene_within"]
        return getattr(self, "_" + self.draw(names))()

    def target(self):
        """The number of a body, or "scene"; and the triangles to aim at."""
        if self.members and self.chance(0.4):
            return "scene", np.concatenate([self.models[k].triangles() for k in self.members])
        if self.moved_last and self.chance(self.focus):                 # at faces that have just moved
            k, some = self.moved_last
            model = self.models[k]
            around, points = np.isin(model.corners, some).any(axis=1), np.repeat(model.world()[some][:, None], 3, axis=1)
            return k, points if self.chance(0.5) else np.concatenate([model.triangles()[around], points])
        k = int(self.rng.integers(len(self.models)))
        return k, self.models[k].triangles()

    def pair(self):
        a, b = self.rng.permutation(len(self.models))[:2].tolist()
        return {"a": a, "b": b}

    def one(self):
        return {"a": self.moved_last[0] if self.moved_last and self.chance(self.focus) else int(self.rng.integers(len(self.models)))}

    def tolerance(self):
        return {"tolerance": float(self.draw([0.0, 0.1, 0.3, 1.0]) * self.size), "points": self.chance(0.5)}

    def modes(self):
        """Ways to ask for pairs."""
        budget = {"budget_ms": self.draw([0.0, 0.01, 0.1, 1e4])}
        return self.draw([{}, {}, {}, {"first": True}, {"contacts": True}, {"contacts": True}, budget])

    def _collide(self):
        step = {"do": "collide", **self.pair(), **self.modes()}
        if len(step) == 3:
            step |= self.draw([{}, {}, {"engine": "image"}, {"traversal": {"sat": "lite"}}, {"traversal": {"descend": "larger"}}])
        return step

    def _self_collide(self, most=None):
        step = {"do": "self_collide", **self.one(), "adjacent": self.draw(["exact", "exact", "ignore"]), **self.modes()}
        return step | ({"engine": "image"} if len(step) == 3 and self.chance(0.2) else {})

    def _distance(self):
        return {"do": "distance", **self.pair()}

    def _self_distance(self):
        return {"do": "self_distance", **self.one()}

    def _within(self):
        return {"do": "within", **self.pair(), **self.tolerance()}

    def _self_within(self, most=None):
        return {"do": "self_within", **self.one(), **self.tolerance()}

    def _closest(self, most=25):
        target, triangles = self.target()
        numbers = self.members if target == "scene" else [target]
        closed = all(self.kinds[k] in meshes.CLOSED and not self.models[k].table["weld"] for k in numbers)
        step = {"do": "closest", "target": target, "points": probes.points(self.rng, triangles, int(self.rng.integers(1, most)), self.size)}
        return step | {"signed": closed and self.chance(0.5), "max_distance": float(self.size) if self.chance(0.2) else None}

    def _inside(self, most=25):
        """Of a closed body: fractions of open ones depend on the tree."""
        closed = [k for k, model in enumerate(self.models) if self.kinds[k] in meshes.CLOSED and not model.table["weld"]]
        if not closed:
            return self._closest(most)
        k = self.draw(closed)
        points = probes.points(self.rng, self.models[k].triangles(), int(self.rng.integers(1, most)), self.size)
        return {"do": "inside", "target": k, "points": points}

    def rays(self, name, most=30):
        target, triangles = self.target()
        with np.errstate(all="ignore"):
            origins, directions = probes.rays(self.rng, triangles, int(self.rng.integers(1, most)), self.size)
        limits = {"t_min": self.draw([0.0, 0.5]), "t_max": self.draw([1.0, 3.0])} if self.chance(0.2) else {}
        return {"do": name, "target": target, "origins": origins, "directions": directions, **limits}

    def _cast(self, most=30):
        return self.rays("cast", most) | ({"traversal": {"rays": "stackless"}} if self.chance(0.15) else {})

    def _occluded(self, most=30):
        return self.rays("occluded", most)

    def _cast_all(self):
        return self.rays("cast_all", 20)

    def _frustum_cull(self):
        target, triangles = self.target()
        return {"do": "frustum_cull", "target": target,
                "planes": probes.planes(self.rng, triangles, int(self.rng.integers(1, 7)), self.size)}

    def _vertices(self):
        return {"do": "vertices", **self.one()}

    def _scene_collide(self):
        step = {"do": "scene_collide", "self_pairs": self.chance(0.5), **self.modes()}
        return step | ({"first": "each"} if len(step) == 2 and self.chance(0.2) else {})

    def _scene_distance(self):
        return {"do": "scene_distance"}

    def _scene_within(self):
        return {"do": "scene_within", "self_pairs": self.chance(0.5), **self.tolerance()}
