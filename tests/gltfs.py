"""glTF files for tests: a writer, random scenes, and where their triangles must be by plain formulas (glTF 2.0, sections 3.5 to 3.11).

The formulas look at the description that a file was written from, never at the file. Matrices by recursion, skins by loops over vertices,
rotations by SciPy.
"""

import base64
import json
import struct

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
MODES = {"triangles": 4, "strip": 5, "fan": 6}


class Writer:
    """A file that grows: `document` is its JSON, `put` stores arrays."""

    def __init__(self):
        self.document = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": []}
        self.blob = b""

    def view(self, content, **more):
        """A buffer view of these bytes, with something else before it."""
        self.blob += b"\xff" * (8 - len(self.blob) % 4)
        self.document["bufferViews"].append({"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(content), **more})
        self.blob += content
        return len(self.document["bufferViews"]) - 1

    def put(self, rows, component="f4", normalized=False, gap=0, sparse=False):
        """The accessor of rows (n, w), with a gap of so many bytes between elements, or with every second of them replaced."""
        rows = np.asarray(rows, "<" + component)
        rows = rows.reshape(len(rows), -1)
        made = {"componentType": CODES[component], "count": len(rows), "type": TYPES[rows.shape[1]]}
        if normalized:
            made["normalized"] = True
        if sparse:
            which = np.arange(0, len(rows), 2, dtype="<u2")
            made["sparse"] = {"count": len(which), "indices": {"bufferView": self.view(which.tobytes()), "componentType": CODES["u2"]},
                              "values": {"bufferView": self.view(rows[which].tobytes())}}
            if rows[1::2].any():
                other = rows.copy()
                other[which] = 77
                made["bufferView"] = self.view(other.tobytes())
        elif gap:
            size = rows.shape[1] * rows.itemsize
            padded = np.full((len(rows), size + gap), 255, np.uint8)
            padded[:, :size] = np.frombuffer(rows.tobytes(), np.uint8).reshape(-1, size)
            made |= {"bufferView": self.view(b"\xff" * 4 + padded.tobytes(), byteStride=size + gap), "byteOffset": 4}
        else:
            made["bufferView"] = self.view(rows.tobytes())
        self.document["accessors"].append(made)
        return len(self.document["accessors"]) - 1

    def write(self, path, kind="glb"):
        """A .glb, a .gltf with its buffer "embedded", or one with it in a file "beside" it; the path."""
        buffer = {"byteLength": len(self.blob)}
        if kind == "embedded":
            buffer["uri"] = "data:application/octet-stream;base64," + base64.b64encode(self.blob).decode()
        elif kind == "beside":
            buffer["uri"] = "a%20buffer.bin"
            (path.parent / "a buffer.bin").write_bytes(self.blob)
        text = json.dumps(self.document | {"buffers": [buffer]}).encode()
        path.write_bytes(glb(text, self.blob) if kind == "glb" else text)
        return path


def glb(text, blob):
    """A GLB file of these two chunks."""
    text, blob = text + b" " * (-len(text) % 4), blob + bytes(-len(blob) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + blob
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def stored(values, component, normalized):
    """(what a file holds, what it stands for)."""
    if component == "f4":
        rows = np.asarray(values, np.float32)
        return rows, rows.astype(np.float64)
    most = np.iinfo(component).max
    rows = np.round(np.asarray(values) * (most if normalized else 1)).astype(component)
    return rows, rows / most if normalized else rows.astype(np.float64)


class Scene:
    """A random scene. `nodes`: dicts with a parent, and a matrix or a translation, a rotation and a scale; `meshes`: lists of primitives;
    `skins`: (joints, inverse bind matrices); `channels`: (node, path, interpolation, times, values)."""

    def __init__(self, seed, nodes=6, scaled=True, animated=True):
        self.rng = rng = np.random.default_rng(seed)
        self.writer = Writer()
        self.nodes, self.meshes, self.skins, self.channels = [], [], [], []
        for number in range(nodes):
            node = {"parent": int(rng.integers(-1, number)) if number else -1, "translation": rng.uniform(-2, 2, 3),
                    "rotation": rng.normal(size=4), "scale": np.ones(3)}
            node["rotation"] /= np.linalg.norm(node["rotation"])
            if scaled and rng.random() < 0.4:
                node["scale"] = rng.uniform(0.5, 2, 3) * rng.choice([-1, 1], 3)
            if rng.random() < 0.2:
                node = {"parent": node["parent"], "matrix": composed(node)}
            self.nodes.append(node)
        if animated:
            for number, node in enumerate(self.nodes):
                for path in ("translation", "rotation", "scale"):
                    if "matrix" not in node and rng.random() < (0.4 if path != "scale" else 0.2 * scaled):
                        self.animate(number, path)

    def animate(self, node, path, how=None, targets=0, keys=None):
        """Let something of a node change, at random; times come as float32 and begin and end anywhere."""
        rng = self.rng
        how = how or str(rng.choice(["LINEAR", "STEP", "CUBICSPLINE"]))
        times = np.sort(rng.uniform(0.2, 1.5, keys or int(rng.integers(1, 6)))).astype(np.float32).astype(np.float64)
        width = {"rotation": 4, "weights": targets}.get(path, 3)
        values = rng.uniform(-1, 1, (len(times), 3 if how == "CUBICSPLINE" else 1, width))
        if path == "rotation":
            values[:, len(values[0]) // 2] /= np.linalg.norm(values[:, len(values[0]) // 2], axis=1, keepdims=True)
        component, normalized = ("i2", True) if path in ("rotation", "weights") and rng.random() < 0.5 else ("f4", False)
        rows, values = stored(values, component, normalized)
        self.channels.append((node, path, how, times, values))
        output = rows.reshape(-1, 1 if path == "weights" else width)
        self.document("samplers").append({"input": self.writer.put(times), "output": self.writer.put(output, component, normalized),
                                          **({} if how == "LINEAR" else {"interpolation": how})})
        self.document("channels").append({"sampler": len(self.document("samplers")) - 1, "target": {"node": node, "path": path}})

    def document(self, key):
        """The channels or the samplers of the file's clip."""
        clip = self.writer.document.setdefault("animations", [{"channels": [], "samplers": []}])[0]
        return clip[key]

    def primitive(self, targets=0, joints=0):
        """A random primitive: "mode", "positions", "corners", "targets", "joints", "shares" as they are; "entry" for the file."""
        rng, put = self.rng, self.writer.put
        count, mode = int(rng.integers(4, 9)), str(rng.choice(list(MODES)))
        corners = rng.integers(0, count, int(rng.integers(3, 14))) if rng.random() < 0.7 else np.arange(count)
        component, normalized = [("f4", False), ("f4", False), ("i2", True), ("u1", False)][rng.integers(4)]
        rows, positions = stored(rng.uniform(*((0, 9) if component == "u1" else (-1, 1)), (count, 3)), component, normalized)
        how = [{}, {"gap": int(rng.integers(1, 9))}, {"sparse": True}][rng.integers(3)]
        entry = {"attributes": {"POSITION": put(rows, component, normalized, **how)}}
        if mode != "triangles" or rng.random() < 0.5:
            entry["mode"] = MODES[mode]
        if not np.array_equal(corners, np.arange(count)):
            entry["indices"] = put(corners, str(rng.choice(["u1", "u2", "u4"])))
        made = {"mode": mode, "positions": positions, "corners": corners, "targets": [], "entry": entry}
        for number in range(targets):
            moves = rng.uniform(-1, 1, (count, 3)).astype(np.float32) if number % 3 < 2 else np.zeros((count, 3))
            sparse = bool(rng.random() < 0.5)
            moves[1::2] *= not sparse or rng.random() < 0.5
            made["targets"].append(moves.astype(np.float64))
            entry.setdefault("targets", []).append({"POSITION": put(moves, sparse=sparse)} if number % 3 < 2 else {})
        if joints:
            self.share(made, count, joints)
        return made

    def share(self, made, count, joints):
        """Let joints have a part in the vertices of a primitive, in one set of them or two."""
        rng, sets = self.rng, int(self.rng.integers(1, 3))
        made["joints"] = rng.integers(0, joints, (count, 4 * sets))
        weights = rng.uniform(0, 1, (count, 4 * sets)) * (rng.random((count, 4 * sets)) < 0.6)
        weights[:, 0] += 0.2
        component, normalized = [("f4", False), ("u1", True), ("u2", True)][rng.integers(3)]
        rows, weights = stored(weights / weights.sum(axis=1, keepdims=True), component, normalized)
        made["shares"] = weights / weights.sum(axis=1, keepdims=True)
        for k in range(sets):
            made["entry"]["attributes"][f"JOINTS_{k}"] = self.writer.put(made["joints"][:, 4 * k:4 * k + 4], str(rng.choice(["u1", "u2"])))
            made["entry"]["attributes"][f"WEIGHTS_{k}"] = self.writer.put(rows[:, 4 * k:4 * k + 4], component, normalized)

    def mesh(self, node, targets=0, skinned=False, varies=True):
        """Give a node a mesh, perhaps with morph targets and a skin; the weights of its targets change if it `varies`."""
        rng, joints = self.rng, int(self.rng.integers(1, 4)) if skinned else 0
        self.meshes.append([self.primitive(targets, joints) for _ in range(rng.integers(1, 4))])
        self.nodes[node]["mesh"] = len(self.meshes) - 1
        if targets:
            self.nodes[node]["weights"] = rng.uniform(-1, 1, targets)
            if varies:
                self.animate(node, "weights", targets=targets)
        if skinned:
            binds = [composed({"translation": rng.uniform(-1, 1, 3), "rotation": rng.normal(size=4), "scale": rng.uniform(0.5, 1.5, 3)})
                     for _ in range(joints)]
            binds = np.array(binds).astype(np.float32).astype(np.float64)
            self.skins.append((rng.integers(0, len(self.nodes), joints), binds))
            self.nodes[node]["skin"] = len(self.skins) - 1
        return self

    def write(self, path, kind="glb"):
        """The file of this scene."""
        document, nodes = self.writer.document, []
        for number, node in enumerate(self.nodes):
            made = {key: np.asarray(node[key]).tolist() for key in ("translation", "rotation", "scale", "mesh", "skin") if key in node}
            if "matrix" in node:
                made["matrix"] = node["matrix"].T.ravel().tolist()
            if "weights" in node and number % 2:
                made["weights"] = node["weights"].tolist()
            children = [k for k, other in enumerate(self.nodes) if other["parent"] == number]
            nodes.append(made | ({"children": children} if children else {}))
        document["nodes"] = nodes
        document["scenes"] = [{"nodes": [k for k, node in enumerate(self.nodes) if node["parent"] < 0]}]
        document["meshes"] = [{"primitives": [primitive["entry"] for primitive in mesh]} for mesh in self.meshes]
        for number, node in enumerate(self.nodes):
            if "weights" in node and not number % 2:
                document["meshes"][node["mesh"]]["weights"] = node["weights"].tolist()
        if self.skins:
            document["skins"] = [{"joints": joints.tolist(), "inverseBindMatrices": self.writer.put(binds.swapaxes(1, 2))}
                                 for joints, binds in self.skins]
        return self.writer.write(path, kind)

    def times(self):
        """When the first and the last key of any channel is."""
        some = [times for *_, times, _ in self.channels] or [np.zeros(1)]
        return min(times[0] for times in some), max(times[-1] for times in some)

    def world(self, node, time):
        """(4, 4): where a node is."""
        now = dict(self.nodes[node])
        for other, path, how, times, values in self.channels:
            if other == node and path in now:
                now[path] = sampled(path, how, times, values, time)
        local = now["matrix"] if "matrix" in now else composed(now)
        return local if now["parent"] < 0 else self.world(now["parent"], time) @ local

    def triangles(self, node, time):
        """(f, 3, 3): the corners of all triangles of a node, in the order of the file; turned round where its matrix mirrors at first."""
        entry, found = self.nodes[node], []
        weights = entry.get("weights", np.zeros(0))
        for other, path, how, times, values in self.channels:
            if (other, path) == (node, "weights"):
                weights = sampled(path, how, times, values, time)
        for primitive in self.meshes[entry["mesh"]]:
            rows = primitive["positions"].copy()
            for weight, moves in zip(weights, primitive["targets"], strict=True):
                rows = rows + weight * moves
            if "skin" in entry:
                rows = self.skinned(rows, primitive, *self.skins[entry["skin"]], time)
            else:
                matrix = self.world(node, time)
                rows = np.array([(matrix @ [*row, 1])[:3] for row in rows])
            found += [rows[list(corners)] for corners in listed(primitive["mode"], primitive["corners"].tolist())]
        mirrors = "skin" not in entry and np.linalg.det(self.world(node, self.times()[0])[:3, :3]) < 0
        return np.array(found)[:, ::-1] if mirrors else np.array(found)

    def skinned(self, rows, primitive, joints, binds, time):
        """Vertices that follow joints, one by one."""
        maps = [self.world(int(joint), time) @ bind for joint, bind in zip(joints, binds, strict=True)]
        made = np.zeros_like(rows)
        for v, row in enumerate(rows):
            for joint, share in zip(primitive["joints"][v], primitive["shares"][v], strict=True):
                made[v] += share * (maps[joint] @ [*row, 1])[:3]
        return made


def composed(node):
    """(4, 4) of a translation, a rotation and a scale."""
    made = np.eye(4)
    made[:3, :3] = Rotation.from_quat(node["rotation"]).as_matrix() @ np.diag(node["scale"])
    made[:3, 3] = node["translation"]
    return made


def sampled(path, how, times, values, time):
    """What keys (k, 3 or 1, w) are at a time."""
    time, middle = min(max(time, times[0]), times[-1]), values.shape[1] // 2
    rows = values[:, middle]
    if how == "STEP" or len(times) == 1:
        return rows[np.flatnonzero(times <= time)[-1]]
    if how == "CUBICSPLINE":
        spans, made = np.diff(times), None
        for k, span in enumerate(spans):
            if times[k] <= time <= times[k + 1]:
                ends = np.array([0.0, 1.0])
                made = CubicHermiteSpline(ends, rows[k:k + 2], np.array([values[k, 2], values[k + 1, 0]]) * span)((time - times[k]) / span)
        return made
    if path == "rotation":
        return Slerp(times, Rotation.from_quat(rows))(time).as_quat()
    return np.array([np.interp(time, times, column) for column in rows.T])


def listed(mode, corners):
    """Triangles, by their corners."""
    if mode == "triangles":
        return [corners[k:k + 3] for k in range(0, len(corners) - 2, 3)]
    if mode == "fan":
        return [(corners[k + 1], corners[k + 2], corners[0]) for k in range(len(corners) - 2)]
    return [(corners[k], corners[k + 1 + k % 2], corners[k + 2 - k % 2]) for k in range(len(corners) - 2)]
