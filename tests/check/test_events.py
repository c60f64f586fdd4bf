"""Events against the runs of all pairs of bodies, worked out one by one."""

from hypothesis import given
from hypothesis import strategies as st

from pliant.check import events as module
from pliant.check.between_frames import Passing
from pliant.check.classify import BETWEEN, ENCLOSED, NEAR, NEW, STATIC, Group
from pliant.check.events import EventTracker, depth_text, event_row, event_title, frames_text, time_text
from pliant.check.results import without_contacts

KEYS = st.tuples(st.integers(0, 1), st.integers(1, 2), st.sampled_from([NEW, STATIC, NEAR]))
GROUPS = st.builds(Group, st.just(0), st.just(0), st.just(0), st.integers(1, 3), st.sampled_from([0.0, 0.5, 2.0]), st.just(1), st.just(0.0))
CONTENT = st.lists(st.dictionaries(KEYS, GROUPS), max_size=8)


@given(CONTENT)
def test_events_are_runs(content):
    frames = [[group._replace(first=key[0], second=key[1], state=key[2]) for key, group in each.items()] for each in content]
    tracker = EventTracker()
    for k, groups in enumerate(frames):
        tracker.add(10 * k, groups)
    tracker.finish()
    expected = []
    for key in {key for each in content for key in each}:
        run = []
        for k in range(len(frames) + 1):
            mine = [group for group in frames[k] if group[:3] == key] if k < len(frames) else []
            if mine:
                run.append((10 * k, mine[0]))
            elif run:
                worst = max(run, key=lambda each: (each[1].depth, each[1].pairs, -each[0]))
                total = sum(group.pairs for _, group in run)
                expected.append((*key, run[0][0], run[-1][0], len(run), worst[0], worst[1].depth, worst[1].pairs, total))
                run = []
    found = [(e.first, e.second, e.state, e.begin, e.end, e.frames, e.worst_frame, e.depth, e.worst_pairs, e.pairs) for e in tracker.worst]
    assert sorted(found) == sorted(expected) and sum(tracker.counts.values()) == len(expected)
    order = [({NEW: 0, NEAR: 1, STATIC: 2}[e.state], -e.depth) for e in tracker.worst]
    assert order == sorted(order)


def test_of_many_events_the_worst_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MAX_EVENTS", 5)
    tracker = EventTracker()
    for k in range(200):
        tracker.add(k, [Group(0, k % 2, NEW, 1, float(k % 50), 1, 0.0)] if k % 3 else [])
    tracker.finish()
    assert len(tracker.worst) == 5 and {event.depth for event in tracker.worst} <= {49.0, 48.0} and tracker.counts[NEW] > 100


def test_near_pairs_of_bodies_that_touch_are_no_misses():
    touching, beside = Group(0, 1, NEW, 3, 1.0, 1, 0.0), Group(0, 1, NEAR, 9, 0.0, 0, 0.1)
    miss = Group(0, 2, NEAR, 2, 0.0, 0, 0.2)
    assert without_contacts([touching, beside, miss]) == [touching, miss]


def test_what_people_read():
    tracker = EventTracker()
    tracker.add(4, [Group(0, 1, NEW, 3, 0.123456789, 1, 0.0), Group(1, 2, ENCLOSED, 0, 2.0, 0, 0.0)])
    tracker.add(5, [Group(0, 1, NEW, 4, 0.1, 3, 0.0)])
    tracker.finish()
    rows = {row["kind"]: row for row in (event_row(event, ["arm", "ball", "box"]) for event in tracker.worst)}
    touching = rows["touching"]
    assert (touching["first"], touching["last"], touching["worst_frame"], touching["depth"]) == (4, 5, 4, 0.123457)
    assert event_title(touching) == "arm – ball" and frames_text(touching, {4: "104"}) == "104–5"
    assert event_title(rows["enclosed"]) == "ball in box" and frames_text(rows["enclosed"], {}) == "4"
    assert event_title({**touching, "bodies": [0, 0], "names": ["arm", "arm"]}) == "arm, itself"
    assert event_title({**touching, "bones": ["hand", None]}) == "arm (hand) – ball"
    twice = {**touching, "bodies": [0, 0], "names": ["arm", "arm"]}
    assert [event_title({**twice, "bones": bones}) for bones in (["hand", "elbow"], ["hand", "hand"], [None, None])] == [
        "arm, itself (hand – elbow)", "arm, itself (hand)", "arm, itself"]
    assert depth_text(0.0, "at least", "mm") == "–", "that says nothing"
    assert (depth_text(0.5, "inside", "mm"), depth_text(0.5, "at least"), depth_text(0.0, "none")) == ("0.5 mm", "at least 0.5", "–")


def passing(before, first=0, second=1, pairs=2, share=0.25):
    return Passing(first, second, pairs, before + 10 * share, before, before + 10)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8))
def test_what_no_frame_shows_belongs_to_the_event_beside_it(content):
    """Of two bodies: do they meet in each frame, do they touch on the way to the next?"""
    tracker, steps = EventTracker(), []
    for k, (meets, passes) in enumerate(content):
        tracker.add(10 * k, [Group(0, 1, NEW, 3, 0.5, 1, 0.0)] if meets else [])
        tracker.add_motion([passing(10 * k)] if passes and k + 1 < len(content) else [])
        steps += [(10 * k, meets, False), (10 * k, False, passes and k + 1 < len(content))]
    tracker.finish()
    runs = [[]]  # an event ends with a motion in which nothing happens, unless they meet before and after it
    for k, (frame, meets, passes) in enumerate(steps):
        is_motion = k % 2 == 1
        if meets or passes:
            runs[-1].append((frame, meets, passes))
        elif not is_motion and not (k > 0 and steps[k - 1][2] and k + 1 < len(steps) and steps[k + 1][2]):
            runs.append([])
        elif is_motion and not (steps[k - 1][1] and k + 1 < len(steps) and steps[k + 1][1]):
            runs.append([])
    expected = []
    for run in filter(None, runs):
        frames, motions = [frame for frame, meets, _ in run if meets], [frame for frame, _, passes in run if passes]
        ends = [*frames, *motions, *(frame + 10 for frame in motions)]
        expected.append((min(ends), max(ends), len(frames), 2 * len(motions), motions[0] if motions else None, NEW if frames else BETWEEN))
    found = [(e.begin, e.end, e.frames, e.between, e.passing and e.passing.before, e.state) for e in tracker.worst]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert tracker.counts[NEW] + tracker.counts[BETWEEN] == len(expected)


def test_what_people_read_of_a_motion():
    tracker = EventTracker()
    tracker.add(19, [])
    tracker.add_motion([Passing(0, 1, 4, 19.42, 19, 20)])
    tracker.add(20, [])
    tracker.finish()
    row = event_row(tracker.worst[0], ["arm", "ball"])
    assert (row["first"], row["last"], row["frames"], row["worst_frame"], row["between_pairs"], row["time"], row["motion"]) == (
        19, 20, 0, 19, 4, 19.42, [19, 20])
    assert (row["kind"], row["state"], event_title(row)) == ("touching", "between frames", "arm – ball")
    assert frames_text(row, {}) == "between 19 and 20"
    assert [time_text(row, labels) for labels in ({}, {19: "1019", 20: "1020"}, {19: "a", 20: "b"}, {19: "5", 20: "7"})] == [
        "19.42", "1019.42", "19.42", "5.84"]
