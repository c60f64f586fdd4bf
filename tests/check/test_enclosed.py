"""Bodies inside others that they do not touch: who encloses whom, in a frame and in a check."""

import io
import json
import zipfile

import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes
from pliant.check.baseline import accept
from pliant.check.enclosed import EnclosedFinder, part_vertices
from pliant.check.plan import CheckOptions
from pliant.check.run import Output, check_animation
from pliant.check.verdict import asides, headline
from pliant.errors import ArgumentTypeError, FileError
from pliant.io.animation import Animation, FrameActor


def ball(radius, centre=(0, 0, 0), level=1, inward=False):
    vertices, faces = shapes.icosphere(level)
    return radius * vertices + centre, faces[:, ::-1] if inward else faces


def find(*bodies, pairs=None):
    every = [(i, j) for i in range(len(bodies)) for j in range(i + 1, len(bodies))]
    return EnclosedFinder().find([pl.Body(*body) for body in bodies], every if pairs is None else pairs)


def test_nested_bodies():
    assert find(ball(1), ball(3), ball(0.3), ball(0.3, (9, 0, 0))) == [(0, 2), (1, 0), (1, 2)]
    assert find(ball(1), ball(3), ball(0.3), pairs=[(0, 1)]) == [(1, 0)]
    assert find(ball(1), ball(3, inward=True)) == [(1, 0)]


def test_boxes_that_overlap_say_nothing():
    """A small ball in the corner of the box of a large one, and in the hole of a ring."""
    u, v = np.meshgrid(np.arange(24), np.arange(8), indexing="ij")
    a, b = 2 * np.pi * u.ravel() / 24, 2 * np.pi * v.ravel() / 8
    vertices = np.column_stack([(1 + 0.3 * np.cos(b)) * np.cos(a), (1 + 0.3 * np.cos(b)) * np.sin(a), 0.3 * np.sin(b)])
    p, q, r, s = (((u + i) % 24 * 8 + (v + j) % 8).ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    ring = vertices, np.concatenate([np.column_stack([p, q, r]), np.column_stack([p, r, s])])
    assert find(ball(1, level=3), ball(0.05, (0.8, 0.8, 0.8)), ball(0.05, (0.5, 0.5, 0.5))) == [(0, 2)]
    assert find(ring, ball(0.2), ball(0.05, (1, 0, 0))) == [(0, 2)]


def test_open_bodies_enclose_nothing_but_may_be_enclosed():
    vertices, faces = ball(1)
    sheet = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]], [[0, 1, 2]]
    assert find((vertices, faces[1:]), ball(0.3)) == []
    assert find((vertices, faces), sheet) == [(0, 1)]


def test_a_cavity():
    outer, inner = ball(3), ball(1, inward=True)
    shell = np.vstack([outer[0], inner[0]]), np.vstack([outer[1], inner[1] + len(outer[0])])
    assert find(shell, ball(0.3), ball(0.3, (2, 0, 0))) == [(0, 2)]


def test_one_of_several_parts():
    here, there = ball(0.3), ball(0.3, (9, 0, 0))
    both = np.vstack([there[0], here[0]]), np.vstack([there[1], here[1] + len(there[0])])
    assert find(ball(1), both) == [(0, 1)]
    assert part_vertices(np.asarray(both[1], np.int32)).tolist() == [0, len(there[0])]
    assert part_vertices(np.array([[4, 5, 6], [9, 9, 9], [6, 7, 8]], np.int32)).tolist() == [4, 9]


def test_no_faces():
    assert find(ball(1), (np.zeros((0, 3)), np.zeros((0, 3), int)), ball(0.1)) == [(0, 2)]


@pytest.mark.parametrize("motion", ["rigid", "morph", "blended"])
def test_motions_and_frames(motion):
    """The finder keeps parts, not positions."""
    vertices, faces = ball(0.3)
    inner = {"rigid": pl.Body.rigid(vertices, faces), "morph": pl.Body.morph([vertices, vertices + [9, 0, 0]], faces),
             "blended": pl.Body.blended(vertices, faces, np.ones((len(vertices), 1)))}[motion]
    away = {"rigid": np.array([[1.0, 0, 0, 9], [0, 1, 0, 0], [0, 0, 1, 0]]), "morph": [0.0, 1.0]}
    away["blended"] = away["rigid"][None]
    finder, outer = EnclosedFinder(), pl.Body(*ball(1))
    assert finder.find([outer, inner], [(0, 1)]) == [(0, 1)]
    inner.update(away[motion])
    assert finder.find([outer, inner], [(0, 1)]) == []
    outer.update(ball(1, (9, 0, 0))[0])
    assert finder.find([outer, inner], [(0, 1)]) == [(0, 1)]


# --- in a check --------------------------------------------------------------------------------------------------------------

def moving():
    """A small ball that leaves a large one in four frames, through its surface in the third, and a cube around nothing."""
    places = [0.0, 0.2, 1.0, 3.0]
    parts = {"large": lambda k: ball(1), "small": lambda k: ball(0.3, (places[k], 0, 0)), "cube": lambda k: meshes.cube((5, 5, 5))}
    actors = [FrameActor(name, 4, part) for name, part in parts.items()]
    return Animation("balls", actors, 4)


def enclosures(summary):
    """(names of bodies, state, first and last frame) of events without faces that intersect."""
    return [(tuple(row["names"]), row["state"], row["first"], row["last"]) for row in summary["events"] if row["kind"] == "enclosed"]


def run(folder, *, animation=None, jobs=1, **options):
    return check_animation(animation or moving(), CheckOptions(**options), Output(folder, report=False, plots=False), jobs=jobs)


@pytest.mark.parametrize("options", [{}, {"within": 0.01}, {"engine": "image"}, {"with_self": False}], ids=str)
def test_a_check(tmp_path, options):
    summary = run(tmp_path, **options).summary
    assert enclosures(summary) == [(("small", "large"), "enclosed", 0, 1)]
    assert summary["by_state"]["enclosed"] == 2 and summary["event_counts"]["enclosed"] == 1
    assert summary["verdict"] == "collisions" and summary["frames_with_collisions"] == 3
    assert {row["frame"] for row in summary["worst_contacts"] if row["pairs"]} == {2}


@pytest.mark.parametrize("options", [{"enclosed": False}, {"ignore": ["large:small"]}, {"between": False}, {"frames": "2:"}], ids=str)
def test_what_is_not_asked(tmp_path, options):
    summary = run(tmp_path, **options).summary
    assert enclosures(summary) == [] and summary["by_state"]["enclosed"] == 0


def test_jobs_find_the_same(tmp_path):
    one, other = (run(tmp_path / str(jobs), jobs=jobs).summary["events"] for jobs in (1, 3))
    assert one == other != []


def test_bodies_that_stay_inside_are_static(tmp_path):
    """As eyes in a head: in every frame of two or more they are no collision, in a single one they are."""
    inner = Animation("eye", [FrameActor("head", 3, lambda k: ball(1)), FrameActor("eye", 3, lambda k: ball(0.2, (0.1 * k, 0, 0)))], 3)
    for frames, state, verdict in ((":", "static", "known"), ("1", "enclosed", "collisions")):
        summary = run(tmp_path / state, animation=inner, frames=frames).summary
        assert [each[:2] for each in enclosures(summary)] == [(("eye", "head"), state)]
        assert (summary["verdict"], summary["by_state"]["static"], summary["by_state"]["enclosed"]) == (verdict, 0, int(frames == "1"))
        assert (summary["failed"], summary["enclosed_aside"]) == (frames == "1", int(frames == ":"))
        if frames == ":":
            assert headline(summary) == "Nothing new in 3 frames: only bodies inside others."
            assert asides(summary) == ["1 body is inside another in every frame."]


@pytest.mark.parametrize("form", ["npz", "parquet", "accepted"])
def test_known_bodies_inside_others(tmp_path, form):
    """From a frame, from the files of an earlier check, from a baseline file of these; then the next check says so."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="pliant[parquet] is not installed")
    output = Output(tmp_path / "first", form="parquet" if form == "parquet" else "npz", report=False, plots=False)
    check_animation(moving(), CheckOptions(), output)
    path = accept(tmp_path / "first")[0] if form == "accepted" else tmp_path / "first"
    for baseline in (str(path), "frame 1"):
        summary = run(tmp_path / "again", baseline=baseline).summary
        assert enclosures(summary) == [(("small", "large"), "known", 0, 1)]
        assert summary["verdict"] == ("known" if baseline == str(path) else "collisions")   # frame 2 has pairs of faces


@pytest.mark.parametrize("rows", ['"all"', "[[0]]", "[[0, 3]]", "[[-1, 0]]", "[[0, 1.5]]", "[[true, 0]]", '{"0": 1}'])
def test_hostile_lists(tmp_path, rows):
    run(tmp_path)
    content = (tmp_path / "pairs.npz").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(tmp_path / "bad.npz", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "meta.npy":
                meta = json.loads(np.load(io.BytesIO(data)).tobytes()) | {"enclosed": json.loads(rows)}
                buffer = io.BytesIO()
                np.save(buffer, np.frombuffer(json.dumps(meta).encode(), np.uint8))
                data = buffer.getvalue()
            new.writestr(name, data)
    with pytest.raises(FileError, match=r"bad\.npz: enclosed bodies cannot be read"):
        run(tmp_path / "again", baseline=str(tmp_path / "bad.npz"))


def test_wrong_option():
    with pytest.raises(ArgumentTypeError, match="enclosed"):
        CheckOptions(enclosed="yes")
