"""glTF files that lie: whatever is in them, a `FileError` of one line comes out, or an animation; soon, and in little memory."""

import json
import os
import struct
import time
import tracemalloc
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gltfs
from pliant.errors import FileError
from pliant.io.animation import Settings
from pliant.io.gltf.gltf import read_gltf
from trials import often

NASTY = (None, True, False, -1, 0, 1, 2, 3, 255, 4096, 2**31, 2**32, 2**53, 2**63, 10**30, 0.5, -1e-300, 1e300, 1e308, "", "x", "5",
         "VEC3", "MAT4", "../secret", "/etc/passwd", "data:,", "http://localhost/a.bin", "LINEAR",
         [], [0], [[]], [0, 0, 0, 0], [1e308] * 16, {}, {"a": 1})


@pytest.fixture(scope="module")
def good():
    """(document, blob) of a file in which there is something of everything."""
    scene = gltfs.Scene(2, nodes=5)
    scene.mesh(0).mesh(1, targets=2).mesh(2, skinned=True).mesh(3, skinned=True, targets=2).mesh(4)
    scene.animate(4, "translation", "LINEAR", keys=3)
    return scene


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def document(good, folder):
    """The JSON of that file."""
    good.write(folder / "good.glb")
    return good.writer.document | {"buffers": [{"byteLength": len(good.writer.blob)}]}


def survives(path):
    """Reading this file, and some frames, ends well or in a line that names the file; whether it ended well."""
    try:
        animation = read_gltf(path, Settings(rate=5.0))
        for actor in animation.actors:
            body = actor.at(0, weld=True)
            actor.at(animation.frames - 1, body)
    except FileError as error:
        assert "\n" not in str(error) and "a." in str(error)
        return False
    return True


def places(value, at=()):
    """All paths into a JSON value, itself included."""
    yield at
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(below, (*at, key))


def changed(document, at, value, delete=False):
    """The document with another value there, or without that one."""
    made = deepcopy(document)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    if delete:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return made


def test_the_good_file_is_good(good, document, folder):
    path = folder / "a.glb"
    path.write_bytes(gltfs.glb(json.dumps(document).encode(), good.writer.blob))
    assert survives(path)
    assert {actor.kind for actor in read_gltf(path).actors} == {"blended", "free", "morph", "rigid"}


@often(250)
@given(data=st.data())
def test_other_values_in_the_json(good, document, folder, data):
    made = document
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.sampled_from(list(places(made))[1:]))
        made = changed(made, at, data.draw(st.sampled_from(NASTY)), data.draw(st.integers(0, 4)) == 0)
    path = folder / "a.glb"
    path.write_bytes(gltfs.glb(json.dumps(made).encode(), good.writer.blob))
    survives(path)


@often(100)
@given(data=st.data())
def test_other_bytes_in_the_file(good, document, folder, data):
    raw = bytearray(gltfs.glb(json.dumps(document).encode(), good.writer.blob))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 4))
        raw[at:at + 4] = data.draw(st.sampled_from([b"\xff\xff\xff\x7f", b"\0\0\x80\x7f", b"\xff\xff\xff\xff", bytes(4), b"[[[["]))
    path = folder / "a.glb"
    path.write_bytes(raw[:data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw)
    survives(path)


@often(60)
@given(data=st.data())
def test_other_numbers_in_the_buffer(good, document, folder, data):
    numbers = np.frombuffer(good.writer.blob[:len(good.writer.blob) // 4 * 4], "<f4").copy()
    for _ in range(data.draw(st.integers(1, 6))):
        numbers[data.draw(st.integers(0, len(numbers) - 1))] = data.draw(st.sampled_from([np.nan, np.inf, 3.4e38, -3.4e38, 1e-45, 0.0]))
    path = folder / "a.glb"
    path.write_bytes(gltfs.glb(json.dumps(document).encode(), numbers.tobytes()))
    survives(path)


REFUSED = {
    "accessors[0].count: 1,073,741,824 elements need": (("accessors", 0, "count"), 2**30),
    "accessors[0].componentType: expected one of": (("accessors", 0, "componentType"), 5124),
    "accessors[0].count: expected an integer from 0 to": (("accessors", 0, "count"), 2**60),
    "bufferViews[0].byteLength: ends at byte": (("bufferViews", 0, "byteLength"), 10**6),
    "buffers[0].byteLength: announces 10,000,000 bytes": (("buffers", 0, "byteLength"), 10**7),
    "nodes[0].children: nodes[1] hangs on nodes[0] already": (("nodes", 0, "children"), [1, 1]),
    "children[0]: expected an integer from 0 to 4, got 9": (("nodes", 0, "children"), [9]),
    "nodes[0].children: hangs on itself": (("nodes", 0, "children"), [0]),
    "nodes[0].mesh: expected an integer from 0 to 4, got '0'": (("nodes", 0, "mesh"), "0"),
    "skins[0].joints: expected at least one": (("skins", 0, "joints"), []),
    "meshes[0].primitives[0].mode: expected an integer": (("meshes", 0, "primitives", 0, "mode"), 7),
    "meshes[0].primitives: expected a list": (("meshes", 0, "primitives"), {}),
    "asset.version: expected glTF 2.0, got '1.0'": (("asset", "version"), "1.0"),
    "asset.minVersion: ": (("asset", "minVersion"), "2.1"),
    "needs KHR_draco_mesh_compression, whose geometry is compressed": (("extensionsRequired",), ["KHR_draco_mesh_compression"]),
    "needs 'FOO_bar', which is not known": (("extensionsRequired",), ["FOO_bar"]),
    "interpolation: expected LINEAR, STEP or CUBICSPLINE": (("animations", 0, "samplers", 0, "interpolation"), "CUBIC"),
    "target.path: expected one of": (("animations", 0, "channels", 0, "target", "path"), "colour"),
    "its base64 is damaged": (("buffers", 0, "uri"), "data:application/octet-stream;base64,AA!A"),
    "expected data in base64": (("buffers", 0, "uri"), "data:image/png;base64,AAAA"),
    "which is outside its folder": (("buffers", 0, "uri"), "..%2Fa.bin"),
    "refers to 'http://localhost/a.bin'": (("buffers", 0, "uri"), "http://localhost/a.bin"),
    "no such file": (("buffers", 0, "uri"), "absent.bin"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_errors_name_the_place(good, document, folder, message):
    path = folder / "a.glb"
    path.write_bytes(gltfs.glb(json.dumps(changed(document, *REFUSED[message])).encode(), good.writer.blob))
    with pytest.raises(FileError) as caught:
        read_gltf(path)
    assert str(caught.value).startswith(str(folder)) and message in str(caught.value)


@pytest.mark.parametrize(("raw", "message"), [
    (b"", "not JSON"),
    (b"glTF", "ends within the header"),
    (struct.pack("<4sII", b"glTF", 1, 12), "version 1, expected 2"),
    (struct.pack("<4sII", b"glTF", 2, 99), "truncated"),
    (struct.pack("<4sII", b"glTF", 2, 12), "ends within the header of a chunk"),
    (struct.pack("<4sIIII", b"glTF", 2, 20, 9, 0x4E4F534A), "a chunk announces 9 bytes, but 0 are left"),
    (struct.pack("<4sIIII", b"glTF", 2, 20, 0, 7), "first chunk is not JSON"),
    (b"\xff\xfe{}", "nor a text in UTF-8"),
    (b"[]", "expected an object, got a list"),
    (b"{", "not JSON"),
    (b'{"asset": NaN}', "NaN is not a number of JSON"),
    (b'{"asset": {"version": "2.0"}}', "no triangles"),
    (b"[" * 100_000, "nested too deeply"),
    (b"[" * 4_000_000, "4,000,000 values"),
    (b"1" * 100_000, "not JSON"),
])  # fmt: skip
def test_containers_that_are_none(tmp_path, raw, message):
    path = tmp_path / "a.gltf"
    path.write_bytes(raw)
    with pytest.raises(FileError, match=message):
        read_gltf(path)


def without_data(document):
    del document["accessors"][0]["bufferView"]
    document["meshes"][0]["primitives"][0]["extensions"] = {"KHR_draco_mesh_compression": {"bufferView": 0}}


def of_a_buffer_that_is_not_there(document):
    document["buffers"].append({"byteLength": 36, "extensions": {"EXT_meshopt_compression": {"fallback": True}}})
    document["bufferViews"][0] |= {"buffer": 1, "byteOffset": 0}


def of_unequal_targets(document):
    document["meshes"][0]["primitives"].append({"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}]})


def of_weights_that_are_too_many(document):
    document["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": 0}]
    document["nodes"][0]["weights"] = [1, 2]


def of_a_matrix_that_moves(document):
    document["nodes"][0]["matrix"] = np.eye(4).ravel().tolist()
    channels = [{"sampler": 0, "target": {"node": 0, "path": "scale"}}]
    document["animations"] = [{"samplers": [{"input": 0, "output": 0}], "channels": channels}]


def of_two_channels(document):
    document["accessors"].append({"componentType": 5126, "count": 3, "type": "SCALAR"})
    channels = [{"sampler": 0, "target": {"node": 0, "path": "scale"}}] * 2
    document["animations"] = [{"samplers": [{"input": 1, "output": 0}], "channels": channels}]


def of_a_matrix_that_projects(document):
    document["nodes"][0]["matrix"] = np.ones(16).tolist()


def of_a_node_that_is_no_root(document):
    document |= {"nodes": [{"children": [1]}, {"mesh": 0}], "scenes": [{"nodes": [1]}]}


def of_a_skin_without_joints(document):
    document["skins"], document["nodes"][0]["skin"] = [{"joints": [0]}], 0


@pytest.mark.parametrize(("edit", "message"), [
    (without_data, r"primitives\[0\]: is one of KHR_draco_mesh_compression"),
    (of_a_buffer_that_is_not_there, r"buffers\[1\].uri: missing.*EXT_meshopt_compression"),
    (of_unequal_targets, "as many targets in all"),
    (of_weights_that_are_too_many, r"nodes\[0\].weights: expected a list of 1 numbers, got 2"),
    (of_a_matrix_that_moves, "has a matrix, so that its scale cannot change"),
    (of_two_channels, r"nodes\[0\].scale has a channel already"),
    (of_a_matrix_that_projects, r"nodes\[0\].matrix: its last row is \[1.0"),
    (of_a_node_that_is_no_root, r"scenes\[0\].nodes\[0\]: nodes\[1\] hangs on nodes\[0\]"),
    (of_a_skin_without_joints, "JOINTS_0: missing"),
])  # fmt: skip
def test_files_that_contradict_themselves(tmp_path, edit, message):
    with pytest.raises(FileError, match=message):
        read_gltf(bomb(tmp_path, edit))


def test_links_out_of_the_folder_are_refused(tmp_path):
    (tmp_path / "in").mkdir()
    scene = gltfs.Scene(0, nodes=1, animated=False).mesh(0)
    path = scene.write(tmp_path / "in" / "a.gltf", "beside")
    assert survives(path)
    os.replace(tmp_path / "in" / "a buffer.bin", tmp_path / "secret")
    (tmp_path / "in" / "a buffer.bin").symlink_to(tmp_path / "secret")
    with pytest.raises(FileError, match="outside its folder"):
        read_gltf(path)


def bomb(tmp_path, edit):
    """A file of one triangle, after an edit of its JSON; (its path, the document)."""
    scene = gltfs.Scene(0, nodes=1, animated=False)
    scene.writer.document["accessors"].clear()
    scene.writer.put(np.eye(3))
    document = scene.writer.document | {"nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
                                        "buffers": [{"byteLength": len(scene.writer.blob)}]}
    edit(document)
    path = tmp_path / "a.glb"
    path.write_bytes(gltfs.glb(json.dumps(document).encode(), scene.writer.blob))
    return path


def chain(document):
    document["nodes"] = [{"children": [k + 1], "translation": [0, 0, 1e-5]} for k in range(10_000)] + [{"mesh": 0}]


def many_nodes(document):
    document["nodes"] = [{"mesh": 0}] * 200_000


def many_actors(document):
    document["nodes"] = [{"mesh": 0}] * 10_001


def zeros(document):
    document["accessors"][0] = {"componentType": 5126, "count": 2**30, "type": "VEC3"}


def many_targets(document):
    document["accessors"][0] = {"componentType": 5126, "count": 1_000_000, "type": "VEC3"}
    document["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": 0}] * 1_000


def many_primitives(document):
    document["accessors"][0] = {"componentType": 5126, "count": 1_000_000, "type": "VEC3"}
    document["meshes"][0]["primitives"] *= 10_000


def many_meshes(document):
    document["accessors"][0] = {"componentType": 5126, "count": 1_000_000, "type": "VEC3"}
    document["meshes"] *= 1_000
    document["nodes"] = [{"mesh": k} for k in range(1_000)]


def idle_vertices(document):
    """Many meshes have a triangle each of one large accessor: each takes the three vertices that it names."""
    document["accessors"][0] = {"componentType": 5126, "count": 2_000_000, "type": "VEC3"}
    document["accessors"].append({"bufferView": 0, "byteOffset": 1, "componentType": 5121, "count": 3, "type": "SCALAR"})
    document["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}] * 1_000
    document["nodes"] = [{"mesh": k} for k in range(1_000)]


def shared_channels(document):
    """What one accessor holds moves thousands of nodes."""
    few = {"count": 1, "indices": {"bufferView": 0, "componentType": 5121}, "values": {"bufferView": 0}}
    document["accessors"] += [{"componentType": 5126, "count": 100_000, "type": "SCALAR"},
                              {"componentType": 5126, "count": 100_000, "type": "VEC3", "sparse": few}]
    document["nodes"] += [{}] * 3_000
    channels = [{"sampler": 0, "target": {"node": k, "path": "translation"}} for k in range(3_000)]
    document["animations"] = [{"samplers": [{"input": 1, "output": 2}], "channels": channels}]


def shared_weights(document):
    """One mesh follows many skins."""
    document["accessors"] = [{"componentType": 5126, "count": 100_000, "type": "VEC3"},
                             {"componentType": 5121, "count": 100_000, "type": "VEC4"},
                             {"componentType": 5126, "count": 100_000, "type": "VEC4"}]
    document["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}}]}]
    document["skins"] = [{"joints": [0]}] * 150
    document["nodes"] = [{"mesh": 0, "skin": k} for k in range(150)]


def much_scale(document):
    document["nodes"] = [{"children": [k + 1], "scale": [10, 10, 10]} for k in range(1_000)] + [{"mesh": 0}]


def long_clip(document):
    """Times are 0 and, a row of the triangle read as an unsigned integer, 1,065,353,216 seconds."""
    document["accessors"] += [{"bufferView": 0, "byteOffset": 12, "componentType": 5125, "type": "SCALAR", "count": 2},
                              {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 2}]
    channels = [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]
    document["animations"] = [{"samplers": [{"input": 1, "output": 2}], "channels": channels}]


@pytest.mark.parametrize(("edit", "message"), [
    (chain, None),
    (many_nodes, "has 200,000 nodes, at most 150,000 are read"),
    (many_actors, "10,001 nodes"),
    (zeros, "unfolds|at most"),
    (many_targets, "unfolds"),
    (many_primitives, "unfolds"),
    (many_meshes, "unfolds|at most"),
    (idle_vertices, None),
    (shared_channels, "channels of translation: unfolds"),
    (shared_weights, r"meshes\[0\] with skins\[[0-9]+\]: unfolds"),
    (much_scale, "beyond the largest numbers"),
    (long_clip, "more than 1,000,000 frames"),
])  # fmt: skip
def test_bombs_are_refused_soon(tmp_path, edit, message):
    path, began = bomb(tmp_path, edit), time.process_time()
    tracemalloc.start()
    try:
        if message is None:
            assert len(read_gltf(path).actors[0].at(0).vertices) == 3
        else:
            with pytest.raises(FileError, match=message):
                read_gltf(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 28
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 30  # unfolded they would take minutes
