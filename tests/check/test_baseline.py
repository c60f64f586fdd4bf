"""Known, new and resolved pairs: baselines of the rest pose, of a frame, of an earlier check, and files that are wrong."""

import json

import numpy as np
import pytest

from pair_rows import npz_rows
from pliant.check.baseline import BASELINE_FORMAT, KnownPairs, accept, read_known, write_baseline
from pliant.check.classify import STATES
from pliant.check.plan import CheckOptions, parse_baseline, parse_fail_rule
from pliant.check.run import Output, check_animation
from pliant.check.verdict import fails
from pliant.core import archive
from pliant.errors import ArgumentError, FileError
from pliant.io.animation import REST, Animation, FrameActor
from pliant.shapes import icosphere

FRAMES = 6
BALL, FACES = icosphere(1)


class Scene:
    """A ball in a wall all the time, and one that goes through the wall; in the rest pose, both are in it."""

    def __init__(self, names=("wall", "still", "moving")):
        self.names = names

    def mesh(self, place, frame):
        if place == 0:
            return np.array([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])
        at = [-3, 0.1, 0.2] if place == 1 else [3, 0.2, 0.1 if frame == REST else 2.0 - 0.55 * frame]
        return BALL + at, FACES

    def animation(self, **values):
        actors = [FrameActor(name, FRAMES, lambda frame, place=place: self.mesh(place, frame), has_rest=True)
                  for place, name in enumerate(self.names)]
        return Animation("scene", actors, FRAMES, **values)


def run(folder, scene=None, form="npz", report=False, **options):
    return check_animation((scene or Scene()).animation(), CheckOptions(**options), Output(folder, form, report, plots=False))


def pairs_of(folder, state=None):
    return {row[1:5] for row in npz_rows(folder / "pairs.npz") if state in (None, row[6])}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    run(folder)
    return folder


def test_static_pairs_without_a_baseline(first):
    rows = npz_rows(first / "pairs.npz")
    in_frames = [{row[1:5] for row in rows if row[0] == frame} for frame in range(FRAMES)]
    static = set.intersection(*in_frames)
    assert static and pairs_of(first, "static") == static and pairs_of(first, "new") == set.union(*in_frames) - static
    summary = json.loads((first / "summary.json").read_text())
    assert summary["static_pairs"] == len(static) and summary["baseline"] is None and summary["verdict"] == "collisions"
    assert summary["by_state"]["static"] == FRAMES * len(static)
    assert {(event["state"], event["names"][1]) for event in summary["events"]} == {("new", "moving"), ("static", "still")}


def test_one_frame_has_no_static_pairs(tmp_path):
    assert run(tmp_path, frames="3").summary["by_state"]["static"] == 0 and pairs_of(tmp_path, "new") == pairs_of(tmp_path)


@pytest.mark.parametrize("text", ["rest", "frame 3"])
def test_known_from_a_pose(tmp_path, first, text):
    """Pairs of the pose are known, all others new: also those of every frame."""
    summary = run(tmp_path, baseline=text).summary
    frame = REST if text == "rest" else 3
    scene = Scene()
    actors = [FrameActor(name, 1, lambda _, place=place: scene.mesh(place, frame)) for place, name in enumerate(scene.names)]
    check_animation(Animation("pose", actors, 1), CheckOptions(), Output(tmp_path / "pose", report=False, plots=False))
    known = pairs_of(tmp_path / "pose")
    assert pairs_of(tmp_path, "known") == known & pairs_of(first) and pairs_of(tmp_path, "new") == pairs_of(first) - known
    assert summary["known_pairs"] == len(known & pairs_of(first)) and summary["resolved_pairs"] == len(known - pairs_of(first))
    assert summary["by_state"]["static"] == 0 and summary["baseline"] == {"rest": "the rest pose"}.get(text, text)


@pytest.mark.parametrize("form", ["npz", "parquet", "csv"])
def test_known_from_a_check(tmp_path, first, form):
    run(tmp_path / "earlier", form=form, frames="0:3")
    path, count = accept(tmp_path / "earlier")
    run(tmp_path / "earlier_npz", frames="0:3")
    known = pairs_of(tmp_path / "earlier_npz")
    assert path.name == "baseline.npz" and count == len(known)
    for number, baseline in enumerate((tmp_path / "earlier", path)):
        folder = tmp_path / f"later{number}"
        summary = run(folder, baseline=str(baseline)).summary
        assert pairs_of(folder, "known") == known and pairs_of(folder, "new") == pairs_of(first) - known
        assert summary["resolved_pairs"] == 0 and summary["verdict"] == "collisions"
    assert run(tmp_path / "again", baseline=str(first)).summary["verdict"] == "known"


def test_resolved_pairs(tmp_path, first):
    """Pairs of the baseline that no frame has; those that are not tested are not resolved."""
    summary = run(tmp_path, baseline=str(first), frames="0").summary
    assert summary["resolved_pairs"] == len(pairs_of(first)) - len(pairs_of(tmp_path)) > 0
    only = {row for row in pairs_of(first) if row[:2] == (0, 2)}
    assert run(tmp_path / "some", baseline=str(first), pairs=("wall:moving",), frames="0").summary["resolved_pairs"] == len(only)


def test_bodies_are_known_by_name(tmp_path, first):
    """In another order they are the same; another number of faces, or another name, is said."""
    scene = Scene(("moving", "wall", "still"))
    order = {0: 2, 1: 0, 2: 1}
    mesh = scene.mesh
    scene.mesh = lambda place, frame: mesh(order[place], frame)
    assert run(tmp_path / "order", scene, baseline=str(first)).summary["verdict"] == "known"
    summary = run(tmp_path / "name", Scene(("wall", "still", "other")), baseline=str(first)).summary
    assert summary["notes"][-1:] == ["The baseline's pairs of moving are unknown: there is no such body."]
    assert {event["names"][1]: event["state"] for event in summary["events"]} == {"still": "known", "other": "new"}
    more = Scene()
    more.mesh = lambda place, frame: (mesh(place, frame)[0], mesh(place, frame)[1][: 2 if place == 0 else -1])
    summary = run(tmp_path / "faces", more, baseline=str(first)).summary
    assert summary["notes"][-1:] == ["The baseline's pairs of still, moving are unknown: numbers of faces have changed."]


def test_a_body_that_has_no_rest_pose(tmp_path):
    actors = [FrameActor("free", 2, lambda frame: (BALL, FACES)), FrameActor("static", 1, lambda frame: (BALL + 1, FACES))]
    with pytest.raises(ArgumentError, match="baseline: no rest pose is known of free; use --baseline 'frame N'"):
        check_animation(Animation("two", actors, 2), CheckOptions(baseline="rest"), Output(tmp_path, plots=False))
    with pytest.raises(ArgumentError, match="baseline: frame 2 is none of the frames 0 to 1"):
        check_animation(Animation("two", actors, 2), CheckOptions(baseline="frame 2"), Output(tmp_path, plots=False))


KNOWN = KnownPairs(["a", "b"], np.array([3, 4]), np.array([[0, 1], [0, 1], [1, 1]], np.int32), np.array([[2, 3], [2, 3], [0, 2]], np.int32),
                   [(1, 0)])


def test_a_baseline_file(tmp_path):
    """Each pair once, sorted."""
    again = read_known(write_baseline(tmp_path / "b.npz", KNOWN))
    assert again.names == ["a", "b"] and again.face_counts.tolist() == [3, 4]
    assert again.bodies.tolist() == [[0, 1], [1, 1]] and again.faces.tolist() == [[2, 3], [0, 2]]
    assert again.enclosed == [(1, 0)]


@pytest.mark.parametrize(("values", "message"), [
    ({"bodies": np.array([[0, 2]] * 3, np.int32)}, r"row 0 names bodies \[0, 2\]"), ({"faces": -KNOWN.faces}, "row 0 names"),
    ({"faces": KNOWN.faces[:2]}, r"expected \(m, 2\)"), ({"face_counts": np.array([3])}, "2 names and 1 numbers"),
    ({"names": np.frombuffer(b'["a", 3]', np.uint8)}, "names of bodies"),
    ({"names": np.frombuffer(b"[" * 9999, np.uint8)}, "names of bodies"),
    ({"format": "other"}, "its format is 'other', expected"), ({"more": np.zeros(3)}, "holds"),
])
def test_wrong_files(tmp_path, values, message):
    arrays = {"names": np.frombuffer(json.dumps(KNOWN.names).encode(), np.uint8), "face_counts": KNOWN.face_counts, "bodies": KNOWN.bodies,
              "faces": KNOWN.faces}
    form = values.pop("format", BASELINE_FORMAT) if "format" in values else BASELINE_FORMAT
    archive.write(tmp_path / "b.npz", {"format": form}, {**arrays, **values})
    with pytest.raises(FileError, match=message):
        read_known(tmp_path / "b.npz")


def test_other_wrong_files(tmp_path):
    with pytest.raises(FileError, match=r"holds no pairs\.npz, pairs\.parquet or baseline\.npz"):
        read_known(tmp_path)
    (tmp_path / "b.npz").write_bytes(b"PK nothing")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing")
    for name in ("b.npz", "b.parquet"):
        with pytest.raises(FileError, match="not a readable"):
            read_known(tmp_path / name)


@pytest.mark.parametrize("text", ["frame", "frame x", "frame 1 2", " ", "frame -1"])
def test_baselines_that_are_none(text):
    with pytest.raises(ArgumentError, match="baseline: expected rest, 'frame N'"):
        CheckOptions(baseline=text)
    assert parse_baseline("some/file") == ("file", None) and parse_baseline(None) == ("none", None)


@pytest.mark.parametrize("text", ["some", "depth", "depth>", "depth>x", "depth>-1", "depth>inf", "new>1"])
def test_fail_rules_that_are_none(text):
    with pytest.raises(ArgumentError, match="fail-on: expected any, new, near or depth>X"):
        CheckOptions(fail_on=text)
    assert parse_fail_rule("depth > 0.5") == ("depth", 0.5)


@pytest.mark.parametrize(("by_state", "depth", "failing"), [
    ({"new": 3}, 0.5, {"any", "new", "near", "depth>0.4"}), ({"static": 3}, None, {"any", "near"}), ({"known": 3}, None, {"any", "near"}),
    ({"near": 3}, None, {"near"}), ({"shallow": 3}, None, set()), ({}, None, set()), ({"enclosed": 1}, 0.1, {"any", "new", "near"}),
    ({"between frames": 1}, None, {"any", "new", "near"}),
])
def test_when_a_check_fails(by_state, depth, failing):
    states = dict.fromkeys(STATES, 0) | by_state
    summary = {"by_state": states, "deepest": None if depth is None else {"depth": depth}}
    rules = ("any", "new", "near", "depth>0.4", "depth>0.5")
    assert {rule for rule in rules if fails(summary, rule)} == failing


def test_a_minimum_depth(tmp_path):
    """Contacts that are shallower do not count, and are said to be set aside."""
    deep = run(tmp_path / "all").summary
    events = [event for event in deep["events"] if event["state"] == "new"]
    assert len(events) == 1 and events[0]["depth"] > 0.3
    some = run(tmp_path / "some", min_depth=0.3).summary
    assert some["by_state"]["shallow"] > 0 and some["by_state"]["new"] + some["by_state"]["shallow"] == deep["by_state"]["new"]
    assert some["events"][0]["depth"] == events[0]["depth"] and some["frames_with_collisions"] < deep["frames_with_collisions"]
    none = run(tmp_path / "none", min_depth=5.0).summary
    assert none["verdict"] == "known" and none["by_state"]["new"] == 0
    assert not fails({**none, "by_state": none["by_state"] | {"static": 0}}, "any")


def test_without_depths(tmp_path, first):
    """Everything else is the same."""
    summary = run(tmp_path, depth=False).summary
    assert {event["depth_kind"] for event in summary["events"]} == {"none"} and summary["deepest"]["depth"] == 0
    assert summary["verdict"] == "collisions" and (tmp_path / "pairs.npz").read_bytes() == (first / "pairs.npz").read_bytes()


@pytest.mark.parametrize("form", ["npz", "parquet", "csv"])
def test_results_do_not_depend_on_jobs(tmp_path, form):
    """All files, to the byte; of the summary all but the times."""
    for jobs in (1, 4):
        options, output = CheckOptions(within=0.1, min_depth=0.05), Output(tmp_path / str(jobs), form, plots=False)
        check_animation(Scene().animation(), options, output, jobs=jobs)
    files = {path.name for path in (tmp_path / "1").iterdir()}
    assert files == {path.name for path in (tmp_path / "4").iterdir()} >= {"report.html", "summary.json"}
    for name in files - {"summary.json"}:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "4" / name).read_bytes(), name
    one, other = (json.loads((tmp_path / jobs / "summary.json").read_text()) for jobs in "14")
    assert {**one, "seconds": 0} == {**other, "seconds": 0}
