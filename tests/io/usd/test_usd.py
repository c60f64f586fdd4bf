"""USD files, written by the library and by hand: meshes that move in every way, against formulas."""

import gc
import threading
import weakref
import zipfile

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel, Vt

from in_process import Here
from pliant.errors import FileError
from pliant.io.animation import Settings
from pliant.io.usd import meshes, usd
from pliant.io.usd.bones import joint_names
from pliant.io.usd.usd import read_usd
from solids import assert_cube, bent
from stages import MESH, SQUARE, hexahedra, mesh_at, refused, stage_at


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(usd, "SubprocessClient", Here)


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd"])
def test_points_with_samples(suffix, tmp_path):
    stage = stage_at(tmp_path / f"a{suffix}")
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    points, counts, corners = hexahedra()
    UsdGeom.Xform.Define(stage, "/World").AddTranslateOp().Set(Gf.Vec3d(0, 0, 5))
    mesh = mesh_at(stage, "/World/cube", points, counts, corners)
    for frame in range(4):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(bent(points, frame / 4).astype(np.float32)), frame + 1)
    stage.Save()
    animation = read_usd(tmp_path / f"a{suffix}")
    (actor,) = animation.actors
    assert (animation.frames, animation.rate, animation.up, animation.unit, animation.notes) == (4, 24.0, "z", "cm", ())
    assert (actor.name, actor.kind, animation.name, animation.files) == ("cube", "free", "a", ((tmp_path / f"a{suffix}").resolve(),))
    body = actor.at(0)
    assert_cube(np.array(body.vertices) - [0, 0, 5], body.faces, 1)
    for frame in (2, 0, 3):
        assert actor.at(frame, body) is body
        np.testing.assert_allclose(body.vertices, bent(points, frame / 4) + [0, 0, 5], atol=1e-6)


def test_between_codes_at_another_rate(tmp_path):
    stage = stage_at(tmp_path / "a.usda", 3)
    mesh = mesh_at(stage, "/m")
    for time in (1, 3):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(SQUARE * time), time)
    stage.Save()
    animation = read_usd(tmp_path / "a.usda", Settings(rate=48.0))
    assert (animation.frames, animation.rate) == (5, 48.0)
    np.testing.assert_allclose(animation.actors[0]._read(1)[0], SQUARE * 1.5)


def test_without_a_range_samples_say_when(tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "a.usda"))
    mesh = mesh_at(stage, "/m")
    for time in (10, 12):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(SQUARE * time), time)
    stage.Save()
    animation = read_usd(tmp_path / "a.usda")
    assert animation.frames == 3 and (animation.up, animation.unit) == ("", "")
    np.testing.assert_allclose(animation.actors[0]._read(2)[0], SQUARE * 12)


def test_matrices_that_turn(tmp_path):
    """A scale that stays and a turn that does not are rigid; a turn of 10° a time code is the formula."""
    stage = stage_at(tmp_path / "a.usda")
    turn = UsdGeom.Xform.Define(stage, "/top").AddRotateZOp()
    mesh = mesh_at(stage, "/top/m")
    for time in (1, 4):
        turn.Set(10.0 * time, time)
    mesh.AddScaleOp().Set(Gf.Vec3f(2, 3, 4))
    stage.Save()
    (actor,) = read_usd(tmp_path / "a.usda").actors
    assert actor.kind == "rigid"
    body = actor.at(3)
    for frame in (1, 0, 3):
        assert actor.at(frame, body) is body
        angle = np.radians(10 * (frame + 1))
        matrix = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        np.testing.assert_allclose(body.vertices, SQUARE * [2, 3, 4] @ matrix.T, atol=1e-6)


def test_matrices_that_stretch(tmp_path):
    stage = stage_at(tmp_path / "a.usda")
    scale = mesh_at(stage, "/m").AddScaleOp()
    for time in (1, 4):
        scale.Set(Gf.Vec3f(time, 1, 1), time)
    stage.Save()
    (actor,) = read_usd(tmp_path / "a.usda").actors
    assert actor.kind == "blended"
    body = actor.at(0)
    np.testing.assert_allclose(actor.at(2, body).vertices, SQUARE * [3, 1, 1], atol=1e-6)


def test_what_never_moves_has_one_frame(tmp_path):
    stage = stage_at(tmp_path / "a.usda")
    mesh_at(stage, "/m").AddScaleOp().Set(Gf.Vec3f(1, 1, 0))
    stage.Save()
    animation = read_usd(tmp_path / "a.usda")
    assert animation.frames == 1 and animation.actors[0].kind == "rigid"
    np.testing.assert_array_equal(animation.actors[0].at(9).vertices, SQUARE)


@pytest.mark.parametrize("left, mirrored", [(False, False), (True, False), (False, True), (True, True)])
def test_faces_look_outward(left, mirrored, tmp_path):
    """Left-handed faces are stored the other way round, and a mirror turns them once more."""
    stage = stage_at(tmp_path / "a.usda")
    points, counts, corners = hexahedra()
    stored = np.array(corners).reshape(-1, 4)[:, ::-1].ravel().tolist() if left else corners
    mesh = mesh_at(stage, "/m", points, counts, stored)
    mesh.CreateOrientationAttr("leftHanded" if left else "rightHanded")
    if mirrored:
        mesh.AddScaleOp().Set(Gf.Vec3f(-1, 1, 1))
    stage.Save()
    body = read_usd(tmp_path / "a.usda").actors[0].at(0)
    assert_cube(np.array(body.vertices), body.faces, 1)


def test_polygons_holes_and_faces_that_change(tmp_path):
    stage = stage_at(tmp_path / "a.usda", 2)
    points = np.array([[0, 0, 0], [2, 0, 0], [3, 1, 0], [2, 2, 0], [0, 2, 0]], np.float32)
    mesh = mesh_at(stage, "/m", points, [5, 3, 2, 3], [0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 4])
    mesh.CreateHoleIndicesAttr([1])
    mesh.GetFaceVertexCountsAttr().Set([5, 3, 2, 3], 1)
    mesh.GetFaceVertexCountsAttr().Set([3], 2)
    mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 4], 1)
    mesh.GetFaceVertexIndicesAttr().Set([2, 3, 4], 2)
    stage.Save()
    (actor,) = read_usd(tmp_path / "a.usda").actors
    assert actor.kind == "soup"
    assert actor._read(0)[1].tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4], [2, 3, 4]]
    assert actor._read(1)[1].tolist() == [[2, 3, 4]]


def skeleton(stage, joints=("a", "a/b")):
    """An arm of two joints, the second at x = 1, which turns about z by 30° a time code; the skeleton is 7 above the ground."""
    root = UsdSkel.Root.Define(stage, "/root")
    bones = UsdSkel.Skeleton.Define(stage, "/root/bones")
    at = [Gf.Matrix4d(1), Gf.Matrix4d().SetTranslate(Gf.Vec3d(1, 0, 0))]
    bones.CreateJointsAttr(list(joints))
    bones.CreateBindTransformsAttr(at)
    bones.CreateRestTransformsAttr(at)
    bones.AddTranslateOp().Set(Gf.Vec3d(0, 0, 7))
    animation = UsdSkel.Animation.Define(stage, "/root/bones/animation")
    animation.CreateJointsAttr(list(joints))
    animation.CreateTranslationsAttr([Gf.Vec3f(0, 0, 0), Gf.Vec3f(1, 0, 0)])
    animation.CreateScalesAttr([Gf.Vec3h(1, 1, 1)] * 2)
    for time in (1, 2, 3, 4):
        half = np.radians(30 * time) / 2
        animation.CreateRotationsAttr().Set([Gf.Quatf(1), Gf.Quatf(float(np.cos(half)), 0, 0, float(np.sin(half)))], time)
    UsdSkel.BindingAPI.Apply(bones.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    UsdSkel.BindingAPI.Apply(root.GetPrim())
    return bones, animation


POINTS = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [0, 1, 0]], np.float32)
WEIGHTS = np.array([[1, 0], [0.5, 0.5], [0, 1], [0, 1], [0.5, 0.5], [1, 0]])


def skinned(path, weights=WEIGHTS, method=None, blend=False):
    stage = stage_at(path)
    bones, animation = skeleton(stage)
    mesh = mesh_at(stage, "/root/skin", POINTS, [4, 4], [0, 1, 4, 5, 1, 2, 3, 4])
    mesh.AddTranslateOp().Set(Gf.Vec3d(100, 0, 0))  # ignored: the skeleton says where a skin is
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([bones.GetPath()])
    binding.CreateJointIndicesPrimvar(False, 2).Set([0, 1] * len(POINTS))
    binding.CreateJointWeightsPrimvar(False, 2).Set(np.ravel(weights).tolist())
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d().SetScale(Gf.Vec3d(1, 2, 1)))
    if method:
        binding.CreateSkinningMethodAttr(method)
    if blend:
        shape = UsdSkel.BlendShape.Define(stage, "/root/skin/up")
        shape.CreateOffsetsAttr([Gf.Vec3f(0, 0, 1)] * len(POINTS))
        binding.CreateBlendShapesAttr(["up"])
        binding.CreateBlendShapeTargetsRel().SetTargets([shape.GetPath()])
        animation.CreateBlendShapesAttr(["up"])
        animation.CreateBlendShapeWeightsAttr([0.25])
    stage.Save()
    return path


def expected(frame, lift=0.0):
    """Linear blend skinning by hand: Σ w_j S_j (G v), then up by 7."""
    angle = np.radians(30 * (frame + 1))
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    bound = (POINTS + [0, 0, lift]) * [1, 2, 1]
    second = (bound - [1, 0, 0]) @ turn.T + [1, 0, 0]
    return WEIGHTS[:, :1] * bound + WEIGHTS[:, 1:] * second + [0, 0, 7]


def test_skins_are_blended(tmp_path):
    (actor,) = read_usd(skinned(tmp_path / "a.usda")).actors
    assert actor.kind == "blended" and actor.frames == 4
    body = actor.at(3)
    for frame in (0, 2, 3):
        assert actor.at(frame, body) is body
        np.testing.assert_allclose(body.vertices, expected(frame), atol=1e-5)


@pytest.mark.parametrize("more", [{}, {"blend": True}, {"method": "dualQuaternion"}, {"weights": WEIGHTS * 2}], ids=str)
def test_bones_of_faces(tmp_path, more):
    """Joints by the last parts of their paths, of skins of all kinds; the first quad is carried by one, the second by the other."""
    path = skinned(tmp_path / "a.usda", **more)
    (actor,) = read_usd(path).actors
    assert (actor.bones, actor.bone_of_face.tolist()) == (["a", "b"], [0, 0, 1, 1])
    stage = Usd.Stage.Open(str(path))
    binding = UsdSkel.BindingAPI(stage.GetPrimAtPath("/root/skin"))
    binding.CreateJointsAttr(["a/b", "a"])  # an order of its own
    UsdGeom.Mesh(binding.GetPrim()).CreateHoleIndicesAttr([0])
    stage.Save()
    (actor,) = read_usd(path).actors
    assert (actor.bones, actor.bone_of_face.tolist(), actor.polygon_of_face.tolist()) == (["a"], [0, 0], [1, 1])


def test_a_mesh_may_name_joints_in_an_order_of_its_own(tmp_path):
    """Some of those of the skeleton, and one that it does not have, which stays."""
    path = skinned(tmp_path / "a.usda", weights=WEIGHTS[:, ::-1])
    stage = Usd.Stage.Open(str(path))
    binding = UsdSkel.BindingAPI(stage.GetPrimAtPath("/root/skin"))
    binding.CreateJointsAttr(["a/b", "a"])
    stage.Save()
    (actor,) = read_usd(path).actors
    np.testing.assert_allclose(actor.at(3).vertices, expected(3), atol=1e-5)
    binding.GetJointsAttr().Set(["a/b", "a/b/c"])
    stage.Save()
    (actor,) = read_usd(path).actors
    np.testing.assert_allclose(actor.at(3).vertices, expected(3), atol=1e-5)  # joint a stays as well


def test_joints_of_the_same_name_have_their_paths():
    assert joint_names(["hip", "hip/left/knee", "hip/right/knee", "hip/right"]) == ["hip", "hip/left/knee", "hip/right/knee", "right"]


def test_what_joints_alone_do_not_move_is_worked_out(tmp_path):
    (actor,) = read_usd(skinned(tmp_path / "a.usda", blend=True)).actors
    assert actor.kind == "free"
    for frame in (0, 3):
        np.testing.assert_allclose(actor._read(frame)[0], expected(frame, 0.25), atol=1e-5)
    (actor,) = read_usd(skinned(tmp_path / "b.usda", method="dualQuaternion")).actors
    assert actor.kind == "free"
    ends = [0, 2, 3, 5]  # those of one joint are where linear blending has them, the others are not
    np.testing.assert_allclose(actor._read(3)[0][ends], expected(3)[ends], atol=1e-5)
    assert np.abs(actor._read(3)[0] - expected(3))[[1, 4]].max() > 1e-3
    (actor,) = read_usd(skinned(tmp_path / "c.usda", weights=WEIGHTS * 2)).actors
    assert actor.kind == "free"


@pytest.mark.parametrize("blend", [False, True])
def test_a_crowd_takes_little_memory(tmp_path, blend, monkeypatch):
    """Of a mesh the process keeps nothing but how to ask for it: not its points, of which there may be thousands of copies."""
    made, rows_of = [], meshes.finite_points

    def remembered(*about):
        rows = rows_of(*about)
        made.append(weakref.ref(rows))
        return rows

    monkeypatch.setattr(meshes, "finite_points", remembered)
    scene = Here("pliant.io.usd.scene", "SceneService", str(skinned(tmp_path / "a.usda", blend=blend)), None)
    assert scene.request(tmp_path, "next_mesh")[0]["kind"] == ("free" if blend else "blended")
    assert scene.request(tmp_path, "next_mesh")[0] is None  # the last mesh is there until the next is asked for
    gc.collect()
    assert made and all(each() is None for each in made)


def test_joints_carry_points_that_change(tmp_path):
    path = skinned(tmp_path / "a.usda")
    stage = Usd.Stage.Open(str(path))
    points = UsdGeom.Mesh(stage.GetPrimAtPath("/root/skin")).GetPointsAttr()
    for frame in range(4):
        points.Set(Vt.Vec3fArray.FromNumpy(POINTS + np.float32([0, 0, frame])), frame + 1)
    stage.Save()
    animation = read_usd(path)
    (actor,) = animation.actors
    assert actor.kind == "free" and animation.notes == ()
    for frame in (0, 3, 1):
        np.testing.assert_allclose(actor.mesh(frame)[0], expected(frame, frame), atol=1e-5)
    points.Set(Vt.Vec3fArray.FromNumpy(np.concatenate([POINTS, POINTS])), 3)
    stage.Save()
    with pytest.raises(FileError, match="12 points at time code 3, of 6"):
        read_usd(path).actors[0].mesh(2)
    UsdGeom.Mesh(stage.GetPrimAtPath("/root/skin")).GetFaceVertexCountsAttr().Set([4, 4], 1)
    UsdGeom.Mesh(stage.GetPrimAtPath("/root/skin")).GetFaceVertexCountsAttr().Set([4, 4], 2)
    stage.Save()
    animation = read_usd(path)
    assert animation.actors[0].kind == "soup"
    assert animation.notes == ("1 meshes have a skeleton, and faces that change; it does not move them.",)


def long(path, samples, operation="double3 xformOp:translate"):
    """A triangle for 200,000 frames."""
    name = operation.split()[1]
    text = MESH.replace("endTimeCode = 2", "endTimeCode = 200000").replace("matrix4d xformOp:transform = ", "matrix4d unused = ")
    text = text.replace('["xformOp:transform"]', f'["{name}"]\n    {operation}.timeSamples = {{ {samples} }}')
    path.write_text(text)
    return path


TURNED = "((-1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))"


def test_long_clips_are_looked_at_where_something_is_said(tmp_path, monkeypatch):
    looked, rigid = [], meshes._is_rigid
    monkeypatch.setattr(meshes, "_is_rigid", lambda matrix: looked.append(matrix) or rigid(matrix))
    (actor,) = read_usd(long(tmp_path / "a.usda", "1: (0, 0, 0), 100001: (1, 0, 0)")).actors
    assert (actor.kind, actor.frames) == ("rigid", 200_000) and len(looked) < 10
    np.testing.assert_allclose(actor.at(25_000).vertices[0], (0.25, 0, 0))
    still = "((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))"
    (actor,) = read_usd(long(tmp_path / "b.usda", f"1: {still}, 100001: {TURNED}", "matrix4d xformOp:transform")).actors
    assert actor.kind == "blended"  # rigid where something is said, flattened between
    np.testing.assert_allclose(actor.at(25_000).vertices[1], (0.5, 0, 0))
    monkeypatch.setattr(meshes, "MAX_TESTED_MATRICES", 3)
    (actor,) = read_usd(long(tmp_path / "c.usda", "1: (0, 0, 0), 3: (1, 0, 0), 5: (2, 0, 0)")).actors
    assert actor.kind == "blended"
    np.testing.assert_allclose(actor.at(3).vertices[0], (1.5, 0, 0))


def test_what_is_left_out_is_noted(tmp_path):
    stage = stage_at(tmp_path / "a.usda", 1)
    mesh_at(stage, "/a/m")
    mesh_at(stage, "/b/m").CreateSubdivisionSchemeAttr("catmullClark")
    UsdGeom.Xform.Define(stage, "/hidden").CreateVisibilityAttr("invisible")
    mesh_at(stage, "/hidden/m")
    mesh_at(stage, "/guide").CreatePurposeAttr("guide")
    mesh_at(stage, "/empty", counts=[], corners=[])
    mesh_at(stage, "/off").GetPrim().SetActive(False)
    UsdGeom.PointInstancer.Define(stage, "/many")
    mesh_at(stage, "/many/prototype")
    mesh_at(stage, "/library/m")
    stage.GetPrimAtPath("/library").SetSpecifier(Sdf.SpecifierClass)
    for name in ("one", "two"):
        prim = UsdGeom.Xform.Define(stage, f"/{name}").GetPrim()
        prim.GetReferences().AddInternalReference("/library")
        prim.SetInstanceable(True)
        UsdGeom.Xformable(prim).AddTranslateOp().Set(Gf.Vec3d(len(name) if name == "one" else 5, 0, 0))
    stage.Save()
    animation = read_usd(tmp_path / "a.usda")
    assert [actor.name for actor in animation.actors] == ["m", "m 2", "m 3", "m 4"]
    assert [actor.at(0).vertices[:, 0].min() for actor in animation.actors] == [0, 0, 3, 5]
    told = sorted(animation.notes)
    assert told == ["1 meshes are subdivision surfaces; their cages are taken.", "1 meshes have no faces, and were left out.",
                    "1 point instancers were left out.", "2 meshes are invisible, guides or proxies, and were left out."]  # fmt: skip


def test_layers_of_the_folder(tmp_path):
    (tmp_path / "parts").mkdir()
    stage = stage_at(tmp_path / "parts" / "part.usda", 1)
    mesh_at(stage, "/m")
    stage.Save()
    other = stage_at(tmp_path / "parts" / "other.usda", 1)
    other.OverridePrim("/x").GetReferences().AddReference("../parts/part.usda", "/m")
    other.Save()
    refer = 'def "y" ( references = @parts/other.usda@</x> ) {}'
    (tmp_path / "a.usda").write_text(f"#usda 1.0\n(\n  subLayers = [@./parts/part.usda@]\n)\n{refer}\n")
    animation = read_usd(tmp_path / "a.usda")
    assert {actor.name for actor in animation.actors} == {"m", "y"}
    assert sorted(file.name for file in animation.files) == ["a.usda", "other.usda", "part.usda"]


def test_packages(tmp_path):
    (tmp_path / "first.usda").write_text('#usda 1.0\ndef Mesh "m" ( references = @inner/second.usda@</m> ) {}\n')
    (tmp_path / "second.usda").write_text(MESH)
    path = tmp_path / "a.usdz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "first.usda", "first.usda")
        archive.write(tmp_path / "second.usda", "inner/second.usda")
    (actor,) = read_usd(path).actors
    assert len(actor.at(0).vertices) == 3
    outside = tmp_path / "b.usdz"
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("first.usda", (tmp_path / "first.usda").read_text().replace("inner/", "../"))
    refused(outside, "not in the package")
    with zipfile.ZipFile(tmp_path / "c.usdz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.usda", "#usda 1.0\n" + "\n" * 10_000)
    refused(tmp_path / "c.usdz", "compressed")
    (tmp_path / "d.usdz").write_bytes(b"PK")
    refused(tmp_path / "d.usdz", "not a package")
    with zipfile.ZipFile(tmp_path / "e.usdz", "w") as archive:
        archive.writestr("a.png", "")
    refused(tmp_path / "e.usdz", "first member")


def test_threads_read_at_once(tmp_path):
    (actor,) = read_usd(skinned(tmp_path / "a.usda", blend=True)).actors
    wrong = []

    def work(seed):
        for frame in np.random.default_rng(seed).integers(0, 4, 20).tolist():
            if np.abs(actor._read(frame)[0] - expected(frame, 0.25)).max() > 1e-5:
                wrong.append(frame)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
