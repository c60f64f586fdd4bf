"""Numbered files are frames if their faces are the same, and bodies if all differ; what is not clear is refused."""

import pytest

import mesh_files
from mesh_files import CUBE
from pliant.errors import ArgumentError, FileError
from pliant.io.animation import Settings
from pliant.io.read import read


def saved(folder, names, sizes, suffix="obj"):
    """A file of each name, with so many faces of a cube."""
    files = [folder / f"{name}.{suffix}" for name in names]
    for k, (path, size) in enumerate(zip(files, sizes, strict=True)):
        faces = mesh_files.FACES[:size]
        path.write_bytes(mesh_files.obj(CUBE + k, faces) if suffix == "obj" else mesh_files.stl(CUBE + k, faces))
    return files


def actors(found):
    return [(actor.name, actor.frames, actor.kind) for actor in found.actors]


@pytest.mark.parametrize("suffix", ["obj", "stl"])
def test_links_of_a_robot_are_bodies(tmp_path, suffix):
    files = saved(tmp_path, [f"link{k}" for k in range(7)], range(3, 10), suffix)
    found = read(files)
    assert actors(found) == [(f"link{k}", 1, "free") for k in range(7)] and found.frames == 1
    assert found.notes == (f"link0.{suffix} … link6.{suffix} have other faces each, and are 7 bodies; --as frames reads them as frames of "
                           "one animation",)  # fmt: skip
    assert actors(read(files, Settings(numbered="frames"))) == [("link", 7, "soup")]
    assert read(tmp_path).frames == 1


def test_frames_of_one_mesh_are_frames_unless_somebody_says_so(tmp_path):
    files = saved(tmp_path, [f"cloth_{k}" for k in range(5)], [12] * 5)
    assert actors(read(files)) == [("cloth", 5, "free")]
    bodies = read(files, Settings(numbered="bodies"))
    assert actors(bodies) == [(f"cloth_{k}", 1, "free") for k in range(5)] and bodies.notes == () and bodies.name == "cloth"


@pytest.mark.parametrize(("names", "sizes", "message"), [
    ([f"part{k}" for k in range(4)], [3, 4, 3, 5], "some files have the same faces and some have others"),
    ([f"part{k}" for k in range(4)], [12, 12, 12, 5], "some files have the same faces and some have others"),
    ([f"part_{k:04}" for k in range(4)], [3, 4, 5, 6], "all files have other faces"),
    ([f"part{k}" for k in range(70)], [*range(3, 12), *[1 + k % 11 for k in range(60)], 2], "files have"),
])
def test_what_is_not_clear_is_refused(tmp_path, names, sizes, message):
    files = saved(tmp_path, names, sizes)
    with pytest.raises(FileError, match=f"{message}.*--as frames reads {len(files)} frames of one animation, --as bodies"):
        read(files)
    assert read(files, Settings(numbered="frames")).frames == len(files)
    assert len(read(files, Settings(numbered="bodies")).actors) == len(files)


def test_an_empty_file_is_a_frame(tmp_path):
    files = saved(tmp_path, ["drop0", "drop1", "drop2"], [0, 4, 8])
    assert actors(read(files)) == [("drop", 3, "soup")]


def test_many_files_with_the_same_faces_at_both_ends_are_not_all_read(tmp_path, monkeypatch):
    files = saved(tmp_path, [f"cloth_{k}" for k in range(40)], [12] * 40)
    opened = []
    from pliant.io import meshes

    original = meshes.read_parts
    monkeypatch.setattr(meshes, "read_parts", lambda path: opened.append(path.name) or original(path))
    assert read(files).frames == 40 and opened == ["cloth_0.obj", "cloth_39.obj"]


def test_kinds_that_are_none_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="numbered: expected 'frames' or 'bodies', got 'both'"):
        read(saved(tmp_path, ["a"], [3]), Settings(numbered="both"))


def test_numbers_of_files_are_labels_of_frames(tmp_path):
    files = saved(tmp_path, [f"cloth.{k:04}" for k in (1001, 1002, 1004)], [12] * 3)
    assert read(files).frame_labels == ["1001", "1002", "1004"]
    assert read(files, Settings(start=5)).frame_labels == ["5", "6", "7"]
    assert read(saved(tmp_path, ["a0", "a1"], [3, 3])).frame_labels is None, "the same as without labels"
