"""glTF files: triangles are where plain formulas put them, in every frame, whatever kind of body an actor is."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gltfs
from pliant.io.animation import FrameActor, Settings
from pliant.io.gltf.gltf import read_gltf

KINDS = ("glb", "embedded", "beside")
RATE = 7.3


def compare(scene, path, frames=None):
    """All actors in several frames, in no order; the kinds of them."""
    animation = read_gltf(path, Settings(rate=RATE))
    start, end = scene.times()
    assert animation.frames == int((end - start) * RATE) + 1
    nodes = [node for node in walk(scene) if "mesh" in scene.nodes[node]]
    assert len(nodes) == len(animation.actors)
    for node, actor in zip(nodes, animation.actors, strict=True):
        body = None
        for frame in frames or (0, animation.frames - 1, animation.frames // 2, animation.frames + 5):
            body = actor.at(frame, body, weld=True)
            time = start + min(frame, animation.frames - 1) / RATE
            np.testing.assert_allclose(body.vertices[body.faces], scene.triangles(node, time), rtol=1e-9, atol=1e-9)
    return [actor.kind for actor in animation.actors]


def walk(scene, parent=-1):
    """Nodes, parents before children."""
    for number, node in enumerate(scene.nodes):
        if node["parent"] == parent:
            yield number
            yield from walk(scene, number)


@pytest.mark.parametrize("seed", range(12))
def test_scaled_nodes(tmp_path, seed):
    scene = gltfs.Scene(seed)
    for node in range(0, 6, 2):
        scene.mesh(node)
    assert set(compare(scene, scene.write(tmp_path / "a.gltf", KINDS[seed % 3]))) <= {"rigid", "blended"}


@pytest.mark.parametrize("seed", range(4))
def test_nodes_without_scale_are_rigid(tmp_path, seed):
    scene = gltfs.Scene(100 + seed, scaled=False)
    for node in range(0, 6, 2):
        scene.mesh(node)
    assert set(compare(scene, scene.write(tmp_path / "a.glb"))) == {"rigid"}


@pytest.mark.parametrize("seed", range(8))
def test_morph_targets(tmp_path, seed):
    scene = gltfs.Scene(200 + seed, scaled=seed % 2 == 1)
    scene.mesh(2, targets=1 + seed % 4, varies=seed % 3 < 2).mesh(5, targets=2)
    kinds = set(compare(scene, scene.write(tmp_path / "a.glb")))
    assert kinds <= {"morph", "free"}
    assert seed % 2 or kinds == {"morph"}


@pytest.mark.parametrize("seed", range(8))
def test_skins(tmp_path, seed):
    scene = gltfs.Scene(300 + seed).mesh(1, skinned=True).mesh(4, skinned=True, targets=2, varies=False)
    assert compare(scene, scene.write(tmp_path / "a.glb")) == ["blended", "blended"]


@pytest.mark.parametrize("seed", range(4))
def test_skins_with_morph_targets(tmp_path, seed):
    scene = gltfs.Scene(400 + seed, nodes=4)
    scene.mesh(3, skinned=True, targets=3)
    changes = len(scene.channels[-1][3]) > 1
    assert compare(scene, scene.write(tmp_path / "a.glb")) == ["free" if changes else "blended"]


@pytest.mark.parametrize("how", ["LINEAR", "STEP", "CUBICSPLINE"])
@pytest.mark.parametrize("path", ["translation", "rotation", "scale", "weights"])
def test_every_interpolation_of_every_property(tmp_path, path, how):
    """Looked at more finely than keys are apart, before the first of them and after the last."""
    scene = still(targets=2 * (path == "weights"), varies=False)
    scene.animate(0, path, how, 2, keys=4)
    scene.nodes.append({**scene.nodes[0], "translation": np.ones(3)})
    del scene.nodes[1]["mesh"]
    scene.animate(1, "translation", "LINEAR", keys=9)
    frames = read_gltf(scene.write(tmp_path / "a.glb"), Settings(rate=RATE)).frames
    assert frames > 5
    compare(scene, tmp_path / "a.glb", range(frames))


def still(seed=0, **more):
    """A scene of one node that rests at the origin, with a mesh."""
    scene = gltfs.Scene(seed, nodes=1, animated=False, scaled=False)
    scene.nodes[0] = {"parent": -1, "translation": np.zeros(3), "rotation": np.array([0, 0, 0, 1.0]), "scale": np.ones(3)}
    return scene.mesh(0, **more)


def test_a_file_without_clips_rests(tmp_path):
    animation = read_gltf(still().write(tmp_path / "a.glb"))
    assert (animation.frames, animation.rate, animation.up, animation.unit, animation.notes) == (1, 30.0, "y", "m", ())
    assert (animation.name, animation.files) == ("a", (tmp_path / "a.glb",))
    actor, = animation.actors
    body = actor.at(0)
    assert actor.frames == 1 and actor.at(3, body) is body


def test_files_that_were_read_are_named(tmp_path):
    assert read_gltf(still().write(tmp_path / "a.gltf", "beside")).files == (tmp_path / "a.gltf", tmp_path / "a buffer.bin")


def test_a_node_that_turns_far_stays_rigid(tmp_path):
    """Quaternions of a file are of length 1 in float32 only; a hundred of them on top of each other are rigid all the same."""
    scene = gltfs.Scene(3, nodes=100, scaled=False, animated=False)
    for number, node in enumerate(scene.nodes):
        rotation = scene.rng.normal(size=4)
        scene.nodes[number] = {"parent": number - 1, "translation": node.get("translation", np.zeros(3)), "scale": np.ones(3),
                               "rotation": (1.0001 * rotation / np.linalg.norm(rotation)).astype(np.float32).astype(np.float64)}
    scene.animate(50, "rotation", "LINEAR")
    scene.mesh(99)
    assert compare(scene, scene.write(tmp_path / "a.glb")) == ["rigid"]


def test_a_rotation_that_a_spline_takes_through_zero_stays(tmp_path):
    """From q to −q on a straight line: half way there is no rotation, and before and after it the same one."""
    scene = still()
    key, zero = np.array([0.6, 0, 0, 0.8]), np.zeros(4)
    values = np.array([[zero, key, zero], [zero, -key, zero]]).reshape(-1, 4)
    times, output = scene.writer.put([0, 1]), scene.writer.put(values)
    scene.document("samplers").append({"input": times, "output": output, "interpolation": "CUBICSPLINE"})
    scene.document("channels").append({"sampler": 0, "target": {"node": 0, "path": "rotation"}})
    actor, = read_gltf(scene.write(tmp_path / "a.glb"), Settings(rate=2)).actors
    turned = scene.triangles(0, 0.0) @ gltfs.composed({**scene.nodes[0], "rotation": key})[:3, :3].T
    for frame in range(3):
        body = actor.at(frame)
        np.testing.assert_allclose(body.vertices[body.faces], turned, atol=1e-7)


def test_a_scale_that_hardly_differs_from_one_is_rigid(tmp_path):
    """As exporters write it: 0.9999999."""
    scene = still()
    scene.nodes[0]["scale"] = np.array([0.9999999, 1, 1.0000001])
    scene.animate(0, "translation", "LINEAR")
    assert compare(scene, scene.write(tmp_path / "a.glb")) == ["rigid"]


def test_a_channel_that_holds_still_is_no_motion(tmp_path):
    scene = still()
    writer = scene.writer
    times, values = writer.put([0, 1, 2]), writer.put(np.tile([2.0, 3, 4], (3, 1)))
    scene.document("samplers").append({"input": times, "output": values})
    scene.document("channels").append({"sampler": 0, "target": {"node": 0, "path": "scale"}})
    animation = read_gltf(scene.write(tmp_path / "a.glb"))
    actor, = animation.actors
    assert (animation.frames, actor.frames, actor.kind) == (61, 1, "rigid")
    body = actor.at(60)
    np.testing.assert_allclose(body.vertices[body.faces], scene.triangles(0, 0.0) * [2, 3, 4])


def test_primitives_that_share_vertices_are_one_surface(tmp_path):
    scene = still()
    first = scene.meshes[0][0]["entry"]
    scene.meshes[0][:] = scene.meshes[0][:1]
    path = scene.write(tmp_path / "a.glb")
    count = len(read_gltf(path).actors[0].at(0).vertices)
    scene.writer.document["meshes"][0]["primitives"] = [first, {**first, "mode": 5}, {**first, "mode": 6}]
    body = read_gltf(scene.writer.write(path)).actors[0].at(0)
    assert len(body.vertices) == count
    primitive = scene.meshes[0][0]
    wanted = [corners for mode in (primitive["mode"], "strip", "fan") for corners in gltfs.listed(mode, primitive["corners"].tolist())]
    assert body.faces.tolist() == [list(corners) for corners in wanted]


def test_meshes_that_share_vertices_have_those_that_they_use(tmp_path):
    """A hundred meshes, each with few of many vertices, would have far more of them together than the file."""
    scene, rows = still(), np.random.default_rng(8).normal(size=(60_000, 3)).astype(np.float32)
    path, put, document = scene.write(tmp_path / "a.glb"), scene.writer.put, scene.writer.document
    at, moves = put(rows), put(rows[::-1])
    corners = [[600 * k + 5, 600 * k + 2, 9] for k in range(100)]
    primitives = [{"attributes": {"POSITION": at}, "indices": put(three, "u4")} for three in corners]
    primitives[50]["targets"] = [{"POSITION": moves}] * 2
    document["meshes"] = [{"primitives": [primitive]} for primitive in primitives]
    document["nodes"] = [{"mesh": k, **({"weights": [0.25, 0.5]} if k == 50 else {})} for k in range(100)]
    document["scenes"] = [{"nodes": list(range(100))}]
    actors = read_gltf(scene.writer.write(path)).actors
    for k in (0, 50, 99):
        body = actors[k].at(0)
        assert len(body.vertices) == 3
        wanted = rows[corners[k]] + (0.75 * rows[::-1][corners[k]].astype(float) if k == 50 else 0)
        np.testing.assert_allclose(body.vertices[body.faces[0]], wanted, rtol=1e-6)


def test_threads_may_ask_for_frames_in_any_order(tmp_path):
    scene = gltfs.Scene(2, nodes=5)
    scene.mesh(0).mesh(1, targets=2).mesh(2, skinned=True).mesh(3, skinned=True, targets=2).mesh(4)
    animation = read_gltf(scene.write(tmp_path / "a.glb"), Settings(rate=40))
    wanted = [[actor.at(frame).vertices for actor in animation.actors] for frame in range(animation.frames)]

    def work(seed):
        bodies = [None] * len(animation.actors)
        for frame in np.random.default_rng(seed).permutation(animation.frames).tolist():
            bodies = [actor.at(frame, body) for actor, body in zip(animation.actors, bodies, strict=True)]
            for body, rows in zip(bodies, wanted[frame], strict=True):
                np.testing.assert_array_equal(body.vertices, rows)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_interleaved_attributes(tmp_path):
    """Positions and displacements take turns in one view."""
    scene = still()
    rows = np.random.default_rng(5).normal(size=(9, 2, 3)).astype("<f4")
    view = scene.writer.view(rows.tobytes(), byteStride=24)
    accessors = scene.writer.document["accessors"]
    accessors += [{"bufferView": view, "byteOffset": 12 * k, "componentType": 5126, "count": 9, "type": "VEC3"} for k in range(2)]
    path = scene.write(tmp_path / "a.glb")
    at = len(accessors) - 2
    primitive = {"attributes": {"POSITION": at}, "targets": [{"POSITION": at + 1}]}
    scene.writer.document["meshes"] = [{"primitives": [primitive], "weights": [0.5]}]
    body = read_gltf(scene.writer.write(path)).actors[0].at(0)
    np.testing.assert_allclose(body.vertices, rows[:, 0] + 0.5 * rows[:, 1].astype(float))


def test_names_are_those_of_nodes_then_of_meshes_and_differ(tmp_path):
    scene = gltfs.Scene(1, nodes=5, animated=False)
    for node in range(5):
        scene.mesh(node)
    path = scene.write(tmp_path / "a.glb")
    document = scene.writer.document
    for node, name in enumerate(["arm", "arm", "arm 2", "", ""]):
        document["nodes"][node] |= {"name": name, "children": []}
    document["meshes"][3]["name"] = "leg\n\x1b[31m"
    document["scenes"][0]["nodes"] = list(range(5))
    assert [actor.name for actor in read_gltf(scene.writer.write(path)).actors] == ["arm", "arm 3", "arm 2", "leg  [31m", "node 4"]


def test_of_several_scenes_the_default_one_is_read(tmp_path):
    scene = gltfs.Scene(1, nodes=3, animated=False)
    for node in range(3):
        scene.nodes[node]["parent"] = -1
        scene.mesh(node)
    path = scene.write(tmp_path / "a.glb")
    document = scene.writer.document
    names = [[actor.name for actor in read_gltf(scene.writer.write(path)).actors]]
    document |= {"scenes": [{"nodes": [2, 0]}, {"nodes": [1]}], "scene": 1}
    animation = read_gltf(scene.writer.write(path))
    names.append([actor.name for actor in animation.actors])
    assert "2 scenes" in animation.notes[0]
    del document["scene"]
    names.append([actor.name for actor in read_gltf(scene.writer.write(path)).actors])
    del document["scenes"]
    names.append([actor.name for actor in read_gltf(scene.writer.write(path)).actors])
    assert names == [["node 0", "node 1", "node 2"], ["node 1"], ["node 2", "node 0"], ["node 0", "node 1", "node 2"]]


@pytest.mark.parametrize("seed", range(6))
def test_bones_of_faces(seed, tmp_path):
    """The joint that carries the corners of a face most, by the name of its node."""
    scene = gltfs.Scene(700 + seed).mesh(1, skinned=True).mesh(4, skinned=True, targets=2).mesh(2)
    actors = read_gltf(scene.write(tmp_path / "a.glb")).actors
    skinned = [actor for actor in actors if actor.bones]
    assert len(skinned) == 2 and {actor.bone_of_face is None for actor in actors if actor not in skinned} == {True}
    for actor in skinned:
        node = scene.nodes[int(actor.source_name.removeprefix("node "))]
        joints, expected = scene.skins[node["skin"]][0], []
        for primitive in scene.meshes[node["mesh"]]:
            for corners in gltfs.listed(primitive["mode"], primitive["corners"].tolist()):
                sums = np.zeros(len(joints))
                for corner in corners:
                    np.add.at(sums, primitive["joints"][corner], primitive["shares"][corner])
                expected.append((sums, [f"node {joint}" for joint in joints]))
        assert len(actor.bone_of_face) == len(expected)
        for bone, (sums, names) in zip(actor.bone_of_face.tolist(), expected, strict=True):
            nearly = [name for name, total in zip(names, sums, strict=True) if total > sums.max() - 1e-9]
            assert actor.bones[bone] in nearly


def test_vertices_without_weights_follow_the_first_joint_they_name(tmp_path):
    scene = still()
    scene.nodes.append({"parent": -1, "translation": np.array([5.0, 0, 0]), "rotation": np.array([0, 0, 0, 1.0]), "scale": np.ones(3)})
    put = scene.writer.put
    rows = np.eye(3)
    entry = {"attributes": {"POSITION": put(rows), "JOINTS_0": put([[1, 0, 0, 0]] * 3, "u1"), "WEIGHTS_0": put(np.zeros((3, 4)))}}
    path = scene.write(tmp_path / "a.glb")
    scene.writer.document |= {"meshes": [{"primitives": [entry]}], "skins": [{"joints": [0, 1]}]}
    scene.writer.document["nodes"][0]["skin"] = 0
    animation = read_gltf(scene.writer.write(path))
    np.testing.assert_allclose(animation.actors[0].at(0).vertices, rows + [5, 0, 0])
    assert "3 vertices have no weights" in animation.notes[0]


def two_clips(tmp_path):
    scene = still()
    path = scene.write(tmp_path / "a.glb")
    times = scene.writer.put([0, 1])
    clips = []
    for name, far in (("Walk", 1.0), ("Run", 5.0)):
        output = scene.writer.put([[0, 0, 0], [far, 0, 0]])
        clips.append({"name": name, "samplers": [{"input": times, "output": output}],
                      "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]})
    scene.writer.document["animations"] = clips
    return scene, scene.writer.write(path)


@pytest.mark.parametrize(("clip", "far"), [(None, 1.0), ("Walk", 1.0), ("Run", 5.0), ("0", 1.0), ("1", 5.0)])
def test_clips_are_chosen_by_name_or_number(tmp_path, clip, far):
    scene, path = two_clips(tmp_path)
    animation = read_gltf(path, Settings(clip=clip, rate=4))
    assert animation.frames == 5 and animation.rate == 4
    note = "clips: Walk, Run; Walk is played, Run not, moving the same nodes: --clip NAME chooses"
    assert animation.notes == ((note,) if clip is None else ())
    body = animation.actors[0].at(4)
    np.testing.assert_allclose(body.vertices[body.faces], scene.triangles(0, 0.0) + [far, 0, 0])


def test_clips_and_rates_that_are_none_are_refused(tmp_path):
    _, path = two_clips(tmp_path)
    with pytest.raises(ValueError, match="clip: expected one of Walk, Run, got 'Fly'"):
        read_gltf(path, Settings(clip="Fly"))
    with pytest.raises(ValueError, match="rate: "):
        read_gltf(path, Settings(rate=0.0))


def test_what_is_left_out_is_noted(tmp_path):
    scene = still()
    path = scene.write(tmp_path / "a.glb")
    document = scene.writer.document
    document["meshes"][0]["primitives"] += [{"attributes": {"POSITION": 0}, "mode": 1}, {"attributes": {}}]
    document["extensionsUsed"] = ["EXT_mesh_gpu_instancing", "KHR_materials_unlit"]
    document["extensionsRequired"] = ["KHR_materials_unlit", "KHR_mesh_quantization"]
    document["animations"] = [{"samplers": [], "channels": [{"sampler": 0, "target": {"path": "pointer"}}]}]
    notes = " ".join(read_gltf(scene.writer.write(path)).notes)
    for word in ("points or lines", "without positions", "EXT_mesh_gpu_instancing", "channels of extensions"):
        assert word in notes
    assert "KHR_materials" not in notes


TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


@pytest.mark.parametrize(("mirrored", "moved", "morphs", "kind"), [
    (False, None, False, "rigid"), (True, None, False, "rigid"), (True, "translation", False, "blended"),
    (True, None, True, "morph"), (True, "translation", True, "free"), (True, "scale", False, "blended"),
])  # fmt: skip
def test_outside_stays_outside_where_a_node_mirrors(tmp_path, mirrored, moved, morphs, kind):
    writer = gltfs.Writer()
    vertices, faces = TETRAHEDRON
    primitive = {"attributes": {"POSITION": writer.put(vertices)}, "indices": writer.put(np.ravel(faces), "u2")}
    if morphs:
        primitive["targets"] = [{"POSITION": writer.put(np.multiply(vertices, 0.5))}]
    writer.document |= {"meshes": [{"primitives": [primitive]}], "nodes": [{"mesh": 0, "scale": [-1 if mirrored else 1, 1, 1]}]}
    if moved:
        sampler = {"input": writer.put([[0], [1]]), "output": writer.put([[-2, 3, 1], [2, 3, 1]])}
        channel = {"sampler": 0, "target": {"node": 0, "path": moved}}
        writer.document["animations"] = [{"samplers": [sampler], "channels": [channel]}]
    (actor,) = read_gltf(writer.write(tmp_path / "a.glb"), Settings(rate=2)).actors
    assert actor.kind == kind
    volumes = [np.linalg.det(body.vertices[body.faces]).sum() for body in map(actor.at, range(3 if moved else 1))]
    if moved == "scale":  # mirrored, flat, not mirrored: the faces of the first frame stay
        assert volumes == pytest.approx([6, 0, -6])
    else:
        assert volumes == pytest.approx([1] * len(volumes))


def test_frames_before_the_first_are_refused(tmp_path):
    scene = gltfs.Scene(1, nodes=2, scaled=False).mesh(0).mesh(1, targets=1)
    for actor in read_gltf(scene.write(tmp_path / "a.glb")).actors:
        with pytest.raises(ValueError, match="frame: expected 0 or more, got -1"):
            actor.at(-1)


@pytest.mark.parametrize("seed", range(4))
def test_the_rest_pose(tmp_path, seed):
    """Where everything is without the clip: as in the same file without one."""
    scenes = [gltfs.Scene(700 + seed, nodes=5, animated=False) for _ in range(2)]
    for scene, animated in zip(scenes, (True, False), strict=True):
        scene.mesh(1, skinned=True).mesh(2).mesh(4, targets=2, varies=False)
        for node in range(5 if animated else 0):
            if "matrix" not in scene.nodes[node]:
                scene.animate(node, "translation", "LINEAR", keys=4)
                scene.animate(node, "rotation", "LINEAR", keys=3)
    moving, still = (read_gltf(scene.write(tmp_path / f"{name}.glb")) for name, scene in zip(("moving", "still"), scenes, strict=True))
    differ = 0
    for one, other in zip(moving.actors, still.actors, strict=True):
        expected = other.at(0).vertices
        assert one.has_rest and np.allclose(one.rest().vertices, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
        differ += not np.allclose(one.at(0).vertices, expected)
    assert differ


def test_an_actor_without_a_rest_pose():
    vertices, faces = np.eye(3), np.array([[0, 1, 2]])
    with pytest.raises(ValueError, match="rest: free has no rest pose"):
        FrameActor("free", 2, lambda frame: (vertices, faces)).rest()
    assert FrameActor("static", 1, lambda frame: (vertices, faces)).rest().vertices.tolist() == vertices.tolist()
