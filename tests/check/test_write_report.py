"""What a check and a recorder tell in a report: positions, marked faces, charts and tables, taken apart by an independent reader."""

import os

import numpy as np
import pytest

import pliant as pl
import read_report
from pliant import shapes
from pliant.check.plan import CheckOptions
from pliant.check.recorder import Recorder
from pliant.check.run import MOTION_NOTE, Output, check_animation
from pliant.io.animation import Animation, FrameActor

FRAMES, FAR = 5, np.array([1e7, -3e7, 2e7])


class Two:
    """A cloth that folds and a ball in it, far from the origin."""

    def __init__(self):
        self.cloth, (self.directions, self.ball) = shapes.folding_cloth(200, FRAMES), shapes.icosphere(1)

    def meshes(self, frame):
        yield self.cloth.frame(frame) + FAR, self.cloth.faces
        yield 0.2 * self.directions + (0.5, 0.5, 0.05 * frame) + FAR, self.ball

    def bodies(self):
        return [pl.Body(vertices, faces) for vertices, faces in self.meshes(0)]

    def pairs(self, frame):
        scene = pl.Scene([pl.Body(vertices, faces) for vertices, faces in self.meshes(frame)])
        return scene.collide(self_pairs=True)


@pytest.fixture(scope="module")
def two():
    made = Two()
    assert all(len({tuple(row) for row in made.pairs(frame).bodies.tolist()}) > 0 for frame in (1, 2, 3))
    return made


def as_found(two, path, drawn=range(FRAMES), most=None):
    """What the report tells is what is found anew; `most`: pairs of its first contact."""
    told, blocks = read_report.parts(path)
    frames = read_report.frames(told, blocks)
    assert told["shown"] == list(frames) == list(drawn) and [body["name"] for body in told["bodies"]] == ["cloth", "ball"]
    loads = {}
    shift = None
    for place, bodies in frames.items():
        pairs = two.pairs(place)
        for number, ((vertices, faces), body) in enumerate(zip(two.meshes(place), bodies, strict=True)):
            corners, right = np.array(body.positions)[np.array(body.faces, int)], vertices[faces]
            shift = (right - corners).reshape(-1, 3).mean(axis=0) if shift is None else shift
            assert np.abs(corners + shift - right).max() < 1e-4 * np.ptp(right.reshape(-1, 3), axis=0).max()
            assert body.marked == sorted(set(pairs.faces[pairs.bodies == number].tolist()))
    for place in range(FRAMES):
        rows = two.pairs(place).bodies
        assert sum(column["values"][place] for column in told["counts"]) == len(rows)
        for number in (0, 1):
            count = int((rows == number).any(axis=1).sum())
            loads |= {(place, number): count} if count else {}
    assert {(place, body): pairs for place, body, pairs in told["load"]} == loads
    place, first, second, pairs, *centre, radius = told["contacts"][0]
    here = two.pairs(place)
    mine = here.faces[(here.bodies == [first, second]).all(axis=1), 0]
    vertices, faces = list(two.meshes(place))[first]
    assert pairs == len(mine) == (most if most is not None else len(mine))
    assert np.linalg.norm(vertices[faces[mine]].reshape(-1, 3) - shift - centre, axis=1).max() < 1.01 * radius
    return told


def test_the_report_of_a_check(two, tmp_path):
    reads = [lambda frame, place=place: list(two.meshes(frame))[place] for place in (0, 1)]
    actors = [FrameActor(name, FRAMES, read) for name, read in zip(("cloth", "ball"), reads, strict=True)]
    animation = Animation("far away", actors, FRAMES, 12.5, "y", "km", ("a note",))
    check_animation(animation, CheckOptions(), Output(tmp_path, plots=False))
    told = as_found(two, tmp_path / "report.html")
    assert (told["title"], told["rate"], told["up"], told["unit"], told["notes"]) == ("far away", 12.5, "y", "km", ["a note", MOTION_NOTE])
    assert all(body["levels"] for body in told["bodies"])


@pytest.mark.parametrize("every", [1, 2])
def test_the_report_of_a_recorder(two, tmp_path, every):
    bodies = two.bodies()
    scene = pl.Scene(bodies)
    with Recorder(tmp_path / "new", dict(zip(("cloth", "ball"), bodies, strict=True)), every=every, up="z") as recorder:
        for frame in range(FRAMES):
            for body, (vertices, _) in zip(bodies, two.meshes(frame), strict=True):
                body.update(vertices)
            recorder.add(frame, scene.collide(self_pairs=True))
    assert recorder.write() == tmp_path / "new" / "report.html"
    most = max(len(two.pairs(k).bodies[(two.pairs(k).bodies == [i, j]).all(axis=1)])
               for k in range(FRAMES) for i, j in ((0, 0), (0, 1), (1, 1)))  # fmt: skip
    as_found(two, tmp_path / "new" / "report.html", range(0, FRAMES, every), most)
    assert os.listdir(tmp_path / "new") == ["report.html"]


def test_a_recording_that_fails_leaves_nothing(two, tmp_path):
    bodies = two.bodies()
    with pytest.raises(ZeroDivisionError), Recorder(tmp_path, {"cloth": bodies[0]}) as recorder:
        recorder.add(0, pl.Scene(bodies[:1]).collide(self_pairs=True))
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_what_a_recorder_refuses(two, tmp_path):
    bodies = two.bodies()
    pairs = pl.Scene(bodies).collide()
    with Recorder(tmp_path, {"cloth": bodies[0], "ball": bodies[1]}) as recorder:
        with pytest.raises(ValueError, match="frames: there are none; call add"):
            recorder.write()
        recorder.add(3, pairs)
        with pytest.raises(ValueError, match="frame: expected a number above that of the last frame, 3, got 3"):
            recorder.add(3, pairs)
    recorder.write()
