"""Resampling: vertices between frames are on straight lines; frames of the file stay what they are."""

import numpy as np
import pytest

import mesh_files
from mesh_files import CUBE
from pliant.errors import ArgumentError, FileError
from pliant.io.animation import Actor, Animation, FrameActor, Settings
from pliant.io.read import read
from pliant.io.resampling import resample

FACES = np.array([[0, 1, 2]], np.int32)
SHAPES = np.random.default_rng(3).normal(size=(5, 3, 3))


def moving(frames=5, rate=10.0, labels=None):
    reads = []

    def frame(k):
        reads.append(k)
        return SHAPES[k], FACES

    return Animation("flap", [FrameActor("flap", frames, frame), FrameActor("still", 1, lambda k: (SHAPES[0], FACES))], frames, rate,
                     frame_labels=labels), reads


@pytest.mark.parametrize("rate", [10.0, 20.0, 25.0, 7.0, 5.0, 2.0, 40.0])
def test_vertices_are_interpolated(rate):
    animation, _ = moving()
    found = resample(animation, rate)
    assert found.frames == int(4 / 10 * rate + 1e-9) + 1 and found.rate == rate
    assert [actor.frames for actor in found.actors] == [found.frames, 1]
    for k in range(found.frames):
        position = k * 10 / rate
        before = min(int(position + 1e-9), 4)
        part = position - before
        expected = SHAPES[before] if part < 1e-6 else (1 - part) * SHAPES[before] + part * SHAPES[before + 1]
        vertices, faces = found.actors[0].mesh(k)
        np.testing.assert_allclose(vertices, expected, rtol=1e-12)
        assert faces is FACES
        if abs(position - round(position)) < 1e-9:
            assert np.array_equal(vertices, SHAPES[round(position)])


def test_what_has_the_rate_is_left_alone_and_frames_are_read_once():
    animation, reads = moving()
    assert resample(animation, None) is resample(animation, 10.0) is animation
    found = resample(animation, 40.0)
    for k in range(found.frames):
        found.actors[0].mesh(k)
    assert reads == [0, 1, 2, 3, 4]
    assert found.notes == ("flap: has 10 frames a second, which are sampled 40 times; vertices between frames are interpolated in straight "
                           "lines",)  # fmt: skip


def test_labels_are_interpolated_if_they_are_numbers():
    labels = ["1001", "1002", "1003", "1004", "1005"]
    assert resample(moving(labels=labels)[0], 20.0).frame_labels[:4] == ["1001", "1001.5", "1002", "1002.5"]
    assert resample(moving(labels=labels)[0], 5.0).frame_labels == ["1001", "1003", "1005"]
    assert resample(moving(labels=list("abcde"))[0], 20.0).frame_labels is None


def test_between_other_faces_there_is_nothing(tmp_path):
    files = [tmp_path / f"fluid_{k}.obj" for k in range(3)]
    for k, path in enumerate(files):
        path.write_bytes(mesh_files.obj(CUBE + k, mesh_files.FACES[: 12 - 4 * (k == 2)]))
    found = read(files, Settings(rate=60, numbered="frames"))
    (actor,) = found.actors
    assert found.frames == 5 and np.array_equal(actor.at(1).vertices, CUBE + 0.5) and len(actor.at(4).faces) == 8
    with pytest.raises(FileError, match=r"fluid_1\.obj: fluid: its faces change between frames 1 and 2, .* --rate is for faces that stay"):
        actor.at(3)
    assert read(files, Settings(rate=15, numbered="frames")).actors[0].at(1).faces.shape == (8, 3)


def test_rates_that_cannot_be_had_are_refused():
    with pytest.raises(ArgumentError, match="rate: at 1e\\+07 a second flap has 4,000,001 frames"):
        resample(moving()[0], 1e7)
    other = Animation("other", [Actor("other", 3)], 3, 10.0)
    with pytest.raises(ArgumentError, match="rate: other has 10 frames a second, and its reader knows no others, got 20"):
        resample(other, 20.0)
