"""Extensions in packages of their own: `examples/extension/` is installed, and what it adds answers like what is built in.

Each test runs in a process of its own: what is registered stays. The pages of docs/extend/ print the files of that package.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from child import PATIENCE, SOURCE, environment, python

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = ROOT / "examples" / "extension"
BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = {"volume.md": "cube.py", "policy.md": "periodic.py", "motion.md": "twist.py", "file-format.md": "reader.py"}

START = """
    import warnings
    import numpy as np
    import naive, naive_distances, naive_rays
    import pliant as pl
    from pliant.shapes import bumpy, icosphere
    warnings.simplefilter("ignore", RuntimeWarning)                     # formulas without the JIT report overflows of empty lanes
    directions, faces = icosphere(1)

    def same(found, expected):
        assert len(expected) and np.array_equal(found, expected)

    def near(distance, square):
        assert distance > 0 and abs(distance * distance - square) < 1e-12
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which pip has installed the package."""
    pytest.importorskip("hatchling")
    target = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps",
                    "--no-build-isolation", "--target", target, EXTENSION], check=True, timeout=PATIENCE, env=environment(PYTHONPATH=None))
    return target


def run(installed, code, jit=False, first="", start=START):
    """Run `first`, then the code, with the extension on the path but not imported."""
    path = os.pathsep.join(map(str, (installed, SOURCE, ROOT / "tests")))
    return python(f"    {first}\n{start}{code}", PYTHONPATH=path, **({} if jit else {"NUMBA_DISABLE_JIT": "1"}))


@pytest.mark.parametrize(("page", "file"), PRINTED.items())
def test_pages_print_the_files_of_the_package(page, file):
    printed = BLOCK.findall((ROOT / "docs" / "extend" / page).read_text(encoding="utf-8"))
    assert printed[0] == (EXTENSION / "src" / "pliant_cubes" / file).read_text(encoding="utf-8")


# --- every query ---------------------------------------------------------------------------------------------------------------

QUERIES = """
    a, b = pl.Body(directions, faces, volume="cube", build="halves"), pl.Body.rigid(directions, faces, volume="cube", policy="periodic")
    a.update(bumpy(directions, 0.7))
    b.update([[0, -1, 0, 1.3], [1, 0, 0, 0.1], [0, 0, 1, 0.2]])
    for other in (b, pl.Body(b.vertices, faces, volume="cube"), *(pl.Body(b.vertices, faces, volume=name) for name in others)):
        same(pl.collide(a, other).faces, naive.collide(a.vertices, faces, other.vertices, faces))
        same(pl.collide(other, a).faces, naive.collide(other.vertices, faces, a.vertices, faces))
    rows = np.array(directions)
    rows[0] = -1.5 * rows[0]
    folded = pl.Body(rows, faces, volume="cube", arity=4, leaf=2)
    same(pl.self_collide(folded).faces, naive.self_collide(rows, faces))
    same(pl.self_within(folded, 0.05).faces, naive_distances.self_within(rows, faces, 0.05)[0])
    near(pl.self_distance(a).distance, naive_distances.self_distance(a.vertices, faces)[0])

    meshes, down = {0: (a.vertices, faces)}, [0, 0, -1]
    for origin in ([0.013, 0.021, 5], [0.1, 0.2, 5], [9, 0, 5]):
        first, every = naive_rays.cast(meshes, origin, down), naive_rays.cast_all(meshes, origin, down)
        hits = pl.cast(a, origin, down)
        assert (hits.face[0], pl.occluded(a, origin, down)[0]) == (first.face if first else -1, bool(first))
        assert sorted(pl.cast_all(a, origin, down).face.tolist()) == sorted(hit.face for hit in every)
    b.update([[0, -1, 0, 3], [1, 0, 0, 0], [0, 0, 1, 0]])
    near(pl.distance(a, b).distance, naive_distances.distance(a.vertices, faces, b.vertices, faces)[0])
    same(pl.within(a, b, 1.2).faces, naive_distances.within(a.vertices, faces, b.vertices, faces, 1.2)[0])
    points = np.array([[2.0, 0, 0], [0, 0.3, 0]])
    for distance, (square, _) in zip(pl.closest(a, points).distance, naive_distances.closest(a.vertices, faces, points)):
        near(distance, square)
    same(pl.frustum_cull(a, [[1, 0, 0, 0]]).face, np.flatnonzero(a.vertices[faces][:, :, 0].max(axis=1) >= 0))
    scene = pl.Scene([a, b, pl.Body(a.vertices + 0.2, faces)])
    same(scene.collide(self_pairs=False).faces, naive.collide(a.vertices, faces, a.vertices + 0.2, faces))
"""
MOVING = """
    for policy in ("auto", "lazy", "hybrid", "fitted", "inflated", "active", "rebuild", {"name": "periodic", "every": 2}):
        a = pl.Body(directions, faces, policy=policy, volume="cube")
        for k in range(4):
            a.update(bumpy(directions, 0.3 * k))
            same(pl.collide(a, c).faces, naive.collide(a.vertices, faces, c.vertices, faces))
        a.update(a.vertices[:2] * 1.5, changed=[0, 1])
        same(pl.collide(a, c).faces, naive.collide(a.vertices, faces, c.vertices, faces))
    morphing = pl.Body.morph([directions, bumpy(directions, 0.7)], faces, volume="cube", build="halves")
    morphing.update([0.5, 0.5])
    skinned = pl.Body.blended(directions, faces, np.full((len(directions), 2), 0.5), volume="cube")
    skinned.update([np.eye(3, 4), [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]])
    for body in (morphing, skinned):
        same(pl.collide(body, c).faces, naive.collide(body.vertices, faces, c.vertices, faces))
"""
ORDERS = {"before": "import pliant_cubes", "after": "import pliant; import pliant_cubes", "entry point": ""}


@pytest.mark.parametrize("order", ORDERS)
def test_every_query(installed, order):
    run(installed, f"    others = ['aabb', 'obb', 'sphere', 'kdop14', 'rss', 'slabcutball', 'double_slabcutball']\n{QUERIES}",
        first=ORDERS[order])


def test_every_query_compiled(installed):
    run(installed, f"    others = ['aabb', 'sphere']\n{QUERIES}", jit=True)


@pytest.mark.parametrize("jit", [False, True])
def test_every_policy_and_motion(installed, jit):
    run(installed, f"    c = pl.Body(directions + [1.2, 0.1, 0.2], faces, volume='cube')\n{MOVING}", jit=jit)


# --- motions, files, commands --------------------------------------------------------------------------------------------------

def test_a_motion_moves_bodies_and_comes_back_from_files(installed, tmp_path):
    run(installed, f"""
    from pathlib import Path
    from pliant_cubes.twist import Twist
    import pytest
    path = Path({str(tmp_path)!r}) / "body"
    other = pl.Body(directions + [1.2, 0.1, 0.2], faces)
    for policy, volume in (("auto", "cube"), ("lazy", "aabb"), ("bottom_up", "obb")):
        body = pl.Body.from_motion(Twist(directions), faces, policy=policy, volume=volume)
        for angle in (0.0, 0.8, -2.0):
            body.update(angle)
            x, y, z = directions.T
            assert np.array_equal(body.vertices[:, 0], np.cos(angle * z) * x - np.sin(angle * z) * y)
            same(pl.collide(body, other).faces, naive.collide(body.vertices, faces, other.vertices, faces))
        body.save(path)
        copied, loaded = body.copy(), pl.Body.load(path)
        for each in (copied, loaded):
            assert np.array_equal(each.vertices, body.vertices) and each._motion.name == "twist"
            each.update(0.3)
        assert np.array_equal(copied.vertices, loaded.vertices) and not np.array_equal(copied.vertices, body.vertices)
        body.update(0.1, transform=[[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0]])
        assert body.vertices[:, 0].min() > 0.5
    before = body.vertices
    for wrong, text in ((np.nan, "angle"), ("x", "angle"), (None, "an angle")):
        with pytest.raises((TypeError, ValueError), match=text):
            body.update(wrong)
    with pytest.raises(TypeError, match="a twisting body takes an angle alone"):
        body.update([[0, 0, 0]], changed=[0])
    with pytest.raises(ValueError, match="moves another body already"):
        pl.Body.from_motion(body._motion, faces)
    assert np.array_equal(body.vertices, before)
    """)


def test_files_of_unknown_motions_are_refused(installed, tmp_path):
    run(installed, f"""
    from pliant_cubes.twist import Twist
    pl.Body.from_motion(Twist(directions, 0.5), faces).save({str(tmp_path / "body")!r})
    """)
    python("""
    import sys
    import pliant as pl
    try:
        pl.Body.load(sys.argv[1])
    except pl.FileError as error:
        assert "motion: expected one of" in str(error) and str(error).endswith("got 'twist'"), error
    else:
        raise AssertionError
    """, tmp_path / "body", NUMBA_DISABLE_JIT="1")
    run(installed, f"assert pl.Body.load({str(tmp_path / 'body')!r})._motion.value == 0.5", start="    import pliant as pl\n    ")


def test_a_motion_without_a_file_is_not_saved(installed, tmp_path):
    run(installed, f"""
    import pytest
    from pliant.motion.motion import MotionType, register_motion
    from pliant.motion.procedural import ProceduralMotion

    class Wave(ProceduralMotion):
        name, kind, input_name = "wave", "waving", "a phase"

        def positions(self, value):
            return directions + [0, 0, value]

    with pytest.raises(TypeError, match="expected an instance of a registered class"):
        pl.Body.from_motion(Wave(0.0), faces)
    register_motion(MotionType("wave", Wave))
    body = pl.Body.from_motion(Wave(0.0), faces)
    body.update(2.0)
    assert body.vertices[:, 2].min() == 1.0
    with pytest.raises(TypeError, match="save: motion 'wave' is registered without write and read"):
        body.save({str(tmp_path / "body")!r})
    """)


CUBES = "0 0 0 1\n1.5 0 0 1\n\n0 0 0 1\n4 0 0 1\n"


def test_commands_and_readers_use_it(installed, tmp_path):
    """pip is all that is needed: suffix, policy and volume type are looked up in the entry points."""
    (tmp_path / "two.cubes").write_text(CUBES)
    (tmp_path / "bad.cubes").write_text("0 0 0 1\n0 0\n")
    arguments = ["check", str(tmp_path / "two.cubes"), "--out", str(tmp_path / "out"), "--no-report"]
    run(installed, f"""
    import sys
    from pathlib import Path
    import pliant as pl
    from pliant.cli import main
    animation = pl.read({str(tmp_path / "two.cubes")!r})
    assert animation.frames == 2 and len(animation.actors) == 2 and "pliant_cubes" in sys.modules
    try:
        pl.read({str(tmp_path / "bad.cubes")!r})
    except pl.FileError as error:
        assert "bad.cubes: " in str(error)
    else:
        raise AssertionError
    sys.argv = ["pliant", *{arguments!r}, "--volume", "cube", "--policy", "periodic"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 1                                            # there are collisions
    """, start="    ")
    import numpy as np
    found = np.load(tmp_path / "out" / "pairs.npz")
    assert len(found["first"]) and set(found["first"].tolist()) == set(found["last"].tolist()) == {0}


# --- what is refused -----------------------------------------------------------------------------------------------------------

def test_faults_are_named_when_they_are_registered(installed):
    run(installed, """
    from typing import NamedTuple
    import pytest
    from pliant.core.dispatch import ANY
    from pliant.io.read import register_reader
    from pliant.motion.motion import MotionType, register_motion
    from pliant.refit.policy import Policy, register_policy
    from pliant.tree.nodes import Builder, register_builder
    from pliant.volume.aabb import Box
    from pliant.volume.protocol import VolumeType, merge, overlap, register_volume_type
    import pliant_cubes.cube as cube

    class Same(NamedTuple):
        x: float
        y: float
        z: float
        half: float

    class Ball(NamedTuple):
        ball_x: float
        ball_r: float

    def refused(error, text, function, *arguments):
        with pytest.raises(error, match=text):
            function(*arguments)

    one, nothing = np.float32(1), lambda *arguments: None
    again = VolumeType("cube", cube.Cube, cube.Cube(*4 * [one]))
    refused(ValueError, "volume type 'cube' is registered already", register_volume_type, again)
    refused(TypeError, "Same and Cube have the same fields", register_volume_type, VolumeType("same", Same, Same(*4 * [one])))
    refused(TypeError, "expected a NamedTuple class", register_volume_type, VolumeType("list", list, ()))
    refused(TypeError, "empty must be a Ball of numpy.float32", register_volume_type, VolumeType("ball", Ball, Ball(1.0, 2.0)))
    refused(TypeError, "expected a VolumeType", register_volume_type, Ball)
    register_volume_type(VolumeType("ball", Ball, Ball(one, one)))
    refused(TypeError, r"parameters must be named \\(a\\)", merge.register(Ball), lambda b: b)
    refused(TypeError, "there is a body for Cube already", merge.register(cube.Cube), lambda a: a)
    needs = r"volume 'ball': the protocol needs ray_interval\\(Ball\\), merge\\(Ball\\), .*transform_volume\\(Ball, RigidTransform\\)"
    refused(TypeError, needs, lambda: pl.Body(directions, faces, volume="ball"))
    pl.collide(pl.Body(directions, faces, volume="cube"), pl.Body(directions + 0.1, faces))
    refused(TypeError, "the default is in use for Cube × Box", overlap.register(cube.Cube, Box), lambda a, b: True)
    refused(ValueError, "builder 'halves' is registered already", register_builder, Builder("halves", nothing))
    refused(TypeError, "expected parameters .points, faces, arity, leaf.", register_builder, Builder("bad", lambda points: None))
    refused(TypeError, "expected a function", register_builder, Builder("bad", 3))
    refused(ValueError, "policy 'lazy' is registered already", register_policy, Policy("lazy", nothing))
    refused(TypeError, "expected parameters .bvh.", register_policy, Policy("bad", lambda: None))
    refused(TypeError, "settings must map each option to", register_policy, Policy("bad", nothing, {"every": 3}))
    refused(TypeError, "expected a name", register_policy, Policy("", nothing))
    refused(TypeError, "derived from Motion", register_motion, MotionType("bad", Ball))
    refused(ValueError, "expected suffixes", register_reader, "cubes", nothing)
    refused(ValueError, "reader '.obj' is registered already", register_reader, ".obj", nothing)
    refused(ValueError, "volume: expected one of 'aabb', .*'cube', 'ball', got 'cone'", lambda: pl.Body(directions, faces, volume="cone"))
    for wrong in ({"every": 0}, {"each": 3}):
        refused(ValueError, next(iter(wrong)), lambda: pl.Body(directions, faces, policy={"name": "periodic", **wrong}))
    """)


def test_a_broken_extension_is_a_warning(tmp_path):
    (tmp_path / "broken.py").write_text("raise OSError('no such thing')")
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[pliant.extensions]\nbroken = broken\n")
    python("""
    import warnings
    import pliant as pl
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            try:
                pl.Body([[0, 0, 0]], [], volume="cone")
            except ValueError as error:
                assert "got 'cone'" in str(error)
    assert [str(each.message) for each in found] == ["the extension 'broken' (broken) cannot be imported: OSError no such thing"]
    """, PYTHONPATH=os.pathsep.join(map(str, (tmp_path, SOURCE))), NUMBA_DISABLE_JIT="1")


# --- the protocol --------------------------------------------------------------------------------------------------------------

def test_the_volume_type_keeps_the_protocol(installed, tmp_path):
    """The tests of all types, for the new one alone, with `INSIDE` as the page prints it."""
    inside = BLOCK.findall((ROOT / "docs" / "extend" / "volume.md").read_text(encoding="utf-8"))[1]
    (tmp_path / "with_cubes.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\nfrom fractions import Fraction\nimport pliant_cubes\nimport siblings\n"
        f"{inside}\nsiblings.INSIDE['cube'] = in_cube\n", encoding="utf-8")
    path = os.pathsep.join(map(str, (tmp_path, installed, SOURCE)))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "with_cubes", "-p", "no:cacheprovider", "-k", "cube",
         "tests/volume/test_protocol.py", "tests/volume/test_protocol_meets.py"],
        cwd=ROOT, env=environment(NUMBA_DISABLE_JIT="1", PYTHONPATH=path), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 10
