"""The files of pairs taken apart by the words of their format alone: a row for each pair and frame."""

import json

import numpy as np


def npz_rows(path):
    """(frame, body, body, face, face, distance, state) of each pair and frame, sorted; states are names, "near" of near pairs."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name].tolist() for name in file.files if name not in ("meta", "names")}
        names = json.loads(file["meta"].tobytes())["states"]
    rows = []
    for bodies, faces, state in zip(arrays["static_bodies"], arrays["static_faces"], arrays["static_state"], strict=True):
        rows += [(frame, *bodies, *faces, 0.0, names[state]) for frame in arrays["frames"]]
    columns = (arrays[name] for name in ("first", "last", "bodies", "faces", "state"))
    for first, last, bodies, faces, state in zip(*columns, strict=True):
        rows += [(frame, *bodies, *faces, 0.0, names[state]) for frame in arrays["frames"] if first <= frame <= last]
    near = (arrays[f"near_{name}"] for name in ("frame", "bodies", "faces", "distance"))
    rows += [(frame, *bodies, *faces, distance, "near") for frame, bodies, faces, distance in zip(*near, strict=True)]
    return sorted(rows)


def parquet_rows(path):
    """The same, of Parquet."""
    from pyarrow import parquet

    table = parquet.read_table(path)
    header = json.loads(table.schema.metadata[b"pliant"])
    rows = []
    for row in table.to_pylist():
        distance = row.get("distance", 0.0)
        state = "near" if distance > 0 else header["states"][row["state"]]
        each = (row["body_a"], row["body_b"], row["face_a"], row["face_b"], distance, state)
        rows += [(frame, *each) for frame in header["frames"] if row["first"] <= frame <= row["last"]]
    return sorted(rows)


def pair_rows(folder, form="npz"):
    """(m, 5): frame, bodies, faces of all pairs of a folder of results, sorted."""
    rows = npz_rows(folder / "pairs.npz") if form == "npz" else parquet_rows(folder / "pairs.parquet")
    return np.array([row[:5] for row in rows], np.int64).reshape(-1, 5)
