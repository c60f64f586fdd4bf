"""Reports in a real browser, opened from disk: nothing is asked of a network, nothing is complained about, and pages do what they show."""

import contextlib
import io
import shutil

import numpy as np
import pytest
from PIL import Image
from stories import HOSTILE, halves, report_data, snapshots

from benchmarks.checking import BROWSER, BROWSERS
from pliant.report.data import ReportBody, ReportEvent, Snapshot, Verdict
from pliant.report.html import write_report

WITHOUT_WEBGL = """const found = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith("webgl") ? null : found.call(this, kind, ...rest);
};"""


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"NO BROWSER: pages of reports are not tried. Install Chromium or Chrome; none of {', '.join(BROWSERS)} is on the path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=BROWSER)
        yield chromium
        chromium.close()


@contextlib.contextmanager
def pages(browser, folder):
    """A function that writes a story and opens it; in the end no page may have complained or asked for anything."""
    complaints = []
    with contextlib.ExitStack() as stack:

        def show(told, most_bytes=30_000_000, script="", **options):
            path = write_report(folder / "report.html", told, most_bytes)
            context = browser.new_context(**{"viewport": {"width": 720, "height": 500}, "reduced_motion": "reduce"} | options)
            stack.callback(context.close)
            if script:
                context.add_init_script(script)
            page = context.new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
            page.on("request", lambda request: None if request.url in (path.as_uri(), "data:,") else complaints.append(request.url))
            page.goto(path.as_uri())
            page.evaluate("report.ready")
            return page

        yield show
    assert complaints == []


@pytest.fixture
def opened(browser, tmp_path):
    with pages(browser, tmp_path) as show:
        yield show


@pytest.fixture(scope="module")
def usual(browser, tmp_path_factory):
    """The page of the usual story, for several tests: opening one takes a second."""
    with pages(browser, tmp_path_factory.mktemp("usual")) as show:
        yield show(report_data())


@pytest.fixture
def page(usual):
    """The usual page, at its first frame."""
    usual.evaluate("document.activeElement.blur(), report.jump(0)")
    return usual


@pytest.fixture(scope="module")
def frames():
    return list(snapshots(report_data().frames))


def place(page):
    return page.evaluate("report.place")


def until(page, condition):
    """Wait until something is true. (What Playwright has for this needs eval, which the page forbids.)"""
    for _ in range(3_000):  # a minute: the machine may have much else to do
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"never true: {condition}")


def drawn(page):
    until(page, "!report.viewer.flight && !report.viewer.pending")


def test_what_is_read_is_what_was_told(page, frames):
    found = page.evaluate("""report.frames.list.map(({ place, pieces }) => ({
        place, pieces: pieces.map((each) => ({ ...each, grid: [...each.grid], faces: [...each.faces], marked: [...each.marked] })) }))""")
    assert [frame["place"] for frame in found] == list(range(12))
    for frame, told in zip(found, frames, strict=True):
        for piece, (vertices, faces), marked in zip(frame["pieces"], told.meshes, told.marked, strict=True):
            positions = np.array(piece["zero"]) + piece["step"] * np.array(piece["grid"]).reshape(-1, 3)
            corners = positions[np.array(piece["faces"]).reshape(-1, 3)]
            assert np.abs(corners - vertices[faces]).max() <= np.ptp(vertices[faces].reshape(-1, 3), axis=0).max() / 16_000
            assert piece["marked"] == marked.tolist()
    assert page.title() == page.inner_text("h1") == "Two bodies and a soup"
    assert page.inner_text("#facts") == "Frames\n12" and page.inner_text("#notes") == "A note."
    assert not page.is_visible("#progress") and not page.is_visible("#message")


def test_a_time_between_two_frames(page, frames):
    """Vertices of bodies whose faces stay are on straight lines; the faces of the event are marked, until another frame is asked for."""
    found = page.evaluate("""(() => {
        const between = { before: 3, after: 4, share: 0.25 };
        report.jump(3, { between, first: 0, second: 1, marked: [[5], [2, 7]], frames: "between 16 and 18" });
        return report.viewer.frame.pieces.map((each) => ({ ...each, grid: [...each.grid], marked: [...each.marked] }));
    })()""")
    assert page.inner_text("#drawn") == "the view shows the way between 16 and 18"
    assert [piece["marked"] for piece in found] == [[5], [2, 7], []]
    for piece, (start, faces), (end, _) in list(zip(found, frames[3].meshes, frames[4].meshes, strict=True))[:2]:
        positions = np.array(piece["zero"]) + piece["step"] * np.array(piece["grid"]).reshape(-1, 3)
        expected = 0.75 * start + 0.25 * end
        assert np.abs(positions - expected)[faces].max() <= np.ptp(expected, axis=0).max() / 8_000
    page.evaluate("report.jump(3)")
    assert page.inner_text("#drawn") == ""


def test_going_through_time(page):
    for key, expected in (("Right", 1), ("Right", 2), ("Left", 1), ("End", 11), ("Right", 11), ("Home", 0), ("Left", 0)):
        page.keyboard.press(key if key in ("Home", "End") else f"Arrow{key}")
        assert place(page) == expected
    page.fill("#scrub", "7")
    assert place(page) == 7 and page.inner_text("#now") == "frame 24 · 0.96 s"
    page.focus("#scrub")
    page.keyboard.press("ArrowRight")
    assert place(page) == 8
    page.locator("#pairs canvas").scroll_into_view_if_needed()
    box = page.locator("#pairs canvas").bounding_box()
    assert box is not None
    left, right = (page.evaluate(f"report.charts[0].x({k})") for k in (3, 4))
    page.mouse.move(box["x"] + left, box["y"] + 20)
    page.mouse.down()
    assert place(page) == 3
    page.mouse.move(box["x"] + right, box["y"] + 20)
    page.mouse.up()
    assert place(page) == 4 and "frame 18: 12 between bodies, 2 within a body" in page.inner_text("#pairs .tip")


def test_playing(page):
    page.evaluate("window.seen = []; report.go = function (k) { seen.push(k); Object.getPrototypeOf(this).go.call(this, k); }; 0")
    page.select_option("#speed", "4")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    until(page, "seen.some((place, k) => k && place < seen[k - 1])")  # once around
    assert page.get_attribute("#play", "aria-label") == "Pause"
    page.keyboard.press(" ")
    stopped = place(page)
    page.wait_for_timeout(150)
    assert place(page) == stopped and page.get_attribute("#play", "aria-label") == "Play"
    page.uncheck("#loop")
    page.click("#play")
    until(page, "!report.playing")
    assert place(page) == 11
    page.check("#loop")


@pytest.mark.parametrize("by_key", [False, True], ids=["click", "enter"])
def test_a_contact_is_looked_at(page, by_key):
    page.click("#reset")
    drawn(page)
    row = page.locator("#contacts tbody tr").nth(0)
    assert row.inner_text().split("\t") == ["first – second", "28", "40"]
    before = page.evaluate("report.viewer.camera.position.toArray()")
    if by_key:
        row.focus()
        page.keyboard.press("Enter")
    else:
        row.click()
    drawn(page)
    assert place(page) == 9 and row.get_attribute("aria-current") == "true"
    eye, target = (np.array(page.evaluate(f"report.viewer.{what}.toArray()")) for what in ("camera.position", "controls.target"))
    centre, scale = np.array(page.evaluate("report.viewer.centre")), page.evaluate("report.viewer.scale")
    assert target == pytest.approx((np.array([0.5, 0.25, -0.125]) - centre) * scale, abs=1e-4)  # y is up, so axes stay
    distance, radius = np.linalg.norm(eye - target), max(0.5 * scale, 0.004)
    assert radius < distance * np.sin(np.radians(18)) < 3 * radius and np.linalg.norm(eye - before) > 0.1
    page.locator("#frames tbody tr").nth(1).click()
    assert row.get_attribute("aria-current") is None and place(page) != 9


EVENT = ReportEvent(0, 1, "touching", "new", "first – second", 14, 22, "114–122", 18, "0.25", 40, (0.5, 0.25, -0.125), 0.5)
VERDICT = Verdict("collisions", "1 collision in 5 of 12 frames.", ["What counts: faces that intersect."])


def with_events(**values):
    """The usual story with an event that counts and one that does not, and what is known of faces."""
    usual = report_data()
    bodies = [body._replace(materials=["red", HOSTILE], material_of_face=np.arange(80, dtype=np.int32) % 2,
                            polygon_of_face=np.arange(80, dtype=np.int32) // 2, bones=["hip", HOSTILE, "arm"],
                            bone_of_face=np.arange(80, dtype=np.int32) % 4 - 1) for body in usual.bodies[:2]]  # fmt: skip
    static = EVENT._replace(first=1, second=2, state="static", title="second – soup", begin=10, end=32)
    labels = [str(100 + k) for k in range(12)]
    return report_data(events=[EVENT, static], verdict=VERDICT, bodies=[*bodies, usual.bodies[2]],
                       quiet_counts={"in every frame": np.full(12, 9_000)}, frame_labels=labels, **values)  # fmt: skip


def test_the_page_opens_on_the_worst_event(opened):
    """At its worst frame, with its two bodies alone; what does not count is folded, in the table and in the chart."""
    page = opened(with_events())
    drawn(page)
    assert place(page) == 4 and page.inner_text("#now").startswith("frame 104")
    assert page.inner_text("#verdict-title") == VERDICT.title and page.inner_text("#verdict-notes") == VERDICT.notes[0]
    assert page.evaluate("report.viewer.shown.map((each) => each.visible)") == [True, True, False]
    rows = page.locator("#contacts tbody tr")
    assert rows.nth(0).inner_text().split("\t") == ["first – second", "114–122", "0.25"]
    assert rows.nth(0).get_attribute("aria-current") == "true"
    assert not rows.nth(1).is_visible()
    page.click("#more")
    assert rows.nth(1).is_visible() and rows.nth(1).inner_text().startswith("second – soup (in every frame)")
    page.click("#all")
    assert page.evaluate("report.viewer.shown.every((each) => each.visible)") and not page.is_visible("#all")
    rows.nth(1).click()
    assert page.evaluate("report.viewer.shown.map((each) => each.visible)") == [False, True, True]
    assert page.evaluate("Math.max(...report.charts[0].totals)") < 9_000


def test_a_clean_page_opens_at_the_start(opened):
    page = opened(with_events()._replace(events=[], verdict=Verdict("clean", "Nothing meets in 12 frames.")))
    assert place(page) == 0 and page.get_attribute("#verdict", "class") == "clean" and not page.is_visible("#more")


def test_a_face_that_is_clicked_says_what_it_is(opened):
    """The nearest face under the pointer, with its polygon, its material, its bone and its vertices in the file."""
    page = opened(with_events(), viewport={"width": 1000, "height": 700})
    drawn(page)
    corners = page.evaluate("""(() => {
        const { viewer } = report, found = [];
        for (const [x, y] of [[0.5, 0.5], [0.45, 0.5], [0.5, 0.55], [0.55, 0.45], [0.4, 0.4]]) {
            const box = document.getElementById("scene").getBoundingClientRect();
            const hit = viewer.pick(box.left + x * box.width, box.top + y * box.height);
            if (hit) found.push([x * box.width, y * box.height, hit.body, hit.face,
                                 [0, 1, 2].map((k) => viewer.shown[hit.body].piece.faces[3 * hit.face + k])]);
        }
        return found;
    })()""")
    assert corners
    for x, y, body, face, vertices in corners:
        page.locator("#scene").click(position={"x": x, "y": y})
        until(page, f"document.getElementById('face').textContent.includes('face{face}polygon')")
        told = page.locator("#face").evaluate("(panel) => [...panel.children].map((each) => each.textContent)")
        assert dict(zip(told[::2], told[1::2], strict=True)) == {
            "body": ["first", "second", "soup"][body], "face": str(face), "polygon": str(face // 2), "material": ["red", HOSTILE][face % 2],
            "bone": ["none", "hip", HOSTILE, "arm"][face % 4], "vertices": ", ".join(map(str, vertices))}  # fmt: skip


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_the_axis_that_points_up(page, axis):
    page.select_option("#up", axis)
    drawn(page)
    point = [float(axis == each) for each in "xyz"]
    higher = page.evaluate(f"report.viewer.inside({point}).y - report.viewer.inside([0, 0, 0]).y")
    scale = page.evaluate("report.viewer.scale")
    turned = page.evaluate("report.viewer.root.matrix.determinant()")
    page.select_option("#up", "y")
    assert higher == pytest.approx(scale) and turned == pytest.approx(1.0)


def test_marks_of_three_colours(opened):
    """Near faces are not red; those that do not count are drawn if they are wanted."""
    (vertices, faces), *_ = next(snapshots([0])).meshes
    none, some = [np.empty(0, np.int32)], [np.arange(80, dtype=np.int32)]
    shown = [Snapshot(10, [(vertices, faces)], none, some, none), Snapshot(12, [(vertices, faces)], none, none, some)]
    page = opened(report_data(bodies=[ReportBody("one", "free")], contacts=[], snapshots=shown,
                              quiet_counts={"known": np.ones(12, np.int64)}), viewport={"width": 360, "height": 400})  # fmt: skip
    assert red(page) == 0 and page.evaluate("report.viewer.shown[0].marks.map((each) => each.meshes[0].visible)") == [False, True, False]
    page.evaluate("report.jump(1)")
    assert page.evaluate("report.viewer.shown[0].marks.map((each) => each.meshes[0].visible)") == [False, False, False]
    page.check("#quiet")
    assert page.evaluate("report.viewer.shown[0].marks.map((each) => each.meshes[0].visible)") == [False, False, True]


def red(page):
    """How many points of the view are red."""
    drawn(page)
    seen = np.asarray(Image.open(io.BytesIO(page.locator("#scene").screenshot())).convert("RGB"), np.int64)[40:-50]
    return int(((seen[..., 0] > 150) & (seen[..., 0] > 1.8 * seen[..., 1])).sum())


def test_bodies_are_shown_and_hidden(opened):
    """Body 0 alone has marked faces, and body 1 is around it."""
    (vertices, faces), *_ = next(snapshots([0])).meshes
    few, none = np.arange(6, dtype=np.int32), np.empty(0, np.int32)
    shown = [each._replace(meshes=[(vertices, faces), (1.5 * vertices, faces)], marked=[few, none]) for each in snapshots([10])]
    bodies = [ReportBody("inner", "free"), ReportBody("outer", "free")]
    page = opened(report_data(bodies=bodies, contacts=[], snapshots=shown), viewport={"width": 360, "height": 400})
    through = red(page)
    page.uncheck("#hidden")
    assert through > 50 and red(page) == 0
    page.check("#bodies tr:nth-child(2) .clear")
    assert red(page) > 50
    page.uncheck("#bodies tr:nth-child(2) .seen")
    assert red(page) > 50
    page.uncheck("#bodies tr:nth-child(1) .seen")
    assert red(page) == 0 and page.evaluate("report.viewer.renderer.info.render.triangles") == 0
    assert page.locator("#bodies tbody tr").nth(0).inner_text().split("\t")[:4] == ["inner", "free", "80", "0"]


def test_boxes_enclose_what_volumes_have(page, frames):
    assert page.get_attribute("#level", "max") == "3"
    hierarchy = halves(80)
    for level, at in ((1, 0), (3, 0), (3, 8), (2, 11)):
        page.evaluate(f"report.setLevel({level}).then(() => report.go({at}))")
        for body in (0, 1):
            vertices, faces = frames[at].meshes[body]
            corners = [vertices[faces[hierarchy.order[begin:end]]].reshape(-1, 3) for begin, end in hierarchy.levels[level]]
            found = page.evaluate(f"""(() => {{
                const {{ piece: {{ zero, step }}, boxes, count }} = report.viewer.shown[{body}];
                const {{ low, high }} = boxes.geometry.attributes;
                const placed = ({{ array }}) => Array.from(array, (value, k) => zero[k % 3] + step * value);
                return {{ count, drawn: boxes.visible && boxes.geometry.instanceCount, low: placed(low), high: placed(high) }};
            }})()""")
            assert found["count"] == found["drawn"] == 2**level
            size = np.ptp(vertices, axis=0).max()
            for name, ends in (("low", [each.min(axis=0) for each in corners]), ("high", [each.max(axis=0) for each in corners])):
                assert np.abs(np.reshape(found[name], (-1, 3)) - ends).max() <= size / 16_000
        assert page.inner_text("#level-text").startswith(f"{2 * 2**level} boxes")
    assert not page.evaluate("report.viewer.shown[2].boxes.visible")
    page.fill("#level", "0")
    until(page, "!report.viewer.shown[0].boxes.visible")
    assert page.inner_text("#level-name") == "off"


def test_soups_are_drawn(page, frames):
    for at in (4, 0, 11, 3):
        page.evaluate(f"report.go({at})")
        drawn(page)
        told = sum(len(faces) for _, faces in frames[at].meshes) + 2 * sum(map(len, frames[at].marked))  # marked faces also behind others
        assert page.evaluate("report.viewer.renderer.info.render.triangles") == told


def test_names_of_strangers(opened):
    bodies = [ReportBody(HOSTILE, HOSTILE), ReportBody("<b>bold</b>", "free"), ReportBody("c" * 3_000, "free")]
    counts = {HOSTILE: np.ones(12, np.int64)}
    page = opened(report_data(title=HOSTILE, notes=[HOSTILE], facts=[(HOSTILE, HOSTILE)], bodies=bodies, counts=counts))
    assert page.inner_text("h1") == page.title() == page.inner_text("#notes li") == HOSTILE
    assert page.locator("#bodies tbody td").nth(0).inner_text() == HOSTILE
    assert page.locator("img, b").count() == 0 and page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_light_dark_and_narrow(page):
    """Also where that changes while the page is open."""
    page.click("#reset")
    shades = {}
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 380 if scheme == "dark" else 720, "height": 500})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        drawn(page)
        seen = Image.open(io.BytesIO(page.locator("#view").screenshot())).convert("L")
        shades[scheme] = np.median(np.asarray(seen)), page.evaluate("getComputedStyle(document.body).color")
    assert shades["light"][0] > 200 and shades["dark"][0] < 60 and shades["light"][1] != shades["dark"][1]


def test_without_webgl(opened):
    """Charts and tables work, and a message says why there is no view."""
    page = opened(report_data(), script=WITHOUT_WEBGL)
    assert "no WebGL 2" in page.inner_text("#message") and not page.is_visible("#volumes")
    page.locator("#contacts tbody tr").nth(1).click()
    assert place(page) == 2 and page.locator("#bodies tbody tr").nth(1).inner_text().split("\t") == ["second", "free", "–", "30"]
    page.keyboard.press("End")
    assert place(page) == 11
    page.keyboard.press(" ")
    until(page, "report.place < 11")


def test_a_view_that_is_left_out(opened):
    page = opened(report_data(detail=3), 300_000)
    assert "left out" in page.inner_text("#message") and "left out" in page.inner_text("#notes")
    page.keyboard.press("ArrowRight")
    assert place(page) == 1


def test_nothing_to_tell(opened):
    page = opened(report_data(bodies=[], frames=np.empty(0, np.int32), counts={}, contacts=[], snapshots=[]))
    page.keyboard.press(" ")
    page.keyboard.press("ArrowRight")
    assert "no frames were stored" in page.inner_text("#message") and "No faces meet" in page.inner_text("#contacts")


def test_frames_without_snapshots(opened):
    """Steps and the scrubber go to frames that the view has; charts and tables go anywhere, and the page says what the view shows."""
    page = opened(report_data(shown=[10, 16, 22, 32]))  # places 0, 3, 6, 11
    page.keyboard.press("ArrowRight")
    assert place(page) == 3
    page.fill("#scrub", "8")
    assert place(page) == 6 and page.inner_text("#drawn") == ""
    page.locator("#contacts tbody tr").nth(0).click()
    assert place(page) == 9 and page.inner_text("#drawn") == "the view shows frame 32, the nearest it has"
    page.keyboard.press("ArrowLeft")
    assert place(page) == 6


def test_a_frame_makes_nothing_anew(opened):
    """Bodies whose faces stay keep their geometry and the arrays of their boxes, and vertices go to the graphics card in the array in which
    they were read: so a frame costs little (`benchmarks.checking page` says how little)."""
    page = opened(report_data(count=6))
    page.evaluate("report.setLevel(3)")
    found = page.evaluate("""[0, 1].map((body) => {
        const shown = report.viewer.shown[body], same = [];
        const kept = () => [shown.surface.geometry, shown.position, shown.boxes.geometry, shown.boxes.geometry.attributes.low.array];
        const before = kept();
        for (let k = 5; k >= 0; k--) {
            report.go(k);
            same.push(kept().every((each, i) => each === before[i]), shown.position.array === report.frames.list[k].pieces[body].grid);
        }
        return same;
    })""")
    assert found == [[True] * 12] * 2
