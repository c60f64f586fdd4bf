"""Reports that are taken apart again by an independent reader: what is written is what was told, however little room there is."""

import base64
import hashlib
import os
import re

import numpy as np
import pytest
from stories import HOSTILE, halves, report_data, snapshots

import read_report
from pliant.report import temp_frames
from pliant.report.data import Contact, ReportBody, ReportEvent, Snapshot, Verdict
from pliant.report.html import write_report


def same_as_told(told, found):
    """Positions within 1/16,000 of a body's size, faces and marked faces as they were; vertices that no face has may be missing."""
    for (vertices, faces), marked, body in zip(told.meshes, told.marked, found, strict=True):
        corners = np.array(body.positions)[np.array(body.faces, int)]
        size = np.ptp(vertices[faces].reshape(-1, 3), axis=0).max()
        assert np.linalg.norm(corners - vertices[faces], axis=2).max() <= size / 16_000
        assert np.array_equal(body.marked, marked)


def test_everything_is_there(tmp_path):
    path = write_report(tmp_path / "new" / "report.html", report_data())
    told, blocks = read_report.parts(path)
    found = read_report.frames(told, blocks)
    expected = report_data()
    assert told["shown"] == list(found) == list(range(12))
    for place, snapshot in enumerate(snapshots(expected.frames)):
        same_as_told(snapshot, found[place])
    assert told["frames"] == expected.frames.tolist() and told["up"] == "y" and told["rate"] == 25.0
    assert {each["name"]: each["values"] for each in told["counts"]} == {name: values.tolist() for name, values in expected.counts.items()}
    assert told["contacts"] == [[9, 0, 1, 40, 0.5, 0.25, -0.125, 0.5], [2, 1, 1, 30, 1.0, 0.0, 0.0, 0.25]]
    assert sorted(told["load"]) == [[2, 1, 30], [9, 0, 40], [9, 1, 40]]
    assert [path.name for path in path.parent.iterdir()] == ["report.html"]


def test_hierarchies_are_there(tmp_path):
    told, blocks = read_report.parts(write_report(tmp_path / "report.html", report_data()))
    order, levels = read_report.hierarchy(told, blocks, 1)
    expected = halves(80)
    assert order == expected.order.tolist()
    assert [[list(each) for each in level] for level in levels] == [level.tolist() for level in expected.levels]
    assert told["bodies"][2]["levels"] == [] and "hierarchy-2" not in blocks


def test_the_outline_is_that_of_all_frames(tmp_path):
    told, _ = read_report.parts(write_report(tmp_path / "report.html", report_data()))
    rows = np.concatenate([vertices[np.unique(faces)] for each in snapshots(report_data().frames) for vertices, faces in each.meshes])
    points, axes = np.array(told["outline"]), temp_frames.ExtremePoints.AXES
    assert len(axes) == 13 and len({tuple(axis) for axis in np.concatenate([axes, -axes])}) == 26
    for axis in np.concatenate([axes, -axes]):
        assert (points @ axis).max() == pytest.approx((rows @ axis).max(), rel=1e-3)


def test_a_body_that_stands_still_is_told_once(tmp_path):
    """The grid follows the middle, so one that is moved as a whole is as well."""
    (vertices, faces), *_ = next(snapshots([0])).meshes

    def sizes(step):
        shown = [Snapshot(int(frame), [(vertices + frame * step, faces)], [np.empty(0, np.int32)]) for frame in report_data().frames]
        path = write_report(tmp_path / "report.html", report_data(bodies=[ReportBody("one", "rigid")], contacts=[], snapshots=shown))
        told, blocks = read_report.parts(path)
        read_report.frames(told, blocks)
        return sum(len(blocks[name]) for name in blocks)

    assert sizes(np.zeros(3)) == sizes(np.array([1024.0, 0, 0])) == 12 * 60 + 12 * len(faces) + 6 * len(vertices)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_absurd_sizes(tmp_path, scale):
    (vertices, faces), *_ = next(snapshots([3])).meshes
    told = Snapshot(10, [(vertices.astype(np.float64) * scale, faces)], [np.array([2, 5], np.int32)])
    path = write_report(tmp_path / "report.html", report_data(bodies=[ReportBody("one", "free")], contacts=[], snapshots=[told]))
    same_as_told(told._replace(meshes=[(vertices, faces)]), [
        each._replace(positions=np.array(each.positions) / scale) for each in read_report.frames(*read_report.parts(path))[0]])  # fmt: skip


def test_points_and_nothing(tmp_path):
    """A body whose vertices are all in one place, one without faces, one without anything."""
    none = np.empty((0, 3))
    meshes = [(np.ones((3, 3)), np.array([[0, 1, 2]])), (np.ones((3, 3)), none.astype(int)), (none, none.astype(int))]
    shown = [Snapshot(10, meshes, [np.array([0]), none[:, 0].astype(int), none[:, 0].astype(int)])]
    bodies = [ReportBody("a", "free"), ReportBody("b", "free"), ReportBody("c", "free")]
    found = read_report.frames(
        *read_report.parts(write_report(tmp_path / "report.html", report_data(bodies=bodies, contacts=[], snapshots=shown))))
    assert found[0][0].positions == [(1.0, 1.0, 1.0)] * 3 and found[0][0].marked == [0]
    assert found[0][1].positions == found[0][2].positions == []


def test_frames_are_left_out_evenly(tmp_path, monkeypatch):
    """With too little room every second frame is left out, again and again; the first and those of the worst contacts stay."""
    monkeypatch.setattr(temp_frames, "CHUNK_BYTES", 1 << 15)
    frames, shown = report_data(64).frames, []
    path = write_report(tmp_path / "report.html", report_data(64, detail=2))
    whole, told = os.path.getsize(path), sum(len(data) for name, data in read_report.BLOCK.findall(path.read_bytes()) if b"frames" in name)
    for part in (1.1, 0.6, 0.3):
        most = int(whole + (part - 1) * told)
        path = write_report(tmp_path / "report.html", report_data(64, detail=2), most)
        page, blocks = read_report.parts(path)
        found = read_report.frames(page, blocks)
        assert os.path.getsize(path) <= most and page["shown"] == list(found)
        for place, snapshot in enumerate(snapshots(frames, 2)):
            if place in found:
                same_as_told(snapshot, found[place])
        shown.append(page["shown"])
        assert any("of 64 frames" in note for note in page["notes"]) == (len(found) < 64)
        assert len(page["frames"]) == 64
    all_of_them, some, few = shown
    assert all_of_them == list(range(64)) and len(all_of_them) > len(some) > len(few) > 3
    for places in (some, few):
        assert {0, 2, 61} <= set(places)
        assert any(places == sorted({2, 61, *range(0, 64, stride)}) for stride in (2, 4, 8, 16, 32))


def test_a_frame_that_is_too_large(tmp_path):
    """The view is left out, and three.js; all else stays, and all snapshots are taken."""
    taken = []
    shown = (taken.append(each.frame) or each for each in snapshots(report_data().frames, 3))
    path = write_report(tmp_path / "report.html", report_data(detail=3, snapshots=shown), 600_000)
    told, blocks = read_report.parts(path)
    assert told["shown"] == [] and not blocks and "left out" in told["absent"] and told["absent"] in told["notes"]
    assert os.path.getsize(path) < 100_000 and len(told["frames"]) == 12 == len(taken)


def test_hierarchies_that_are_too_large(tmp_path):
    """They give way to frames."""
    many = np.sort(np.random.default_rng(2).integers(0, 81, (300_000, 2)), axis=1).astype(np.int32)
    first = ReportBody("first", "free", halves(80)._replace(levels=[many]))
    report = report_data(bodies=[first, *report_data().bodies[1:]])
    told, blocks = read_report.parts(write_report(tmp_path / "report.html", report, 1_000_000))
    assert len(told["shown"]) == 12 and not any("hierarchy" in name for name in blocks)
    assert any("Bounding volumes are left out" in note for note in told["notes"])
    assert not any(body["levels"] for body in told["bodies"])


def test_without_snapshots(tmp_path):
    told, blocks = read_report.parts(write_report(tmp_path / "report.html", report_data(snapshots=[])))
    assert told["shown"] == [] and not blocks and "no frames were stored" in told["absent"]


def test_a_page_does_not_fill_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(temp_frames, "MAX_INFLATED", 30_000)
    told, blocks = read_report.parts(write_report(tmp_path / "report.html", report_data(40)))
    assert sum(len(blocks[f"frames-{k}"]) for k in range(told["chunks"])) <= 30_000 and 1 < len(told["shown"]) < 40


def test_lists_may_be_filled_in_on_the_way(tmp_path):
    """Whoever looks for collisions while snapshots are taken knows them at the end."""
    contacts, counts = [], np.zeros(12, np.int64)

    def looked_at():
        for place, snapshot in enumerate(snapshots(report_data().frames)):
            counts[place] = place
            contacts.append(Contact(snapshot.frame, 0, 2, place + 1, (0.0, 0.0, 0.0), 1.0))
            yield snapshot

    path = write_report(tmp_path / "report.html", report_data(counts={"all": counts}, contacts=contacts, snapshots=looked_at()))
    told, _ = read_report.parts(path)
    assert told["counts"][0]["values"] == list(range(12)) and len(told["contacts"]) == 12


def test_names_of_strangers(tmp_path):
    bodies = [ReportBody(HOSTILE, HOSTILE), ReportBody("<!--<script>", "\u2028&amp;"), ReportBody("\ud800", "")]
    path = write_report(tmp_path / "report.html", report_data(title=HOSTILE, facts=[(HOSTILE, HOSTILE)], notes=[HOSTILE], bodies=bodies,
                                                        counts={HOSTILE: np.zeros(12, np.int64)}))  # fmt: skip
    content = path.read_bytes()
    assert b"<img" not in content and b"<!--" not in content
    told, _ = read_report.parts(path)
    assert told["title"] == told["notes"][0] == told["bodies"][0]["name"] == told["counts"][0]["name"] == HOSTILE


def test_only_these_scripts_may_run(tmp_path):
    content = write_report(tmp_path / "report.html", report_data()).read_bytes()
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', content)[1].decode()
    scripts, styles = re.findall(rb"<script>(.*?)</script>", content, re.DOTALL), re.findall(rb"<style>(.*?)</style>", content, re.DOTALL)
    hashes = ["'sha256-" + base64.b64encode(hashlib.sha256(text).digest()).decode() + "'" for text in scripts + styles]
    assert len(scripts) == 2 and f"script-src {hashes[0]} {hashes[1]}; style-src {hashes[2]};" in policy
    assert policy.startswith("default-src 'none';") and "connect-src 'none'" in policy and "unsafe" not in policy
    assert b"Copyright" in scripts[0] and b"THE SOFTWARE IS PROVIDED" in scripts[0]
    assert len(re.findall(rb"<script", content)) == content.count(b"</script>")


@pytest.mark.parametrize(("values", "message"), [
    ({"counts": {"all": np.zeros(3, np.int64)}}, "counts: 'all'"),
    ({"counts": {"all": np.full(12, -1)}}, "counts: 'all'"),
    ({"frames": np.zeros(12, np.int32)}, "frames"),
    ({"rate": 0.0}, "rate"),
    ({"up": "w"}, "up"),
    ({"verdict": Verdict("fine", "")}, "verdict: expected one of 'collisions'"),
    ({"frame_labels": ["1"]}, "frame_labels: expected a text for each of 12 frames, got 1"),
    ({"events": [ReportEvent(0, 3, "touching", "new", "", 10, 10, "", 10, "", 1, (0.0, 0.0, 0.0), 1.0)]}, "events"),
    ({"events": [ReportEvent(0, 1, "touching", "new", "", 10, 11, "", 10, "", 1, (0.0, 0.0, 0.0), 1.0)]}, "events"),
    ({"events": [ReportEvent(0, 1, "touching", "between frames", "", 10, 12, "", 10, "", 1, (0.0, 0.0, 0.0), 1.0, 13.0, 10, 12)]},
     "events: .* a time that is not between"),
    ({"events": [ReportEvent(0, 1, "touching", "between frames", "", 10, 12, "", 10, "", 1, (0.0, 0.0, 0.0), 1.0, 10.5, 10, 11)]},
     "events"),
    ({"quiet_counts": {"known": np.zeros(3, np.int64)}}, "counts: 'known'"),
    ({"snapshots": [next(snapshots([10]))._replace(near=[np.array([80])] * 3)]}, "near faces of body 0"),
    ({"snapshots": [next(snapshots([10]))._replace(quiet=[np.array([0])] * 2)]}, "quiet faces of 2 bodies"),
    ({"bodies": [report_data().bodies[0]._replace(polygon_of_face=np.zeros(3, np.int32)), *report_data().bodies[1:]]}, "polygon_of_face"),
    ({"contacts": [Contact(11, 0, 1, 1, (0.0, 0.0, 0.0), 1.0)]}, "contacts"),
    ({"contacts": [Contact(10, 0, 3, 1, (0.0, 0.0, 0.0), 1.0)]}, "contacts"),
    ({"contacts": [Contact(10, 0, 1, 1, (0.0, 0.0, np.nan), 1.0)]}, "JSON"),
    ({"snapshots": list(snapshots([11]))}, "snapshots: frame 11"),
    ({"snapshots": list(snapshots([12, 10]))}, "snapshots: frame 10"),
    ({"bodies": [ReportBody("one", "free")]}, "contacts|snapshots: frame 10 has 3 meshes"),
    ({"snapshots": [next(snapshots([10]))._replace(marked=[np.array([5, 5])] * 3)]}, "marked faces of body 0"),
    ({"snapshots": [next(snapshots([10]))._replace(marked=[np.array([80])] * 3)]}, "marked faces of body 0"),
    ({"snapshots": [Snapshot(10, [(np.zeros((2, 3)), np.array([[0, 1, 2]]))] * 3, [np.empty(0, int)] * 3)]}, "faces"),
    ({"snapshots": [Snapshot(10, [(np.full((3, 3), np.nan), np.array([[0, 1, 2]]))] * 3, [np.empty(0, int)] * 3)]}, "vertices"),
    ({"bodies": [ReportBody("first", "free", halves(79)), *report_data().bodies[1:]]}, r"bodies\[0\]"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, values, message):
    """And nothing is left behind."""
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "report.html", report_data(**values))
    assert not list(tmp_path.iterdir())


def test_no_room_at_all(tmp_path):
    with pytest.raises(ValueError, match="most_bytes: expected a positive number, got 0"):
        write_report(tmp_path / "report.html", report_data(), 0)
