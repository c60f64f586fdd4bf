"""Animations from files, folders and by name: what a good one means, and that a bad one is refused in one line that names it."""

import os
import zipfile

import numpy as np
import pytest

import pliant
from experiments.bitar2011.export import export
from pliant import shapes
from pliant.core import jit
from pliant.errors import FileError
from pliant.tune import Animation, read_animation, read_animations
from pliant.tune.animation import check_animation, digest
from pliant.tune.score import AnimationRun, Goal, make_goal, scorer
from synthetic import CORNERS, FACES, FRAMES

pytestmark = pytest.mark.formulas

TWO = {"faces": FACES, "vertices": FRAMES, "faces_b": FACES, "vertices_b": FRAMES[:2] + 3}


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


def same(first, second):
    return digest([first]) == digest([check_animation(second)])


def test_a_file_of_one_body_or_two(tmp_path):
    found = read_animation(saved(tmp_path / "two.npz", **TWO))
    assert same(found, Animation([(FACES, FRAMES), (FACES, FRAMES[:2] + 3)]))
    assert (found.name, found.frames) == ("two", 3)
    one = saved(tmp_path / "one.npz", faces=FACES.astype(np.uint8), vertices=np.asfortranarray(FRAMES, np.float32))
    assert same(read_animation(str(one)), Animation([(FACES, FRAMES.astype(np.float32))]))
    packed = tmp_path / "packed.npz"
    np.savez_compressed(packed, **TWO)
    assert same(read_animation(packed), found)


def test_a_folder_of_numbered_meshes(tmp_path):
    for number, rows in zip((2, 10, 1), FRAMES[[1, 2, 0]], strict=True):
        saved(tmp_path / f"cloth{number}.npz", faces=FACES, vertices=rows)
    (tmp_path / "notes.txt").write_text("not a mesh")
    assert same(read_animation(tmp_path), Animation([(FACES, FRAMES)]))


def test_two_folders_are_two_bodies(tmp_path):
    for name, move in (("a", 0), ("b", 3)):
        (tmp_path / name).mkdir()
        for number, rows in enumerate(FRAMES):
            saved(tmp_path / name / f"{number:04}.npz", faces=FACES, vertices=rows + move)
    assert same(read_animation(tmp_path), Animation([(FACES, FRAMES), (FACES, FRAMES + 3)]))


def test_several_at_once(tmp_path):
    files = [saved(tmp_path / f"{k}.npz", **TWO) for k in range(2)]
    assert [each.name for each in read_animations(map(str, files))] == ["0", "1"]


def test_the_scenes_of_bitar2011(tmp_path):
    found = read_animations(export(tmp_path / "scenes"))
    assert [each.frames - 1 for each in found] == [218, 127, 29, 127, 62]
    assert [[len(faces) for faces, _ in each.bodies] for each in found] == [[162, 162], [180, 162], [710, 162], [710, 180], [710, 162]]


class Trap:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("/proc/this must never run",)


BAD = FRAMES.copy()
BAD[1, 2, 0] = np.inf


@pytest.mark.parametrize(("changes", "message"), [
    ({"vertices": None}, "holds no vertices; expected faces and vertices"),
    ({"faces": None}, "holds no faces"),
    ({"faces_b": None}, "holds no faces_b"),
    ({"more": FACES}, "holds 'more'; expected faces"),
    ({"vertices": CORNERS}, r"vertices: expected shape \(k, n, 3\), all frames, got \(3, 3\)"),
    ({"vertices": FRAMES[:, :, :2]}, "vertices"),
    ({"vertices": BAD}, r"vertices\[1\]: row 2 is \[inf"),
    ({"vertices_b": FRAMES[:, :2]}, "faces_b: row 0"),
    ({"faces": FACES - 1}, "faces: row 0"),
    ({"faces": FACES[:0]}, "has no faces"),
    ({"faces": FACES / 3}, "faces"),
    ({"vertices": FRAMES[:0]}, "vertices"),
    ({"faces": np.array([Trap()], object)}, "faces: is an array of object"),
    ({"vertices": FRAMES[:1], "vertices_b": FRAMES[:1]}, "has one frame"),
])
def test_a_bad_file_is_refused(tmp_path, changes, message):
    arrays = {name: array for name, array in {**TWO, **changes}.items() if array is not None}
    path = saved(tmp_path / "bad.npz", **arrays)
    with pytest.raises(FileError, match=message) as caught:
        read_animation(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"nothing like an archive" * 9])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(FileError, match=r"bad\.npz: "):
        read_animation(tmp_path / "bad.npz")


def test_an_array_larger_than_its_file_is_refused(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000, 100, 3), }".ljust(117) + b"\n"
    faces = zipfile.ZipFile(saved(tmp_path / "good.npz", **TWO)).read("faces.npy")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("vertices.npy", b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header)
        archive.writestr("faces.npy", faces)
    with pytest.raises(FileError, match=r"bomb\.npz: vertices: announces shape \(9000000000, 100, 3\) of float64, and has 128 bytes"):
        read_animation(tmp_path / "bomb.npz")


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileError, match="paper-x: no such file or folder"):
        read_animations([tmp_path / "paper-x"])


def test_bad_folders_are_refused(tmp_path):
    def refused(message):
        with pytest.raises(FileError, match=message):
            read_animation(tmp_path)

    refused("holds no meshes")
    first = saved(tmp_path / "1.npz", faces=FACES, vertices=CORNERS)
    refused("has one frame")
    saved(tmp_path / "a.npz", faces=FACES, vertices=CORNERS)
    refused("a.npz: expected a number in its name")
    (tmp_path / "a.npz").unlink()
    saved(tmp_path / "01.npz", faces=FACES, vertices=CORNERS)
    refused("has the same number as")
    (tmp_path / "01.npz").unlink()
    other = saved(tmp_path / "2.npz", faces=FACES[:, ::-1], vertices=CORNERS)
    refused(r"2.npz: expected as many vertices as 1.npz has, and the same faces")
    saved(other, faces=FACES, vertices=np.vstack([CORNERS, CORNERS]))
    refused(r"2.npz: expected as many vertices as 1.npz has")
    saved(other, faces=FACES, frames=FRAMES)
    refused(r"2.npz: holds 3 frames, expected one")
    saved(other, faces=FACES)
    refused(r"2.npz: holds no vertices")
    (tmp_path / "deep").mkdir()
    refused("holds 1 folders; expected numbered meshes, or two folders")
    assert first.exists()


# ------------------------------------------------------------------------------------------------ the score

@pytest.fixture(scope="module")
def passing():
    """Two bumpy spheres that pass through each other; the second stops early."""
    directions, faces = shapes.icosphere(0 if jit.DISABLED else 1)
    first, second = (np.array([shapes.bumpy(directions, 0.3 * k + phase) for k in range(5)]) for phase in (0.0, 1.0))
    second += np.linspace(2.5, 1.0, 5)[:, None, None]
    return check_animation(Animation([(faces, first), (faces, second[:4])], "passing"))


@pytest.mark.parametrize("query", ["collide", "self_collide"])
def test_the_score_is_the_work_of_all_frames_but_building(passing, query):
    policy = {"name": "bottom_up"}
    stage = AnimationRun(passing, make_goal(query, "counters", None, (1.0, 10.0, 100.0)), {"leaf": 2})
    bodies = [pliant.Body(frames[0], faces, policy=policy, leaf=2) for faces, frames in passing.bodies]
    ask = getattr(pliant, query)
    expected = np.zeros(3, int)
    for k in range(5):
        for body, (_, frames) in zip(bodies, passing.bodies, strict=True):
            if 0 < k < len(frames):
                body.update(frames[k])
        asked = [ask(*bodies)] if query == "collide" else [ask(body) for body in bodies]
        if k:
            expected += sum(np.array(each.stats[:3]) for each in asked)
    stats, seconds = stage.run(policy)
    assert stats[:3] == tuple(expected) and all(expected > 0) and len(seconds) == 4 and min(seconds) > 0
    assert stage.score(policy) == stage.score(policy) == expected @ [1, 10, 100], "every play starts afresh"


def test_policies_share_a_tree_and_nothing_else(passing):
    stage = AnimationRun(passing, Goal("collide"), {"arity": 8})
    lazy, other = stage.bodies({"name": "lazy"}), stage.bodies({"name": "bottom_up"})
    assert [body._options.policy.name for body in lazy] == ["lazy"] * 2
    assert lazy[0]._bvh.tree is other[0]._bvh.tree is stage.built[0]._bvh.tree
    pliant.collide(*lazy)
    lazy[0].update(passing.bodies[0][1][3])
    np.testing.assert_array_equal(other[0].vertices, passing.bodies[0][1][0])
    np.testing.assert_array_equal(pliant.collide(*other).faces, pliant.collide(*stage.built).faces)


def test_scores_of_several_animations_add_up(passing):
    asked = make_goal("collide", "counters", None, (1, 1, 1))
    one, two = scorer([passing], asked, {}), scorer([passing, passing], asked, {})
    assert two({"name": "lazy"}) == 2 * one({"name": "lazy"}) > 0


def test_seconds_are_of_the_quicker_play(passing, monkeypatch):
    stage = AnimationRun(passing, make_goal("collide", "seconds", None, (1, 1, 1)), {})
    plays = iter([[1.0, 5.0], [3.0, 2.0]])
    monkeypatch.setattr(AnimationRun, "run", lambda stage, policy: (None, next(plays)))
    assert stage.score({}) == 3.0
    monkeypatch.undo()
    assert 0 < stage.score({"name": "lazy"}) < 60
