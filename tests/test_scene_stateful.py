"""Any order of everything that can be done to a scene, against a model that knows bodies and rules and nothing else."""

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import meshes
import pliant as pl
import poses
from pliant.broadphase import sweep_full
from scenes import assert_distance, assert_scene, assert_within, rows

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float64), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
CROSSED = np.vstack([TETRAHEDRON[0], TETRAHEDRON[0] + 0.125]), np.vstack([TETRAHEDRON[1], TETRAHEDRON[1] + 4])
SHAPES = {"tetrahedron": TETRAHEDRON, "crossed": CROSSED, "cube": meshes.cube(), "nothing": (np.zeros((0, 3)), np.zeros((0, 3), int))}
HUGE = [[-100.0] * 3, [100.0] * 3]

places = st.tuples(*[st.integers(0, 3).map(lambda k: k / 2)] * 3)
turns = st.one_of(st.sampled_from(poses.quarters()[:6]), st.integers(1, 9).map(lambda k: meshes.rotation([1, 2, k], k / 3)))
names = st.sampled_from(["red", "blue"])


class Scenes(RuleBasedStateMachine):
    """The model: which bodies have which ids and groups, and which rules hold."""

    @initialize(lists=st.booleans())
    def begin(self, lists):
        # sorted lists, or all compared
        self.brute, sweep_full.BRUTE_FORCE_SIZE = sweep_full.BRUTE_FORCE_SIZE, 2 if lists else sweep_full.BRUTE_FORCE_SIZE
        self.scene, self.members, self.outside, self.groups, self.rules, self.next = pl.Scene(), {}, [], {}, set(), 0
        self.known = set()                                              # groups that bodies were added with

    def teardown(self):
        if hasattr(self, "brute"):
            sweep_full.BRUTE_FORCE_SIZE = self.brute

    def ignored(self, i, j):
        """Does a rule name the two, by id or by group? Of a body and itself: by id, twice."""
        if i == j:
            return (i, i) in self.rules
        named = [{k, self.groups[k]} - {None} for k in (i, j)]
        return any((a in named[0] and b in named[1]) or (a in named[1] and b in named[0]) for a, b in self.rules)

    def one(self, data, of):
        return data.draw(st.sampled_from(sorted(of)))

    @rule(shape=st.sampled_from(sorted(SHAPES)), rigid=st.booleans(), group=st.none() | names, boxed=st.booleans(), at=places)
    def add(self, shape, rigid, group, boxed, at):
        body = (pl.Body.rigid if rigid else pl.Body)(SHAPES[shape][0] + np.array(at), SHAPES[shape][1], leaf=2)
        self.put(body, group, boxed)

    @precondition(lambda self: self.outside)
    @rule(group=st.none() | names)
    def add_again(self, group):
        self.put(self.outside.pop(0), group, False)

    def put(self, body, group, boxed):
        number = self.scene.add(body, group=group, box=HUGE if boxed else None)
        assert number == self.next
        self.next, self.members[number], self.groups[number] = self.next + 1, body, group
        self.known |= {group} - {None}

    @precondition(lambda self: self.members)
    @rule(data=st.data())
    def remove(self, data):
        number = self.one(data, self.members)
        self.scene.remove(number)
        self.outside.append(self.members.pop(number))
        del self.groups[number]
        self.rules = {pair for pair in self.rules if number not in pair}
        with pytest.raises(KeyError):
            self.scene.remove(number)

    @precondition(lambda self: self.members)
    @rule(data=st.data(), turn=turns, at=places, how=st.sampled_from(["matrix", "vertices", "both", "refused"]))
    def move(self, data, turn, at, how):
        body = self.members[self.one(data, self.members)]
        place = poses.matrix(turn, at)
        if how == "refused":
            with pytest.raises(pl.MeshError):
                body.update(transform=place * 2)
        elif body._rigid or how == "matrix":
            body.update(transform=place)
        else:
            body.update(body.vertices[::-1] % 2.0, transform=place if how == "both" else None)

    @precondition(lambda self: self.outside)
    @rule(at=places)
    def move_outside(self, at):
        self.outside[0].update(transform=poses.matrix(move=at))

    @precondition(lambda self: self.members)
    @rule(data=st.data(), by_group=st.tuples(st.booleans(), st.booleans()), ignore=st.booleans())
    def change_rules(self, data, by_group, ignore):
        a, b = (data.draw(names) if grouped else self.one(data, self.members) for grouped in by_group)
        if {name for name in (a, b) if isinstance(name, str)} - self.known:
            with pytest.raises(KeyError, match="group"):
                (self.scene.ignore if ignore else self.scene.unignore)(a, b)
        elif ignore:
            self.scene.ignore(a, b)
            self.rules.add((a, b))
        else:
            self.scene.unignore(a, b)
            self.rules -= {(a, b), (b, a)}

    @rule(self_pairs=st.booleans(), contacts=st.booleans())
    def ask(self, self_pairs, contacts):
        found = assert_scene(self.scene, self.ignored, self_pairs, contacts=contacts)
        again = self.scene.collide(self_pairs=self_pairs, contacts=contacts)
        assert rows(again) == rows(found)
        assert again.stats == pl.Stats()
        first = self.scene.collide(self_pairs=self_pairs, first=True)
        assert len(first) == min(len(found), 1)
        assert set(rows(first)) <= set(rows(found))
        each = self.scene.collide(self_pairs=self_pairs, first="each")
        assert each.bodies.tolist() == np.unique(found.bodies, axis=0).tolist()
        assert set(rows(each)) <= set(rows(found))

    @rule(tolerance=st.sampled_from([0.0, 0.125, 0.5, 4.0, 1e200]), self_pairs=st.booleans(), points=st.booleans())
    def ask_within(self, tolerance, self_pairs, points):
        assert_within(self.scene, tolerance, self.ignored, self_pairs, points)

    @rule()
    def ask_distance(self):
        assert_distance(self.scene, self.ignored)

    @invariant()
    def members_are_known(self):
        if hasattr(self, "scene"):
            assert list(self.scene) == list(self.members)
            assert len(self.scene) == len(self.members)
            assert all(self.scene[number] is body and body._observers == (self.scene,) for number, body in self.members.items())
            assert not any(body._observers for body in self.outside)


TestScenes = Scenes.TestCase
TestScenes.settings = settings(max_examples=2 if OFF else 60, stateful_step_count=15 if OFF else 30, deadline=None, derandomize=True,
                               database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
