"""The elastic solver: its constants, what it conserves, that it stays at rest and comes back to it, and that no step is too large."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
from controls import blended, lattice, turns
from pliant.errors import MeshError
from pliant.motion import elastic
from pliant.motion.polar import rotations

pytestmark = pytest.mark.formulas

SHAPES = {"cube": (3, 3, 3), "bar": (6, 2, 2), "sheet": (4, 4, 1), "rope": (6, 1, 1), "pair": (2, 1, 1), "one": (1, 1, 1)}
STEP = 0.1


def often(examples):
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)


def body(shape="cube", radius=1.8, **options):
    """Nodes 0.1 apart, without gravity unless that is asked for."""
    return pl.Elastic(pl.MeshlessNodes(lattice(*SHAPES[shape], step=STEP), radius * STEP), **{"gravity": None} | options)


def kinetic(solid):
    return 0.5 * float((solid.masses[:, None] * solid.velocities**2).sum())


def momentum(solid):
    return solid.masses @ solid.velocities


# --- rotations -------------------------------------------------------------------------------------------------------------------

@often(100)
@given(turns(), turns(), st.lists(st.floats(0, 3), min_size=3, max_size=3), st.booleans())
def test_rotations_are_the_nearest(left, right, stretch, mirrored):
    """Of A = U Σ Vᵀ: U Vᵀ, turned about the smallest stretch where A mirrors; no rotation is nearer."""
    stretch = np.sort(stretch)[::-1]
    signed = stretch * (1, 1, -1 if mirrored else 1)
    matrix = left @ np.diag(signed) @ right.T
    (found,) = rotations(matrix[None])
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    assert math.isclose(np.linalg.det(found), 1, abs_tol=1e-12)
    assert np.sum(found * matrix) >= signed.sum() - 1e-12 * (1 + stretch[0])
    if stretch[1] + signed[2] > 0.1:                                    # there is only one
        np.testing.assert_allclose(found, left @ right.T, atol=1e-8)


@often(40)
@given(turns(), turns(), st.floats(0.1, 3), st.floats(0.1, 3))
def test_a_flat_matrix_turns_its_third_direction_along(left, right, first, second):
    (found,) = rotations((left @ np.diag([first, second, 0]) @ right.T)[None], np.array([True]))
    np.testing.assert_allclose(found, left @ right.T, atol=1e-9)


def test_rotations_of_all_kinds_at_once():
    """Those that go through Newton's iteration and those that do not, mixed; and none."""
    matrices = np.random.default_rng(0).normal(size=(200, 3, 3))
    matrices[::7] = 0
    matrices[::5, 2] = matrices[::5, 1]
    found = rotations(matrices)
    np.testing.assert_allclose(np.linalg.det(found), 1, atol=1e-12)
    best = np.linalg.svd(matrices, compute_uv=False) * np.stack([np.ones(200), np.ones(200), np.sign(np.linalg.det(matrices))], axis=1)
    np.testing.assert_allclose((found * matrices).sum(axis=(1, 2)), best.sum(axis=1), atol=1e-9)
    assert rotations(np.empty((0, 3, 3))).shape == (0, 3, 3)


# --- constants -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("radius", [1.5, 1.8, 2.5])
@pytest.mark.parametrize("counts", [(12, 4, 4), (20, 3, 3)], ids=str)
def test_a_bar_lengthens_as_its_modulus_says(counts, radius):
    """Force F, length L, cross-section A: by F L / (Y A). In the middle to 0.02 %; the ends are stiffer, as if the bar were up to 0.8 of
    the distance of nodes shorter. It gets no thinner."""
    young, strain = 1e4, 0.01
    rest = lattice(*counts, step=STEP)
    area, length = counts[1] * counts[2] * STEP**2, (counts[0] - 1) * STEP
    root, end = np.flatnonzero(rest[:, 0] == 0), np.flatnonzero(rest[:, 0] > length - 0.5 * STEP)
    bar = pl.Elastic(pl.MeshlessNodes(rest, radius * STEP), young=young, gravity=None, pinned=root)
    forces = np.zeros_like(rest)
    forces[end, 0] = young * strain * area / len(end)
    for _ in range(20):
        bar.step(10.0, forces=forces)
    moved = bar.positions - rest
    longer = moved[end, 0].mean()
    assert strain * (length - 0.8 * STEP) < longer < strain * length
    middle = np.abs(rest[:, 0] - length / 2) < 1.6 * STEP
    assert math.isclose(np.polyfit(rest[middle, 0], moved[middle, 0], 1)[0], strain, rel_tol=2e-4)
    assert np.abs(moved[:, 1:]).max() < 1e-3 * longer * len(rest[end])
    assert math.isclose(bar.energy(), 0.5 * forces[end, 0].sum() * longer, rel_tol=1e-4)  # the work that was done


def test_volumes_and_masses():
    solid = body("bar", density=7.0)
    np.testing.assert_allclose(solid.volumes, STEP**3)
    np.testing.assert_allclose(solid.masses, 7 * STEP**3)
    assert math.isclose(body(volume=2.0).volumes.sum(), 2.0)
    np.testing.assert_allclose(body("pair", volume=[1.0, 3.0]).volumes, [1.0, 3.0])
    np.testing.assert_allclose(body("one", radius=2.0).volumes, [(2 * STEP) ** 3])


def test_nodes_at_one_place():
    """Have a volume, and a mass, all the same, which is hardly any."""
    rest = np.concatenate([lattice(3, 3, 3), [[0.5, 0.5, 0.5]] * 6])
    solid = pl.Elastic(pl.MeshlessNodes(rest, 1.8), pinned=[0])
    assert 1e-7 < solid.volumes.min() < 1e-5
    for _ in range(5):
        solid.step(0.1)
    assert np.abs(solid.positions).max() < 10


def test_energy_is_that_of_a_stretched_block():
    """½ Y V ε² for a stretch of all nodes: boundary nodes count as those inside do."""
    solid = body("cube", young=3e4)
    solid.place(lattice(3, 3, 3, step=STEP) * [1.02, 1, 1])
    assert math.isclose(solid.energy(), 0.5 * 3e4 * 27 * STEP**3 * 0.02**2, rel_tol=1e-9)


def test_far_away_nothing_is_lost():
    rest = lattice(3, 3, 3, step=0.125)
    solid = pl.Elastic(pl.MeshlessNodes(rest, 0.25), gravity=None)
    solid.place(rest + 2.0**30)
    assert solid.energy() < 1e-24
    solid.step(0.1)
    np.testing.assert_array_equal(solid.positions, rest + 2.0**30)


@often(40)
@given(st.sampled_from(sorted(SHAPES)), turns(), st.integers(0, 99))
def test_rotations_and_shifts_make_no_difference(shape, turn, seed):
    rng, solid, other = np.random.default_rng(seed), body(shape), body(shape)
    rest = solid.positions
    solid.place(rest @ turn.T + [1, 2, 3])
    assert solid.energy() < 1e-20
    now, speeds = rest + rng.normal(size=rest.shape) * 0.02, rng.normal(size=rest.shape)
    solid.place(now, speeds)
    other.place(now @ turn.T + [1, 2, 3], speeds @ turn.T)
    assert math.isclose(solid.energy(), other.energy(), rel_tol=1e-6, abs_tol=1e-12)
    for _ in range(3):
        solid.step(0.01)
        other.step(0.01)
    np.testing.assert_allclose(other.positions, solid.positions @ turn.T + [1, 2, 3], atol=1e-8)


# --- motion ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dt", [1e-100, 1e-3, 1.0, 1e8, 1e100])
def test_a_body_at_rest_stays(shape, dt):
    solid = body(shape)
    rest = solid.positions
    for _ in range(5):
        solid.step(dt)
    np.testing.assert_allclose(solid.positions, rest, rtol=0, atol=1e-13)
    assert solid.energy() < 1e-20


@often(40)
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 99), st.sampled_from([1e-4, 0.01, 1.0, 1e3]), st.integers(1, 6), st.floats(2, 8))
def test_large_steps_do_not_blow_up(shape, seed, dt, iterations, stiff):
    """However far from rest and fast: energy goes down, momentum stays. With one iteration energy cannot rise in any step."""
    rng, solid = np.random.default_rng(seed), body(shape, young=10.0**stiff)
    rest = solid.positions
    solid.place(rest + rng.normal(size=rest.shape) * rng.choice([0.0, 0.01, 0.3]), rng.normal(size=rest.shape) * rng.choice([0.1, 10.0]))
    start, energy = momentum(solid), solid.energy() + kinetic(solid)
    for _ in range(12):
        before = solid.energy() + kinetic(solid)
        solid.step(dt, iterations=iterations)
        after = solid.energy() + kinetic(solid)
        assert after <= (before if iterations == 1 else energy) * (1 + 1e-9)
    np.testing.assert_allclose(momentum(solid), start, atol=1e-9 * np.abs(start).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_free_fall_is_that_of_implicit_steps(shape):
    """v = g t, and nothing is deformed."""
    solid, dt = body(shape, gravity=(0, 0, -10)), 0.01
    rest = solid.positions
    for _ in range(10):
        solid.step(dt)
    np.testing.assert_allclose(solid.velocities, np.tile([0, 0, -1.0], (len(rest), 1)), atol=1e-9)
    np.testing.assert_allclose(solid.positions - rest, np.tile([0, 0, -10 * dt**2 * 55], (len(rest), 1)), atol=1e-12)
    assert solid.energy() < 1e-20


def test_damping_takes_velocity_away():
    solid = body(damping=2.0)
    solid.place(solid.positions, np.tile([3.0, 0, 0], (27, 1)))
    for _ in range(10):
        solid.step(0.05)
    np.testing.assert_allclose(solid.velocities, np.tile([3 * math.exp(-1), 0, 0], (27, 1)), atol=1e-9)


@pytest.mark.parametrize("how", [[1, 1, -1], [1, 1, -0.4], [1, 1, 0], [1, 0, 0], [0, 0, 0], "noise"], ids=str)
def test_inversion_recovers(how):
    """Mirrored, flattened, collapsed to a line or a point, torn to pieces: the body finds its shape again."""
    solid = body(young=1e5)
    rest = solid.positions
    solid.place(np.random.default_rng(5).normal(size=rest.shape) * STEP if how == "noise" else rest * how)
    start = solid.energy()
    for _ in range(150):
        solid.step(0.05)
    assert solid.energy() < 1e-12 * start
    np.testing.assert_allclose(np.linalg.det(solid.nodes.gradients(solid.positions)), 1, atol=1e-6)


def test_pieces_that_nothing_joins():
    """Each keeps its own momentum, also in steps that are large; and what is pinned holds only its own."""
    rest = np.concatenate([lattice(3, 2, 2, step=STEP), lattice(3, 2, 2, step=STEP) + 50])
    two = pl.Elastic(pl.MeshlessNodes(rest, 1.8 * STEP), gravity=None)
    speeds = np.zeros_like(rest)
    speeds[:12, 0], speeds[12:, 1] = 1.0, -2.0
    two.place(rest, speeds)
    for dt in (0.01, 1.0, 1e5):
        two.step(dt)
        np.testing.assert_allclose(two.velocities, speeds, atol=1e-9)
    held = pl.Elastic(pl.MeshlessNodes(rest, 1.8 * STEP), pinned=[0, 1, 2, 3])
    for _ in range(5):
        held.step(0.1)
    np.testing.assert_allclose(held.velocities[12:], np.tile([0, 0, -0.5 * 9.81], (12, 1)), atol=1e-9)
    assert np.abs(held.positions[:12] - rest[:12]).max() < 0.1


def test_pinned_nodes_are_where_they_are_put():
    solid = body("bar", pinned=[1, 0, 1], young=1e3)
    rest = solid.positions
    assert solid.pinned.tolist() == [0, 1]
    solid.move([1], [[0, 1, 0.5]])
    np.testing.assert_array_equal(solid.positions, rest)                # until the next step
    solid.step(0.1)
    np.testing.assert_array_equal(solid.positions[[0, 1]], [rest[0], [0, 1, 0.5]])
    np.testing.assert_allclose(solid.velocities[1], ([0, 1, 0.5] - rest[1]) / 0.1)
    assert np.abs(solid.positions[2:] - rest[2:]).max() > 0.05          # the others follow
    pulled = solid.energy()
    solid.move([0, 1], rest[[0, 1]])
    for _ in range(100):
        solid.step(0.2)
    assert solid.energy() < 1e-6 * pulled
    everything = body("pair", pinned=[0, 1], gravity=(0, 0, -1))
    everything.step(1.0)
    np.testing.assert_array_equal(everything.positions, lattice(2, 1, 1, step=STEP))


def test_maps_are_those_of_the_nodes():
    """And with flat nodes, a sheet or a rope, the directions across turn along: a surface around them keeps its thickness."""
    rng = np.random.default_rng(1)
    solid = body()
    solid.place(solid.positions + rng.normal(size=(27, 3)) * 0.02)
    np.testing.assert_array_equal(solid.maps(), solid.nodes.maps(solid.positions))
    turn = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    sheet = body("sheet")
    rest = sheet.positions
    sheet.place(rest @ turn.T)
    vertices = rest + rng.normal(size=rest.shape) * STEP
    np.testing.assert_allclose(blended(sheet.nodes.weights(vertices), sheet.maps(), vertices), vertices @ turn.T, atol=1e-12)
    rope = body("rope")
    rope.place(rope.positions @ turn)
    np.testing.assert_allclose(np.linalg.det(rope.maps()[:, :, :3]), 1, atol=1e-9)


def test_a_refused_step_changes_nothing():
    solid = body()
    before = solid.positions, solid.velocities
    for call in (lambda: solid.step(1e200, forces=np.full((27, 3), 1e299)), lambda: solid.step(0.0), lambda: solid.step(0.1, iterations=0)):
        with pytest.raises(ValueError, match=r"dt|iterations"):
            call()
        assert [solid.positions.tobytes(), solid.velocities.tobytes()] == [each.tobytes() for each in before]


BAD = {
    "nodes": (lambda: pl.Elastic(lattice(2, 2, 2)), TypeError, "nodes: expected MeshlessNodes, got ndarray"),
    "young": (lambda: body(young=0), ValueError, "young: expected a positive number, got 0"),
    "density": (lambda: body(density=-1.0), ValueError, "density: expected a positive number, got -1.0"),
    "damping": (lambda: body(damping=-1.0), ValueError, "damping: expected a finite number from 0"),
    "gravity": (lambda: body(gravity=(0, 0)), MeshError, "gravity: expected shape"),
    "pinned": (lambda: body("pair", pinned=[0, 2]), MeshError, "pinned: row 1 is 2, but indices go from 0 to 1"),
    "pins": (lambda: body("pair", pinned=[[0]]), MeshError, r"pinned: expected shape \(k,\), the nodes that are held"),
    "volume": (lambda: body("pair", volume=[1, 0]), ValueError, "volume: row 1 is 0"),
    "volumes": (lambda: body("pair", volume=[1, 1, 1]), ValueError, r"volume: expected a number, or shape \(2,\)"),
    "tiny": (lambda: pl.Elastic(pl.MeshlessNodes(lattice(2, 2, 2, step=1e-30), 1e-30)), ValueError,
             "volume of nodes: row 0 is .*other units"),
    "extent": (lambda: pl.Elastic(pl.MeshlessNodes(lattice(2, 2, 2, step=1e200), 1e200), volume=[1] * 8), ValueError,
               "nodes: extent: row 0 is"),
    "stiff": (lambda: body(young=1e308, volume=1e10), ValueError, "young: 1e\\+308 leads beyond the largest numbers"),
    "mass": (lambda: body(density=1e200), ValueError, "masses.*: row 0 is"),
    "forces": (lambda: body("pair").step(1.0, forces=[[0, 0, 0]]), MeshError, "forces: expected 2 rows, one for each node, got 1"),
    "infinite": (lambda: body("one").step(1.0, forces=[[0, 0, np.inf]]), MeshError, "forces: row 0 is"),
    "free": (lambda: body("bar", pinned=[3]).move([3, 4], np.zeros((2, 3))), MeshError, "indices: row 1 is 4, a node that is not pinned"),
    "moves": (lambda: body("bar", pinned=[3]).move([3], np.zeros((2, 3))), MeshError, "positions: expected 1 rows, one for each of"),
    "place": (lambda: body("pair").place([[0, 0, 0], [0, 0, np.nan]]), MeshError, "positions: row 1 is"),
    "speeds": (lambda: body("one").place([[0, 0, 0]], [[0, 0, np.nan]]), MeshError, "velocities: row 0 is"),
}


@pytest.mark.parametrize(("call", "kind", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(elastic, "MAX_NODES", 5)
    with pytest.raises(ValueError, match="nodes: 27 are too many for this solver; at most 5"):
        body()


def test_a_representation_says_what_it_is():
    assert repr(body("pair", pinned=[0], young=2e4)) == "Elastic(2 nodes, 1 pinned, young=20000, mass=2)"
