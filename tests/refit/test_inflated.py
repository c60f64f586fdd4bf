"""Inflated: volumes grow by what vertices move, so that they hold them at every moment; and those are fitted again that the rule says."""

from itertools import product

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_checks import assert_holds, assert_true, lanes, shape_of, vertices_under

import meshes
import pliant as pl
from pliant import shapes
from pliant.core.soa import lane, load_bounds
from pliant.refit import inflated
from pliant.refit.policy import LAST_FRAME
from pliant.tree.nodes import WIDTH_OF_ARITY
from pliant.volume.protocol import min_half_extent, size
from siblings import VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
SPHERE, FACES = shapes.icosphere(0 if OFF else 1)
# Every family with kernels for nodes of eight, which take seconds to compile each; all widths of two, and with the JIT off of all.
KINDS = [(name, arity) for name, arity in product(VOLUMES, WIDTH_OF_ARITY) if OFF or arity == 8 or name in ("aabb", "sphere")]


def policy(criterion="(A&B)|(B&C)", **limits):
    return {"name": "inflated", "criterion": criterion, **limits}


def moved(body, vertices):
    """Update, and let volumes follow as before a query; (volumes fitted, inflation (n, W) of all lanes)."""
    body.update(vertices)
    return followed(body)


def followed(body):
    shape = shape_of(body)
    count = shape.refit()
    return count, shape.tree_state.growth["lanes"]["inflation"][:-1]


def visit(body, rng, share=0.5):
    """As if queries had come to some of the nodes and leaves, and had measured distances."""
    shape = shape_of(body)
    for records in (shape.nodes, shape.leaves):
        records["stamp"][rng.random(len(records)) < share] = shape.frame
    shape.looseness[:] = rng.choice([-1, 0, 0.01, 0.1, 1, 10], len(shape.looseness))


# --- never short -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize(("volume", "arity"), KINDS)
def test_volumes_hold_their_vertices_after_any_walk(volume, arity):
    """Short and long steps, of all vertices or some, far from the origin, in bodies of any size; whatever is fitted in between."""
    rng, fitted = np.random.default_rng(81), 0
    for size_, origin in ((1.0, None), (1e-3, [700.0, -3e4, 0.1]), (1e-25, None))[:1 if OFF else 3]:
        body = pl.Body(SPHERE * size_, FACES, volume=volume, arity=arity, leaf=2, policy=policy(p_max=0.5), origin=origin)
        now, counts = SPHERE * size_, []
        for step in (0, 1e-9, 1e-3, 0.3, 3e-7, 0, 0.05)[:4 if OFF else 7]:
            some = rng.random(len(now)) < (1 if step == 0.3 else rng.choice([0.1, 1]))
            now = now + rng.standard_normal(now.shape) * step * size_ * some[:, None]
            counts.append(moved(body, now)[0])
            assert_holds(body)
            visit(body, rng)
        assert counts[0] == lanes(body) and 0 in counts
        fitted += 0 < counts[3] < lanes(body)
        nodes, tree = shape_of(body).nodes, shape_of(body).tree
        for i, k in vertices_under(tree):
            if i >= 0 and tree.child[i, k] >= 0:
                assert load_bounds(nodes, int(tree.child[i, k])) == lane(nodes, i, k)
    assert fitted


WALKS = st.lists(st.tuples(st.sets(st.integers(0, 5)), st.sampled_from([2.0**-30, 2.0**-24, 2.0**-20, 0.01, 1, 1000]), st.integers(0, 9)),
                 min_size=1, max_size=6)


@pytest.mark.formulas
@settings(max_examples=5 if OFF else 60, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(["aabb", "sphere", "rss"]), st.sampled_from(list(inflated.CRITERIA)), WALKS, st.sampled_from([0, 2.0**-20, 1e8]))
def test_any_walk_of_a_few_triangles(volume, criterion, walk, offset):
    """On a lattice or off it, flat or a point at first, and again and again across a power of two, where float32 becomes coarser."""
    faces, now = [[0, 1, 2], [2, 3, 4], [5, 5, 5], [0, 4, 5]], np.zeros((6, 3)) + offset
    body = pl.Body(now, faces, volume=volume, leaf=1, policy=policy(criterion), origin=[0, 0, 0])
    for some, step, seed in walk:
        rng = np.random.default_rng(seed)
        visit(body, rng) if shape_of(body).tree_state is not None else None
        now = now.copy()
        now[sorted(some)] += np.round(rng.standard_normal((len(some), 3)) * 4) / 3 * step
        moved(body, now)
        assert_holds(body)


# --- the rule --------------------------------------------------------------------------------------------------------------------

class Reference:
    """What should have happened to every lane, and to the root as (−1, 0), in plain words and float64."""

    def __init__(self, body, criterion, p_max, k, gamma):
        self.body, self.limits = body, (p_max, k, gamma)
        self.rule = lambda a, b, c: {"A": a, "B": b, "A&B": a and b, "A|B": a or b, "B&C": b and c, "A&B&C": a and b and c,
                                     "A|(B&C)": a or (b and c), "(A&B)|(B&C)": (a and b) or (b and c), "all": True,
                                     "none": False}[criterion]
        self.tree = shape_of(body).tree
        self.under, self.before = vertices_under(self.tree), self.rows()
        self.inflation, self.anchors = dict.fromkeys(self.under, 0.0), dict.fromkeys(self.under, self.before)

    def rows(self):
        return shape_of(self.body).points.reshape(-1, 4)[:, :3].astype(np.float64)

    def child(self, i, k):
        return 0 if i < 0 else int(self.tree.child[i, k])

    def look(self):
        """Where queries have been: kept for `unfit`, because the next scan forgets it."""
        shape = shape_of(self.body)
        self.visited = {(i, k): i < 0 or (shape.leaves["stamp"][~c] if c < 0 else shape.nodes["stamp"][c]) == shape.frame
                        for i, k in self.under for c in [self.child(i, k)]}
        self.looseness = shape.looseness.tolist()

    def unfit(self):
        """After an update: the lanes that are fitted; all others have grown."""
        now, found, (p_max, k_, gamma), growth = self.rows(), set(), self.limits, shape_of(self.body).tree_state.growth["lanes"]
        for (i, k), some in self.under.items():
            child = self.child(i, k)
            if child < 0:
                self.inflation[i, k] = np.linalg.norm(now[some] - self.anchors[i, k][some], axis=1).max()
            else:
                self.inflation[i, k] += np.linalg.norm(now[some] - self.before[some], axis=1).max()
            grown, thick = self.inflation[i, k], float(growth["min_extent"][i, k])
            a, c = grown >= p_max * thick, child >= 0 and grown >= gamma * thick and self.looseness[child] > k_ * grown
            if grown > 0 and self.rule(a, bool(self.visited[i, k]), c):
                found.add((i, k))
                self.inflation[i, k], self.anchors[i, k] = 0.0, now
        self.before = now
        return found


@pytest.mark.formulas
@pytest.mark.parametrize("criterion", inflated.CRITERIA)
def test_each_criterion_fits_exactly_what_it_should(criterion):
    """Against a slow reference, lane by lane; all but the trivial rules fit some and leave some."""
    rng, limits, shares = np.random.default_rng(82), {"p_max": 0.7, "k": 0.5, "gamma": 0.3}, []
    vertices = SPHERE * [1, 1, 0.5]
    body, now = pl.Body(vertices, FACES, leaf=1, policy=policy(criterion, **limits)), vertices
    moved(body, now)
    reference = Reference(body, criterion, **limits)
    for _ in range(3 if OFF else 12):
        visit(body, rng)
        reference.look()
        now = now + rng.standard_normal(now.shape) * 0.05
        body.update(now)
        expected = reference.unfit()
        count, _ = followed(body)
        growth = shape_of(body).tree_state.growth["lanes"]
        for (i, k), grown in reference.inflation.items():
            assert growth["inflation"][i, k] == pytest.approx(grown, rel=1e-4, abs=1e-6)
            assert (growth["inflation"][i, k] == 0) == ((i, k) in expected)
            assert growth["inflation"][i, k] >= grown * (1 - 1e-12)
        assert count == len(expected - {(-1, 0)})
        assert (shape_of(body).looseness == -1).all()
        shares.append(count / lanes(body))
        assert_holds(body)
    assert {"all": min(shares) == 1, "none": max(shares) == 0}.get(criterion, 0 < sum(shares) < len(shares))


@pytest.mark.formulas
def test_how_thick_a_volume_is_counted():
    """Flat ones have a share of their size: neither is everything unfit at once, nor nothing ever."""
    sheet, faces = shapes.sheet(4 if OFF else 8, 4 if OFF else 8)
    sheet = sheet * [1, 1, 0]
    for volume in ("aabb", "rss"):
        body = pl.Body(sheet, faces, volume=volume, leaf=4, policy=policy("A", p_max=1))
        moved(body, sheet)
        kept, tree = shape_of(body).tree_state, shape_of(body).tree
        for i, k in vertices_under(tree):
            made = load_bounds(kept.originals, 0) if i < 0 else lane(kept.originals, i, k)
            assert kept.growth["lanes"]["min_extent"][i, k] == max(min_half_extent(made), size(made) / 32) > 0
        assert moved(body, sheet + np.array([0, 0, 1e-5]))[0] == 0
        assert moved(body, sheet + np.array([0, 0, 1.0]))[0] == lanes(body)
    point = pl.Body(np.zeros((3, 3)), [[0, 1, 2]], policy=policy("A"))
    assert [moved(point, np.zeros((3, 3)) + x)[0] for x in (0, 0, 1e-9, 1e-9)] == [1, 0, 1, 0]


# --- displacements ---------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_oscillating_vertices_do_not_inflate_leaves():
    """What comes back is as it was fitted, to the bit; volumes above know only that much has moved."""
    body, rng = pl.Body(SPHERE, FACES, leaf=2, policy=policy("none")), np.random.default_rng(83)
    moved(body, SPHERE)
    shape = shape_of(body)
    first, away = shape.nodes["lanes"].copy(), rng.standard_normal(SPHERE.shape) * 0.1
    leaf = (shape.tree.child < 0) & (np.arange(shape.tree.width) < shape.tree.count[:, None])
    farthest, above = np.linalg.norm(away, axis=1).max(), []
    for _ in range(2 if OFF else 10):
        _, inflation = moved(body, SPHERE + away)
        assert 0 < inflation[leaf].min() and inflation[leaf].max() <= farthest * 1.00001
        _, inflation = moved(body, SPHERE)
        assert (inflation[leaf] == 0).all()
        above.append(shape.tree_state.growth["lanes"]["inflation"][-1, 0])
        assert_holds(body)
    assert above[-1] == pytest.approx(2 * farthest * len(above), rel=1e-4)
    for name in first.dtype.names:
        assert np.array_equal(shape.nodes["lanes"][name][leaf], first[name][leaf])


@pytest.mark.formulas
def test_vectors_do_not_cancel():
    """One vertex of a triangle goes one way, then another the other way: each is as far away as it is."""
    body, now = pl.Body(np.eye(3), [[0, 1, 2]], policy=policy("none")), np.eye(3)
    moved(body, now)
    for v, way in ((0, 0.5), (1, -0.5)):
        now = now + way * np.eye(3)[v][:, None] * [1, 0, 0]
        _, inflation = moved(body, now)
        assert inflation[0, 0] == pytest.approx(0.5, rel=1e-5)
        assert inflation[0, 0] >= 0.5
    assert_holds(body)
    assert shape_of(body).tree_state.growth["lanes"]["inflation"][-1, 0] == pytest.approx(1, rel=1e-5)  # the root has grown twice


# --- in bodies -------------------------------------------------------------------------------------------------------------------

def needle(at):
    """A triangle that touches a unit sphere from outside, in one corner of it."""
    at = np.array(at) / np.linalg.norm(at)
    return pl.Body(np.stack([at * 0.7, at * 1.5 + [0, 0, 0.01], at * 1.5]), [[0, 1, 2]])


@pytest.mark.formulas
def test_queries_say_what_is_fitted():
    """By rule B what they came to, those of one frame together, and however many updates come between them and the next; no query waits."""
    body, needles = pl.Body(SPHERE, FACES, leaf=1, arity=2, policy=policy("B")), [needle([1, 0, 0.1]), needle([-1, 0, 0.1])]
    pl.collide(body, needles[0])
    shape, came = shape_of(body), []
    for asked, updates in ((needles[:1], 1), (needles[1:], 3), (needles, 2)):
        for _ in range(updates):
            body.update(body.vertices * 0.999)
        counts = [pl.collide(body, each).stats.n_u for each in asked]
        assert not any(counts[1:])
        came.append(counts[0])
        visited = int((shape.leaves["stamp"] == shape.frame).sum() + (shape.nodes["stamp"][1:] == shape.frame).sum())
        assert 0 < visited < lanes(body)
        body.update(body.vertices * 0.999)
        assert followed(body)[0] == visited
        pl.collide(body, needles[0])
    assert all(came)


@pytest.mark.formulas
def test_how_many_volumes_are_set():
    body, other = pl.Body(SPHERE, FACES, leaf=2, policy=policy("all")), pl.Body(SPHERE * 0.9 + 0.1, FACES)
    assert pl.collide(body, other).stats.n_u == lanes(body) + lanes(other)
    for criterion, expected in (("all", lanes(body)), ("none", 0)):
        body = pl.Body(SPHERE, FACES, leaf=2, policy=policy(criterion))
        pl.collide(body, other)
        for scale in (0.98, 1.01):
            body.update(SPHERE * scale)
            assert pl.collide(body, other).stats.n_u == expected
            assert pl.collide(body, other).stats.n_u == 0               # nothing has moved
            meshes.assert_right(body, other)
        body.update(SPHERE * scale)
        assert pl.collide(body, other).stats.n_u == 0                   # what has not grown is as it was fitted


@pytest.mark.formulas
def test_a_body_that_leaves_its_origin_is_fitted_anew():
    """Nothing has grown, although all rows are other ones; and the same where the scale changes."""
    body = pl.Body(SPHERE, FACES, leaf=2, policy=policy("none"))
    moved(body, SPHERE)
    for vertices, fitted in ((SPHERE + 0.1, 0), (SPHERE + 1e3, 1), (SPHERE + 1e3 + 0.1, 0), (SPHERE * 1e-20, 1), (SPHERE * 1e30, 1)):
        count, inflation = moved(body, vertices)
        assert count == fitted * lanes(body)
        assert (inflation.max() == 0) == fitted
        assert_holds(body)


@pytest.mark.formulas
def test_single_vertices_that_move():
    """`changed=` goes the same way: what is not above them does not grow."""
    rng, body, now = np.random.default_rng(84), pl.Body(SPHERE, FACES, leaf=2, policy=policy("none")), SPHERE.copy()
    other = pl.Body(SPHERE * 0.9 + [0.5, 0.3, 0.1], FACES)
    moved(body, now)
    for _ in range(2 if OFF else 6):
        some = rng.choice(len(now), 2, replace=False)
        now[some] += rng.standard_normal((2, 3)) * 0.2
        body.update(now[some], changed=some)
        before = shape_of(body).tree_state.growth["lanes"]["inflation"].copy()
        pl.collide(body, other)
        grown = shape_of(body).tree_state.growth["lanes"]["inflation"] != before
        above = {place for place, under in vertices_under(shape_of(body).tree).items() if np.isin(some, under).any()}
        inner = {(i, k) for i, k in above if i < 0 or shape_of(body).tree.child[i, k] >= 0}  # leaves may have been as far away
        assert inner <= {(i - 1, k) for i, k in np.argwhere(np.roll(grown, 1, 0)).tolist()} <= above
        meshes.assert_right(body, other)
        assert_true(body)
        assert_holds(body)
    assert shape_of(body).paths is None


@pytest.mark.formulas
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_scan_starts_afresh(late, monkeypatch):
    body, real = pl.Body(SPHERE, FACES, leaf=2, policy=policy("none")), inflated.refit_scan
    moved(body, SPHERE)

    def stop(*args):
        monkeypatch.setattr(inflated, "refit_scan", real)
        if late:
            real(*args)
        raise KeyboardInterrupt
    body.update(SPHERE * 1.5)
    monkeypatch.setattr(inflated, "refit_scan", stop)
    with pytest.raises(KeyboardInterrupt):
        shape_of(body).refit()
    assert shape_of(body).tree_state is None and shape_of(body).looseness is None
    count, inflation = followed(body)
    assert count == lanes(body) and not inflation.any()
    assert_holds(body)


@pytest.mark.formulas
def test_frames_that_begin_again():
    """After 2**31 updates stamps are reset: nobody has been anywhere, and all goes on."""
    body, other = pl.Body(SPHERE, FACES, leaf=2, policy=policy("B")), pl.Body(SPHERE * 0.9 + 0.1, FACES)
    shape_of(body).frame = LAST_FRAME - 2
    frames = []
    for k in range(6):
        body.update(SPHERE * (1 + k / 50))
        meshes.assert_right(body, other)
        frames.append(shape_of(body).frame)
        assert_holds(body)
    assert frames == [LAST_FRAME - 1, LAST_FRAME, 0, 1, 2, 3]


# --- settings --------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize(("given", "error", "message"), [
    (policy("C"), ValueError, "policy: criterion: expected one of 'A', 'B'"), (policy(None), ValueError, "policy: criterion"),
    (policy(p_max=-0.1), ValueError, "policy: p_max: expected a finite number from 0 up, got -0.1"),
    (policy(p_max=float("nan")), ValueError, "policy: p_max"),
    (policy(p_max=True), TypeError, "policy: p_max: expected a number, got bool"),
    (policy(p_max="2"), TypeError, "policy: p_max"), (policy(k=1.01), ValueError, "policy: k: expected a number from 0 to 1, got 1.01"),
    (policy(k=-1), ValueError, "policy: k"), (policy(k=float("nan")), ValueError, "policy: k"), (policy(k=None), TypeError, "policy: k"),
    (policy(gamma=float("inf")), ValueError, "policy: gamma"), (policy(gamma=-1), ValueError, "policy: gamma"),
    (policy(how="smallest"), ValueError, "policy: how"), (policy(how="ritter"), ValueError, "how='ritter' is not for volume='aabb'"),
    (policy(limit=2), ValueError, "'inflated' has no option 'limit'; it has criterion, p_max, k, gamma, how")], ids=str)
def test_what_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        pl.Body(np.eye(3), [[0, 1, 2]], policy=given)


@pytest.mark.formulas
def test_settings_are_kept(tmp_path):
    usual = pl.Body(np.eye(3), [[0, 1, 2]], policy="inflated")._options.settings
    assert usual == {name: default for name, (default, _) in inflated.SETTINGS.items()}
    assert usual["criterion"] == "(A&B)|(B&C)"
    body = pl.Body(SPHERE, FACES, volume="sphere", policy=policy("A|B", p_max=np.float32(2), k=1, gamma=0, how="ritter"))
    assert body._options.settings == {"criterion": "A|B", "p_max": 2.0, "k": 1.0, "gamma": 0.0, "how": "ritter"}
    body.save(tmp_path / "body.pliant")
    assert pl.Body.load(tmp_path / "body.pliant")._options == body._options
