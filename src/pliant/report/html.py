"""A report as one HTML file: it opens from disk, loads nothing from a network, and contains all its data, code and styles.

Names and texts come from untrusted files. They are in the page as JSON that cannot close its element and is no code, and the page may run
nothing but the scripts whose hashes its Content-Security-Policy names (W3C CSP Level 3, 2.3.1): three.js and the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core.archive import atomic_file
from pliant.errors import ArgumentError
from pliant.report.data import Contact, Hierarchy, ReportBody, ReportData, ReportEvent, Snapshot
from pliant.report.encode import byte_planes, deflate, deltas
from pliant.report.face_details import FaceDetails, detail_fields, encode_details
from pliant.report.temp_frames import FrameStore

SCRIPTS = ("data.js", "shaders.js", "viewer.js", "charts.js", "tables.js", "main.js")
MAX_ROWS = 500  # maximum rows of the table of contacts
MAX_PRIORITY = 12  # frames of the contacts with the most pairs, kept first
LOAD_ROW_BYTES = 20  # bytes of a row that says how many pairs a body has in a frame, at most
BLOCK_TAG_BYTES = 80  # bytes around a block of data, at most
UP_AXES = ("", "x", "y", "z")
VERDICTS = ("collisions", "known", "near", "clean")
NO_FRAMES = "There is no 3D view: no frames were stored."
TOO_LARGE = "The 3D view is left out: its first frame alone would make this page larger than {:g} MB."


def write_report(path: str | os.PathLike[str], report: ReportData, most_bytes: int = 30_000_000) -> Path:
    """Write a report to an HTML file, which appears when it is complete.

    path : of the file; folders are created
    report : its content; snapshots are taken one at a time, and all other fields are read after the last one
    most_bytes : a limit of the file's size. If the report would be larger, frames are left out of the 3D view evenly, or the whole view if
        one frame is too large; the page says so
    """
    target = Path(path)
    if most_bytes < 1:
        raise ArgumentError(f"most_bytes: expected a positive number, got {most_bytes}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(target) as file, closing(FrameStore(len(report.bodies), _priority_frames(report))) as store:
        has_view = _store_snapshots(store, report, most_bytes - _page_size(report, BodyBlocks(), most_bytes))
        blocks = BodyBlocks()
        if has_view and store.stored:
            blocks = BodyBlocks(_encode_hierarchies(report, store.faces, most_bytes),
                                encode_details(report.bodies, store.faces, store.vertex_ids, most_bytes))  # fmt: skip
            has_view = store.fit(most_bytes - _page_size(report, blocks, most_bytes) - BLOCK_TAG_BYTES * len(store.lengths))
        for part in _page_parts(report, store if has_view else None, blocks if has_view else BodyBlocks(), most_bytes):
            file.write(part)
    return target


def _priority_frames(report: ReportData) -> list[int]:
    """Indices of the frames of the worst events and contacts."""
    places = {int(frame): place for place, frame in enumerate(report.frames)}
    moments = [(event.worst_frame,) if event.time is None else (event.before, event.after) for event in report.events[:MAX_PRIORITY]]
    frames = dict.fromkeys([frame for moment in moments for frame in moment]
                           + [contact.frame for contact in report.contacts[: 10 * MAX_PRIORITY]])  # fmt: skip
    return [places[frame] for frame in frames if frame in places][:MAX_PRIORITY]


def _store_snapshots(store: FrameStore, report: ReportData, max_bytes: int) -> bool:
    """Put snapshots into the store, as many as fit; False if not even one fits. All are taken from the iterable, stored or not: callers
    may rely on it."""
    place, fits = -1, True
    for snapshot in report.snapshots:
        next_place = int(np.searchsorted(report.frames, snapshot.frame))
        if next_place >= len(report.frames) or report.frames[next_place] != snapshot.frame or next_place <= place:
            raise ArgumentError(f"snapshots: frame {snapshot.frame} is not in `frames`, or not above the frame before")
        place = next_place
        if fits:
            _check_snapshot(snapshot, len(report.bodies))
            store.add(place, snapshot)
            fits = store.fit(max_bytes)
    store.flush()
    return fits


def _check_snapshot(snapshot: Snapshot, bodies: int) -> None:
    if not len(snapshot.meshes) == len(snapshot.marked) == bodies:
        raise ArgumentError(f"snapshots: frame {snapshot.frame} has {len(snapshot.meshes)} meshes and marks of {len(snapshot.marked)}, "
                            f"expected those of {bodies} bodies")  # fmt: skip
    for name, marks in (("marked", snapshot.marked), ("near", snapshot.near), ("quiet", snapshot.quiet)):
        if len(marks) not in (0, bodies):
            raise ArgumentError(f"snapshots: frame {snapshot.frame} has {name} faces of {len(marks)} bodies, expected those of {bodies}")
        for body, ((_, faces), mark) in enumerate(zip(snapshot.meshes, marks, strict=False)):
            if len(mark) and (mark[0] < 0 or mark[-1] >= len(faces) or (np.diff(mark) <= 0).any()):
                raise ArgumentError(f"snapshots: frame {snapshot.frame}: {name} faces of body {body}: "
                                    f"expected ascending indices below {len(faces)}")  # fmt: skip


# ---- the data of the page ----------------------------------------------------------------------------------------------


class BodyBlocks(NamedTuple):
    """Blocks of data of each body; empty: left out.

    hierarchies : see `_encode_hierarchy`
    details : see `face_details`
    """

    hierarchies: Sequence[bytes] = ()
    details: Sequence[FaceDetails] = ()


def _page_data(report: ReportData, store: FrameStore | None, blocks: BodyBlocks, most_bytes: int) -> dict[str, Any]:
    """The report as JSON; a frame is its index in `frames`."""
    frames = [int(frame) for frame in report.frames]
    places = {frame: place for place, frame in enumerate(frames)}
    _check_report(report, places)
    shown = store if store is not None and store.stored else None
    hierarchies, labels = blocks.hierarchies, report.frame_labels
    if labels is not None and len(labels) != len(frames):
        raise ArgumentError(f"frame_labels: expected a text for each of {len(frames)} frames, got {len(labels)}")
    details: Sequence[FaceDetails | None] = blocks.details or [None] * len(report.bodies)
    return {
        "title": report.title,
        "facts": [[name, value] for name, value in report.facts],
        "notes": [*report.notes, *_omission_notes(report, store, blocks, most_bytes)],
        "rate": float(report.rate),
        "up": report.up,
        "unit": report.unit,
        "frames": frames,
        "labels": [str(label) for label in labels] if labels is not None else None,
        "counts": [{"name": name, "values": _check_counts(name, values, len(frames)), "quiet": quiet}
                   for counts, quiet in ((report.counts, False), (report.quiet_counts, True)) for name, values in counts.items()],
        "bodies": [{"name": each.name, "kind": each.kind, **_level_sizes(each.hierarchy if hierarchies else None),
                    **detail_fields(each, detail)} for each, detail in zip(report.bodies, details, strict=True)],
        "verdict": None if report.verdict is None else {"kind": report.verdict.kind, "title": report.verdict.title,
                                                        "notes": list(report.verdict.notes)},
        "events": [_event_row(each, places, len(report.bodies)) for each in report.events[:MAX_ROWS]],
        "moreEvents": report.omitted_events + max(0, len(report.events) - MAX_ROWS),
        "contacts": [_contact_row(each, places) for each in report.contacts[:MAX_ROWS]],
        "more": report.omitted_contacts + max(0, len(report.contacts) - MAX_ROWS),
        "load": _body_loads(report, places, most_bytes),
        "shown": [place for place, _ in shown.stored] if shown else [],
        "chunks": len(shown.lengths) if shown else 0,
        "outline": shown.extremes.points.tolist() if shown else [],
        "absent": NO_FRAMES if store is not None else TOO_LARGE.format(most_bytes / 1e6),
    }


def _check_report(report: ReportData, places: Mapping[int, int]) -> None:
    if any(b <= a for a, b in pairwise(report.frames)):
        raise ArgumentError("frames: expected ascending numbers")
    if report.up not in UP_AXES:
        raise ArgumentError(f"up: expected one of {', '.join(map(repr, UP_AXES))}, got {report.up!r:.40}")
    if not 0 < report.rate < np.inf:
        raise ArgumentError(f"rate: expected a positive number of frames a second, got {report.rate}")
    if report.verdict is not None and report.verdict.kind not in VERDICTS:
        raise ArgumentError(f"verdict: expected one of {', '.join(map(repr, VERDICTS))}, got {report.verdict.kind!r:.40}")
    for contact in report.contacts:
        if contact.frame not in places or not 0 <= min(contact[1:3]) <= max(contact[1:3]) < len(report.bodies):
            raise ArgumentError(f"contacts: {contact} has a frame or a body that the report does not have")


def _omission_notes(report: ReportData, store: FrameStore | None, blocks: BodyBlocks, most_bytes: int) -> Iterator[str]:
    """A sentence for everything that was left out."""
    if store is None:
        yield TOO_LARGE.format(most_bytes / 1e6)
        return
    if 0 < len(store.stored) < len(report.frames):
        share = round(len(report.frames) / len(store.stored))
        yield (f"The 3D view has {len(store.stored):,} of {len(report.frames):,} frames, about one in {share}, "
               f"so that this page stays below {most_bytes / 1e6:g} MB; charts and tables have all of them.")  # fmt: skip
    if store.stored and not blocks.details and any(each.polygon_of_face is not None or each.materials or each.bones
                                                   for each in report.bodies):  # fmt: skip
        yield f"Polygons, materials and bones are left out: they would take more than an eighth of {most_bytes / 1e6:g} MB."
    if store.stored and not blocks.hierarchies and any(each.hierarchy for each in report.bodies):
        yield f"Bounding volumes are left out: they would take more than a quarter of {most_bytes / 1e6:g} MB."


def _check_counts(name: str, values: NDArray[np.int64], frames: int) -> list[int]:
    found = [int(value) for value in values]
    if len(found) != frames or min(found, default=0) < 0:
        raise ArgumentError(f"counts: {name!r:.60}: expected a number, 0 or more, for each of {frames} frames")
    return found


def _contact_row(contact: Contact, places: Mapping[int, int]) -> list[float]:
    return [places[contact.frame], *map(int, contact[1:4]), *map(float, contact.centre), float(contact.radius)]


def _event_row(event: ReportEvent, places: Mapping[int, int], bodies: int) -> dict[str, Any]:
    moments = {event.begin, event.end, event.worst_frame} | (set() if event.time is None else {event.before, event.after})
    if not moments <= set(places) or not 0 <= min(event[:2]) <= max(event[:2]) < bodies:
        raise ArgumentError(f"events: {event} has a frame or a body that the report does not have")
    if event.time is not None and not event.before <= event.time <= event.after > event.before:
        raise ArgumentError(f"events: {event} has a time that is not between the frames `before` and `after`")
    return {**event._asdict(), "begin": places[event.begin], "end": places[event.end], "place": places[event.worst_frame],
            "centre": [*map(float, event.centre)], "radius": float(event.radius),
            "marked": [[int(face) for face in faces] for faces in event.marked],
            **({"between": None} if event.time is None else _moment(event, event.time, places))}  # fmt: skip


def _moment(event: ReportEvent, time: float, places: Mapping[int, int]) -> dict[str, Any]:
    """When an event is that no frame shows: after which frame, and how far on the way to the next one."""
    share = (time - event.before) / (event.after - event.before)
    return {"between": {"before": places[event.before], "after": places[event.after], "share": min(max(share, 0.0), 1.0)}}


def _body_loads(report: ReportData, places: Mapping[int, int], most_bytes: int) -> list[list[int]]:
    """[frame index, body, pairs]: in how many pairs a body takes part. If that would take a quarter of the page, only the worst bodies."""
    sums = Counter[tuple[int, int]]()
    if report.body_pairs is not None:
        sums.update({(places[frame], body): pairs for frame, body, pairs in report.body_pairs.tolist()})
    else:
        for contact in report.contacts:
            for body in {contact.first, contact.second}:
                sums[places[contact.frame], int(body)] += int(contact.pairs)
    totals, rows = Counter[int](), Counter[int]()
    for (_, body), pairs in sums.items():
        totals[body] += pairs
        rows[body] += 1
    used_bytes, included = 0, set[int]()
    for body, _ in totals.most_common():
        used_bytes += LOAD_ROW_BYTES * rows[body]
        if used_bytes > most_bytes / 4:
            break
        included.add(body)
    return [[*key, pairs] for key, pairs in sorted(sums.items()) if key[1] in included]


def _level_sizes(hierarchy: Hierarchy | None) -> dict[str, Any]:
    return {"order": len(hierarchy.order) if hierarchy else 0, "levels": [len(level) for level in hierarchy.levels] if hierarchy else []}


def _encode_hierarchy(body: int, report_body: ReportBody, faces: int) -> bytes:
    """The order of faces, then all begins and all ends of each level's ranges."""
    hierarchy = report_body.hierarchy
    if hierarchy is None:
        return b""
    if len(hierarchy.order) != faces or not all(level.size and 0 <= level.min() <= level.max() <= faces for level in hierarchy.levels):
        raise ArgumentError(f"bodies[{body}]: its hierarchy is not one of the {faces} faces that it has in the first snapshot")
    arrays = [hierarchy.order, *(level.T.ravel() for level in hierarchy.levels)]
    return deflate(b"".join(byte_planes(deltas(np.asarray(each, np.int32))) for each in arrays))


def _encode_hierarchies(report: ReportData, faces: Sequence[int], most_bytes: int) -> list[bytes]:
    """The encoded hierarchies of all bodies; none, if they leave too few bytes for frames."""
    hierarchies = [_encode_hierarchy(body, *each) for body, each in enumerate(zip(report.bodies, faces, strict=True))]
    return hierarchies if sum(map(len, hierarchies)) * 4 / 3 < most_bytes / 4 else []


# ---- the page ----------------------------------------------------------------------------------------------------------


def _page_parts(report: ReportData, store: FrameStore | None, blocks: BodyBlocks, most_bytes: int) -> Iterator[bytes]:
    """The file, in pieces."""
    page_data = _page_data(report, store, blocks, most_bytes)
    head, tail = _page_shell(page_data)
    yield head
    if page_data["shown"]:
        assert store is not None
        for number, chunk in enumerate(store.chunks()):
            yield _data_block(f"frames-{number}", chunk)
        for name, data in _body_blocks(blocks):
            yield _data_block(name, data)
    yield tail


def _body_blocks(blocks: BodyBlocks) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the blocks that are there."""
    for kind, contents in (("hierarchy", blocks.hierarchies), ("details", [each.block for each in blocks.details])):
        yield from ((f"{kind}-{body}", data) for body, data in enumerate(contents) if data)


def _page_shell(page_data: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The page before the blocks of data, and after them."""
    style, own = _web_file("page.css"), "\n".join(['(() => {\n"use strict";', *map(_web_file, SCRIPTS), "})();"])
    three = f"/*\n{_web_file('THREE-LICENSE')}*/\n{_web_file('three.min.js')}" if page_data["shown"] else ""
    allowed = " ".join(_csp_hash(text) for text in (three, own) if text)
    parts = {
        "policy": f"default-src 'none'; script-src {allowed}; style-src {_csp_hash(style)}; img-src data: blob:; connect-src 'none'; "
                  "base-uri 'none'; form-action 'none'",
        "title": html.escape(str(page_data["title"])),
        "style": style,
        "page_data": _safe_json(page_data),
        "three": f"<script>{three}</script>\n" if three else "",
        "script": own,
    }  # fmt: skip
    before, after = _web_file("page.html").split("{{data}}")
    filled = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], before)
    return filled.encode("utf-8", "replace"), after.encode()


def _page_size(report: ReportData, blocks: BodyBlocks, most_bytes: int) -> int:
    """An upper bound on the bytes of the page without its frames, as far as they are known."""
    page_data = _page_data(report, None, blocks, most_bytes) | {"shown": [0]}
    return (sum(map(len, _page_shell(page_data))) + 12 * len(report.frames)
            + sum(len(_data_block(name, data)) for name, data in _body_blocks(blocks)) + 4_096)  # fmt: skip


def _safe_json(value: Any) -> str:
    """JSON in which nothing can end or open an element (HTML, 13.2.5.4); NaN and infinity are refused."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data_block(name: str, data: bytes) -> bytes:
    return b'<script type="application/octet-stream" id="%s">%s</script>\n' % (name.encode(), base64.b64encode(data))


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _web_file(name: str) -> str:
    return (resources.files("pliant.report") / "web" / name).read_text(encoding="utf-8")
