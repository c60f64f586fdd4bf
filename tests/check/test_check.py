"""A check of an animation: the pairs are those of the reference, whatever was asked and however often it was stopped."""

import csv
import json
import os
import sys
import zipfile

import numpy as np
import pytest

import naive
import naive_distances
import pliant
import read_report
from pair_rows import npz_rows, pair_rows
from pliant import shapes
from pliant.check import run as module
from pliant.check.baseline import NO_BASELINE
from pliant.check.plan import CheckOptions, make_pair_filter
from pliant.check.run import MOTION_NOTE, TABLES, Output, check_animation
from pliant.check.worker import FrameWorker
from pliant.errors import FileError
from pliant.io.animation import Animation, FrameActor, Settings

FRAMES = 6


class Scene:
    """Two bumpy spheres that pass through each other, and a sheet that folds; everything in memory."""

    names = ("left", "right", "sheet")

    def __init__(self):
        pair, cloth = shapes.bumpy_pair(320, FRAMES), shapes.folding_cloth(200, FRAMES)
        directions, faces = shapes.icosphere(1)
        pair = pair._replace(directions=directions, faces=faces)
        self.faces = [pair.faces, pair.faces, cloth.faces]
        self.vertices = [[*pair.frame(k), cloth.frame(k) + (0.0, 0.0, 0.3)] for k in range(FRAMES)]
        self._known = {}

    def animation(self, read=None, **about):
        def reader(place):
            return lambda frame: (read or self.read)(place, frame)
        actors = [FrameActor(name, FRAMES, reader(place)) for place, name in enumerate(self.names)]
        return Animation("scene", actors, FRAMES, **about)

    def read(self, place, frame):
        return self.vertices[frame][place], self.faces[place]

    def pairs(self, frame, i, j):
        """The right pairs of two bodies, or of one with itself; worked out once."""
        if (frame, i, j) not in self._known:
            a, b = self.vertices[frame][i], self.vertices[frame][j]
            right = naive.self_collide(a, self.faces[i]) if i == j else naive.collide(a, self.faces[i], b, self.faces[j])
            self._known[frame, i, j] = np.asarray(right).tolist()
        return self._known[frame, i, j]

    def rows(self, frames=range(FRAMES), bodies=((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        """(frame, body, body, face, face) of all of them."""
        found = [(frame, i, j, *pair) for frame in frames for i, j in bodies for pair in self.pairs(frame, i, j)]
        return np.array(found, np.int64).reshape(-1, 5)


@pytest.fixture(scope="module")
def scene():
    made = Scene()
    rows = made.rows()
    assert {(i, j) for i, j in rows[:, 1:3].tolist()} >= {(0, 1), (0, 2), (2, 2)}
    assert len(np.unique(rows[:, :3], axis=0)) < 6 * FRAMES, "not everything meets everything all the time"
    return made


def run(scene, folder, question=None, *, read=None, about=None, output=None, **options):
    written = Output(folder, **{"plots": False, **(output or {})})
    return check_animation(scene.animation(read, **(about or {})), question or CheckOptions(), written, **options)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_all_pairs_of_all_frames(scene, tmp_path, form, jobs):
    result = run(scene, tmp_path, jobs=jobs, output={"form": form})
    assert np.array_equal(pair_rows(tmp_path, form), scene.rows())
    assert result.pairs == len(scene.rows())
    assert sorted(os.listdir(tmp_path)) == sorted([*TABLES[form], "report.html", "summary.json"])


@pytest.mark.parametrize(("question", "bodies", "frames"), [
    (CheckOptions(frames="1:5:2"), ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), [1, 3]),
    (CheckOptions(with_self=False), ((0, 1), (0, 2), (1, 2)), range(FRAMES)),
    (CheckOptions(between=False), ((0, 0), (1, 1), (2, 2)), range(FRAMES)),
    (CheckOptions(pairs=("left:right", "sheet:sheet")), ((0, 1), (2, 2)), range(FRAMES)),
    (CheckOptions(ignore=("balls:balls",), groups={"balls": "left,right"}), ((0, 2), (1, 2), (2, 2)), range(FRAMES)),
    (CheckOptions(engine="image"), ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), range(FRAMES)),
    (CheckOptions(policy="lazy", frames="2"), ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), [2]),
])
def test_what_is_asked_is_answered(scene, tmp_path, question, bodies, frames):
    run(scene, tmp_path, question)
    assert np.array_equal(pair_rows(tmp_path), scene.rows(frames, bodies))


@pytest.mark.parametrize(("question", "bodies", "rules"), [
    (CheckOptions(), 50, 0), (CheckOptions(with_self=False), 50, 0), (CheckOptions(between=False), 50, 1),
    (CheckOptions(pairs=["b1:b2"]), 2, 2),
    (CheckOptions(pairs=["b1:b1"]), 1, 0), (CheckOptions(pairs=["b1:b1", "b2:b*"]), 50, 2 + 48), (CheckOptions(ignore=["b1:b*"]), 49, 0),
])
def test_a_scene_grows_with_what_is_asked_and_not_with_pairs_of_bodies(question, bodies, rules):
    corners, faces = np.eye(3), np.array([[0, 1, 2]], np.int32)
    actors = [FrameActor(f"b{k}", 1, lambda frame: (corners, faces)) for k in range(50)]
    lane = FrameWorker(Animation("many", actors, 1), question, make_pair_filter(question, [actor.name for actor in actors]))
    lane.move(0)
    assert (len(lane.bodies), len(lane.scene), len(lane.scene._ignored)) == (50, bodies, rules)


def test_pairs_within_a_tolerance(scene, tmp_path):
    """Also those that are near; neighbours that meet are not forgotten, though neighbours are never near."""
    tolerance, expected = 0.02, {}
    for frame in (2, 3):
        for i, j in ((0, 1), (0, 2), (1, 2), (2, 2)):
            one, other = ((scene.vertices[frame][k], scene.faces[k]) for k in (i, j))
            near = naive_distances.self_within(*one, tolerance) if i == j else naive_distances.within(*one, *other, tolerance)
            expected |= {(frame, i, j, *pair): float(square) ** 0.5 for pair, square in zip(*near, strict=True)}
    expected |= {tuple(row): 0.0 for row in scene.rows((2, 3), ((0, 1), (0, 2), (1, 2), (2, 2))).tolist()}
    question = CheckOptions(within=tolerance, frames="2:4", ignore=("left:left", "right:right"))
    result = run(scene, tmp_path, question, output={"form": "npz"})
    rows = pair_rows(tmp_path).tolist()
    assert rows == [list(key) for key in sorted(expected)] and len(rows) > len(scene.rows((2, 3)))
    distances = [row[5] for row in npz_rows(tmp_path / "pairs.npz")]
    assert np.allclose(distances, [expected[tuple(row)] for row in rows], rtol=0, atol=1e-12)
    assert result.summary["touching"] == sum(distance == 0 for distance in expected.values())


def test_faces_may_change(scene, tmp_path):
    """A body whose faces are others in every frame: rows are about the faces of that frame."""
    def read(place, frame):
        vertices, faces = scene.read(place, frame)
        return vertices, np.roll(faces[::-1], frame, axis=0) if place == 1 else faces
    expected = scene.rows()
    count = len(scene.faces[1])
    for column, partner in ((1, 3), (2, 4)):
        mine = expected[:, column] == 1
        expected[mine, partner] = (count - 1 - expected[mine, partner] + expected[mine, 0]) % count
    both = (expected[:, 1] == 1) & (expected[:, 2] == 1)
    expected[both, 3:] = np.sort(expected[both, 3:], axis=1)
    run(scene, tmp_path, read=read)
    assert np.array_equal(pair_rows(tmp_path), expected[np.lexsort(expected.T[::-1])])
    told, blocks = read_report.parts(tmp_path / "report.html")
    for frame, bodies in read_report.frames(told, blocks).items():
        assert bodies[1].faces == [tuple(face) for face in read(1, frame)[1].tolist()], "drawn with the faces of its frame"


def test_faces_of_bodies_that_nobody_asks_about_may_change(scene, tmp_path):
    def read(place, frame):
        vertices, faces = scene.read(place, frame)
        return vertices, np.roll(faces, frame, axis=0) if place == 2 else faces
    run(scene, tmp_path, CheckOptions(pairs=("left:right",)), read=read)
    assert np.array_equal(pair_rows(tmp_path), scene.rows(bodies=((0, 1),)))


def test_what_is_welded_does_not_depend_on_what_was_asked_before(tmp_path):
    """Frames of other faces than the first have bodies of their own: here a seam that is open in frame 1 and closed in frame 2."""
    single, double = np.array([[0, 1, 2]]), np.array([[0, 1, 2], [3, 5, 4]])
    flat = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float)
    apart = flat + np.repeat([[0, 0, 0], [0, 0, 1]], 3, axis=0)
    meshes = [(flat[:3], single), (apart, double), (flat, double)]
    answers = []
    for name, frames, jobs in (("a", ":", 1), ("b", ":", 3), ("c", "2", 1), ("d", "1:", 1)):
        animation = Animation("soup", [FrameActor("soup", 3, meshes.__getitem__)], 3)
        check_animation(animation, CheckOptions(frames=frames), Output(tmp_path / name, plots=False), jobs=jobs)
        rows = pair_rows(tmp_path / name)
        answers.append(rows[rows[:, 0] == 2].tolist())
    assert answers == [[], [], [], []]


def test_the_summary_adds_up(scene, tmp_path):
    summary = run(scene, tmp_path, about={"up": "z", "unit": "cm", "notes": ("a note",)}).summary
    with open(tmp_path / "summary.json", encoding="utf-8") as file:
        assert json.load(file) == json.loads(json.dumps(summary))
    rows = scene.rows()
    counts = np.bincount(rows[:, 0], minlength=FRAMES)
    alone = np.bincount(rows[rows[:, 1] == rows[:, 2], 0], minlength=FRAMES)
    assert summary["with_self"] == alone.tolist() and summary["between"] == (counts - alone).tolist()
    assert summary["pairs"] == summary["touching"] == len(rows) and summary["frames_with_pairs"] == (counts > 0).sum()
    assert (summary["up"], summary["unit"], summary["notes"]) == ("z", "cm", ["a note", MOTION_NOTE])
    assert [body["name"] for body in summary["bodies"]] == list(scene.names)
    assert [body["faces"] for body in summary["bodies"]] == [len(faces) for faces in scene.faces]
    worst = max(range(FRAMES), key=lambda frame: (counts[frame], -frame))
    assert summary["worst_frames"][0] == {"frame": worst, "pairs": counts[worst]}
    for row in summary["by_bodies"]:
        mine = rows[(rows[:, 1:3] == row["bodies"]).all(axis=1)]
        assert row["pairs"] == len(mine) and row["frames"] == len(set(mine[:, 0].tolist()))
        assert row["worst_pairs"] == np.bincount(mine[:, 0])[row["worst_frame"]]
    top = summary["worst_contacts"][0]
    mine = rows[(rows[:, :3] == [top["frame"], top["first"], top["second"]]).all(axis=1)]
    corners = scene.vertices[top["frame"]][top["first"]][scene.faces[top["first"]][mine[:, 3]]].reshape(-1, 3)
    assert top["pairs"] == len(mine)
    assert np.linalg.norm(corners - top["centre"], axis=1).max() <= top["radius"] * (1 + 1e-9)


def test_large_coordinates(tmp_path):
    """Files are written whatever the size of what meets."""
    crossing = 1e200 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.2, 1]], float)
    animation = Animation("large", [FrameActor("one", 1, lambda frame: (crossing, np.array([[0, 1, 2], [3, 4, 5]])))], 1)
    result = check_animation(animation, CheckOptions(weld=False), Output(tmp_path))
    assert result.pairs == 1 and np.isfinite(result.summary["worst_contacts"][0]["radius"])


def test_nothing_of_an_earlier_check_is_left_beside_another(scene, tmp_path):
    run(scene, tmp_path, output={"plots": True})
    (tmp_path / "notes.txt").write_text("mine")
    run(scene, tmp_path, CheckOptions(frames="1"), output={"form": "parquet", "report": False})
    assert sorted(os.listdir(tmp_path)) == ["faces.parquet", "notes.txt", "pairs.parquet", "summary.json"]


def test_polygons_of_a_body_whose_faces_change(tmp_path):
    """They are those of the first checked frame; rows of other frames name none."""
    corners = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0.5, 0.5, -1], [0.5, 0.5, 1], [1.5, 1, 0]], float)
    faces = [np.array(rows, np.int32) for rows in ([[0, 1, 2]], [[0, 1, 2], [3, 4, 5]], [[3, 4, 5], [0, 1, 2], [0, 1, 4]])]
    polygons = [np.array(rows, np.int32) for rows in ([7], [5, 6], [1, 2, 3])]
    soup = FrameActor("soup", 3, lambda frame: (corners, faces[frame]), soup=True, polygon_of_face=polygons[0],
                      read_polygons=polygons.__getitem__)  # fmt: skip
    soup.take_materials(["red"], np.zeros(1, np.int32))
    check_animation(Animation("soup", [soup], 3), CheckOptions(frames="1:", weld=False), Output(tmp_path, "csv", plots=False))
    with np.load(tmp_path / "pairs.npz", allow_pickle=False) as file:
        assert file["polygon_of_face"].tolist() == [5, 6] and not len(file["material_of_face"]), "materials are of other faces"
    with open(tmp_path / "pairs.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["last"], row["polygon_a"], row["polygon_b"]) for row in rows] == [("1", "5", "6"), ("2", "", "")]


# --- stopped and gone on with ------------------------------------------------------------------------------------------------

class Stopped(Exception):
    """In place of a kill."""


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_a_stopped_check_goes_on(scene, tmp_path, form, jobs):
    """It redoes no frame that was done, and its pairs are the same to the byte."""
    run(scene, tmp_path / "whole", output={"form": form})
    asked, checked = [], []

    def read(place, frame):
        if place == 0:
            asked.append(frame)
            if len(asked) % 7 == 0:
                raise Stopped
        return scene.read(place, frame)

    stops, done, measured = 0, set(), set()
    for _ in range(20):
        try:
            run(scene, tmp_path / "torn", read=read, jobs=jobs, resume=stops > 0, output={"form": form},
                progress=lambda now: checked.append(now.frame))
            break
        except Stopped:
            stops += 1
            assert len(checked) == len(set(checked)), "no frame is checked twice"
            plan = module.make_plan(scene.animation(), CheckOptions(), list(range(FRAMES)), 1, NO_BASELINE)
            with module.Journal(tmp_path / "torn" / "check.journal", plan) as journal:
                assert done <= journal.done and measured <= journal.measured <= journal.done
                done, measured = journal.done, journal.measured
    assert stops and measured, "it was also stopped while depths were measured"
    name = f"pairs.{form}"
    assert (tmp_path / "torn" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert (tmp_path / "torn" / "report.html").read_bytes() == (tmp_path / "whole" / "report.html").read_bytes()
    assert not (tmp_path / "torn" / "check.journal").exists()


def test_a_finished_check_is_not_done_again(scene, tmp_path):
    """A kill may come after the journal is gone and before the process is."""
    first = run(scene, tmp_path, CheckOptions(frames="0:3"))
    told = []
    again = run(scene, tmp_path, CheckOptions(frames="0:3"), resume=True, progress=told.append)
    assert not told and again.summary == json.loads(json.dumps(first.summary)) and set(again.files) == set(first.files)
    run(scene, tmp_path, CheckOptions(frames="0:4"), resume=True, progress=told.append)
    assert len(told) == 4, "another check is"


def test_two_checks_do_not_share_a_journal(scene, tmp_path):
    def read(place, frame):
        if (place, frame) == (0, 2):
            for how in ("resume", "overwrite"):
                with pytest.raises(FileError, match="another check is at work in this folder"):
                    run(scene, tmp_path, **{how: True})
        return scene.read(place, frame)
    run(scene, tmp_path, read=read)
    assert np.array_equal(pair_rows(tmp_path), scene.rows())


def test_what_a_kill_left_half_written_goes(scene, tmp_path):
    (tmp_path / "report.html.123.part").write_text("half")
    run(scene, tmp_path, CheckOptions(frames="0"))
    assert not list(tmp_path.glob("*.part"))


def test_a_check_that_never_began_leaves_no_journal(scene, tmp_path):
    def read(place, frame):
        if frame == 1:
            raise Stopped
        return scene.read(place, frame)
    with pytest.raises(Stopped):
        run(scene, tmp_path, CheckOptions(frames="1"), read=read)
    assert os.listdir(tmp_path) == []


def test_another_clip_is_another_check(scene, tmp_path):
    def read(place, frame):
        if frame == 3:
            raise Stopped
        return scene.read(place, frame)
    with pytest.raises(Stopped):
        run(scene, tmp_path, read=read, about={"asked": Settings(clip="walk")})
    with pytest.raises(FileError, match='whose clip was "walk" and is "run" now'):
        run(scene, tmp_path, resume=True, about={"asked": Settings(clip="run")})


def test_without_pyarrow_nothing_is_begun(scene, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[parquet\]', or --format npz"):
        run(scene, tmp_path / "new", output={"form": "parquet"})
    assert not (tmp_path / "new").exists()


def test_what_was_stopped_is_not_thrown_away_unasked(scene, tmp_path):
    def read(place, frame):
        if frame == 3:
            raise Stopped
        return scene.read(place, frame)
    with pytest.raises(Stopped):
        run(scene, tmp_path, read=read)
    before = (tmp_path / "check.journal").read_bytes()
    with pytest.raises(FileError, match=r"check.journal: a check was stopped here; --resume continues it, --overwrite starts again"):
        run(scene, tmp_path)
    with pytest.raises(FileError, match=r"is of another check, whose with_self was true and is false now; --overwrite begins anew"):
        run(scene, tmp_path, CheckOptions(with_self=False), resume=True)
    assert (tmp_path / "check.journal").read_bytes() == before
    run(scene, tmp_path, CheckOptions(with_self=False), overwrite=True)
    assert np.array_equal(pair_rows(tmp_path), scene.rows(bodies=((0, 1), (0, 2), (1, 2))))


def test_another_file_of_the_same_name_is_another_check(scene, tmp_path):
    """Size and time of files belong to the plan."""
    file = tmp_path / "scene.npz"
    file.write_text("one")

    def read(place, frame):
        if frame == 3:
            raise Stopped
        return scene.read(place, frame)
    with pytest.raises(Stopped):
        run(scene, tmp_path / "out", read=read, about={"files": (file,)})
    file.write_text("another")
    with pytest.raises(FileError, match="is of another check, whose files was"):
        run(scene, tmp_path / "out", resume=True, about={"files": (file,)})


def test_a_bad_frame_is_named_and_what_was_done_stays(scene, tmp_path):
    def read(place, frame):
        vertices, faces = scene.read(place, frame)
        return (vertices * np.nan if (place, frame) == (1, 4) else vertices), faces
    with pytest.raises(FileError, match=r"scene: frame 4, right: .*nan"):
        run(scene, tmp_path, read=read)
    assert os.listdir(tmp_path) == ["check.journal"]
    run(scene, tmp_path, resume=True)
    assert np.array_equal(pair_rows(tmp_path), scene.rows())


def test_errors_of_threads_arrive(scene, tmp_path):
    before = pliant.threads()

    def read(place, frame):
        if frame == FRAMES - 1:
            raise Stopped
        return scene.read(place, frame)
    with pytest.raises(Stopped):
        run(scene, tmp_path, read=read, jobs=4)
    assert pliant.threads() == before


def test_progress_is_told(scene, tmp_path):
    told, files = [], []
    run(scene, tmp_path, progress=told.append, writing=files.append, output={"plots": True})
    assert [now.done for now in told] == list(range(1, FRAMES + 1)) and {now.total for now in told} == {FRAMES}
    assert [now.pairs for now in told] == np.cumsum(np.bincount(scene.rows()[:, 0], minlength=FRAMES)).tolist()
    assert files == ["depths", "pairs", "report", "plots"]
    assert {"pairs.png", "bodies.png"} < set(os.listdir(tmp_path))


def test_nothing_to_find(tmp_path):
    faces, vertices = np.array([[0, 1, 2]], np.int32), np.eye(3)
    actors = [FrameActor("one", 2, lambda frame: (vertices, faces)), FrameActor("none", 1, lambda frame: (vertices, faces[:0]))]
    result = check_animation(Animation("still", actors, 2), CheckOptions(), Output(tmp_path))
    assert result.pairs == 0 and result.summary["worst_frames"] == [] and pair_rows(tmp_path).shape == (0, 5)
    assert sorted(os.listdir(tmp_path)) == ["pairs.npz", "report.html", "summary.json"]


def test_the_file_of_pairs_is_as_documented(scene, tmp_path):
    run(scene, tmp_path, CheckOptions(within=0.01, frames="2:4"))
    columns = {"names": "|u1", "face_counts": "<i8", "frames": "<i4", "static_bodies": "<i4", "static_faces": "<i4", "static_state": "|u1",
               "first": "<i4", "last": "<i4", "bodies": "<i4", "faces": "<i4", "state": "|u1",
               "polygon_of_face": "<i4", "material_of_face": "<i4", "bone_of_face": "<i4", "materials": "|u1", "bones": "|u1",
               "near_frame": "<i4", "near_bodies": "<i4", "near_faces": "<i4", "near_distance": "<f8",
               "motion_frame": "<i4", "motion_time": "<f8", "motion_bodies": "<i4", "motion_faces": "<i4", "motion_kind": "|i1"}
    with zipfile.ZipFile(tmp_path / "pairs.npz") as archive:
        assert [member.filename for member in archive.infolist()] == [f"{name}.npy" for name in ("meta", *columns)]
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
    with np.load(tmp_path / "pairs.npz", allow_pickle=False) as file:
        about = json.loads(file["meta"].tobytes())
        assert about == {"format": "pliant pairs 4", "states": ["new", "static", "known", "between frames"], "within": 0.01,
                         "between_frames": False, "baseline": None, "enclosed": [[0, 2], [1, 2]]}
        assert json.loads(file["names"].tobytes()) == list(scene.names)
        assert file["face_counts"].tolist() == [len(faces) for faces in scene.faces] and file["frames"].tolist() == [2, 3]
        assert {name: file[name].dtype.str for name in columns} == columns
