"""Stories to tell: two bodies that turn, deform and fly apart, and a soup whose faces are others in every frame."""

import numpy as np

from pliant.report.data import Contact, Hierarchy, ReportBody, ReportData, Snapshot
from pliant.shapes import bumpy, icosphere

HOSTILE = "</script><img src=x onerror=alert(1)>"


def turned(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def halves(count):
    """A hierarchy of ranges that are halved three times, over faces in a shuffled order."""
    levels = [np.linspace(0, count, 2**level + 1).astype(np.int32) for level in range(4)]
    order = np.random.default_rng(5).permutation(count).astype(np.int32)
    return Hierarchy(order, [np.stack([ends[:-1], ends[1:]], axis=1) for ends in levels])


def snapshots(frames, detail=1):
    """Body 0 deforms and turns, body 1 flies 100 times its size away and grows, body 2 is a soup."""
    directions, faces = icosphere(detail)
    rng = np.random.default_rng(3)
    for frame in frames:
        first = bumpy(directions, 0.1 * frame) @ turned(0.05 * frame)
        second = (1 + 0.2 * frame) * directions + [2.0 + 10.0 * frame, 0.3, -0.4]
        soup = rng.normal(size=(30 + frame % 5, 3)).astype(np.float32)
        loose = rng.integers(0, len(soup), (20 + frame % 7, 3)).astype(np.int32)
        marked = np.flatnonzero((np.arange(len(faces)) + frame) % 9 == 0).astype(np.int32)
        meshes = [(first.astype(np.float32), faces), (second.astype(np.float32), faces), (soup, loose)]
        yield Snapshot(int(frame), meshes, [marked, marked[::2], np.arange(frame % 4, dtype=np.int32)])


def report_data(count=12, shown=None, title="Two bodies and a soup", detail=1, **values):
    """All three, in frames 10, 12, 14 …; `shown`: the frames with snapshots."""
    frames = np.arange(10, 10 + 2 * count, 2, dtype=np.int32)
    _, faces = icosphere(detail)
    bodies = [ReportBody("first", "morph", halves(len(faces))), ReportBody("second", "free", halves(len(faces))),
              ReportBody("soup", "soup")]
    between, within = np.arange(count, dtype=np.int64) * 3 % 17, np.arange(count, dtype=np.int64)[::-1] % 5
    contacts = [Contact(int(frames[-3]), 0, 1, 40, (0.5, 0.25, -0.125), 0.5), Contact(int(frames[2]), 1, 1, 30, (1.0, 0.0, 0.0), 0.25)]
    counts, taken = {"between bodies": between, "within a body": within}, snapshots(frames if shown is None else shown, detail)
    told = ReportData(title, [("Frames", str(count))], ["A note."], bodies, frames, counts, contacts, taken, 25.0, "y", "m")
    return told._replace(**values)
