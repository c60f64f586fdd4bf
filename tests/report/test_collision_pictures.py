"""The pictures of docs/too-many-collisions.md are what their script draws, and what a check answers."""

import re

import numpy as np
import pytest

from doc_scripts import DOCS, script

PAGE = (DOCS / "too-many-collisions.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pictures():
    with script("collision_pictures") as module:
        yield module


@pytest.fixture(scope="module")
def answer(pictures, tmp_path_factory):
    return pictures.asked(tmp_path_factory.mktemp("figure"))


def test_pictures_are_there_and_on_the_page(pictures):
    names = set(re.findall(r"\(images/([\w-]+)\.png\)", PAGE))
    assert names == {"collisions-new", "collisions-events", "report-event"}
    for name in names:
        assert 1_000 < (pictures.IMAGES / f"{name}.png").stat().st_size < 120_000


def test_what_the_page_says(answer):
    """The arm in frames 14 to 26, deepest in 20, 0.19 m; a ball that grazes less deep than 0.006."""
    events = {tuple(event["names"]): event for event in answer.summary["events"]}
    arm = events["body", "arm"]
    assert (arm["first"], arm["last"], arm["worst_frame"], arm["state"], f"{arm['depth']:.2g}") == (14, 26, 20, "new", "0.19")
    assert answer.summary["events"][0] is arm or answer.summary["events"][0]["depth"] == arm["depth"]
    assert 0 < events["shirt", "ball"]["depth"] < events["body", "ball"]["depth"] < 0.006
    assert (events["body", "shirt"]["state"], events["body", "shirt"]["frames"]) == ("static", 36) and len(events) == 5


def marked(image, plain):
    """(n, 3): the points of a picture that differ from one without marks."""
    one, other = (np.asarray(each)[: plain.shape[0]].astype(int) for each in (image, plain))
    return one[(np.abs(one - other) > 24).any(axis=2)]


def test_what_is_drawn(pictures, answer):
    """Red where all is marked and where the rest is, purple in between; bars of both colours."""
    plain = pictures.panel(pictures.figure(answer.frame), [])
    every, static, new = (marked(panel, plain) for panel in np.split(np.asarray(pictures.panels(answer)), 3, axis=1))
    for points in (every, new):
        assert (points[:, 0] > 1.5 * points[:, 1:].max(axis=1)).mean() > 0.8
    assert (static[:, 2] > 1.1 * static[:, 1]).mean() > 0.8 and (static[:, 0] < 1.5 * static[:, 2]).all()
    assert len(every) > len(static) > 1_000 and len(every) > len(new) > 100
    bars = np.asarray(pictures.timeline(answer)).reshape(-1, 3).tolist()
    assert bars.count(list(pictures.RED)) > 5_000 and bars.count(list(pictures.PURPLE)) > 10_000
