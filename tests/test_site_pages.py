"""The site in a browser: no page is wider than the window, and the reference shows parameters as lists."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.checking import BROWSER, BROWSERS
from child import PATIENCE, environment

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (1280, 1400, 400)
# What is wider than the window, or leaves it to the right; what scrolls within itself, such as code, may.
WIDER = """() => {
  const inside = each => { for (let up = each.parentElement; up; up = up.parentElement)
    if (getComputedStyle(up).overflowX !== "visible") return true; return false; };
  return [...document.querySelectorAll("body *")].filter(each => each.getBoundingClientRect().right > innerWidth + 1 && !inside(each))
    .map(each => each.tagName + " " + each.innerText.slice(0, 40));
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """All pages of the site; examples are not run."""
    pytest.importorskip("sphinx_gallery", reason="NO SPHINX: pages of the site are not tried. Install it with pip install -e '.[site]'")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("gallery", "__pycache__"))
    for name in ("src", "examples", "CHANGELOG.md"):
        (folder / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "docs", "out", "-D", "sphinx_gallery_conf.plot_gallery=0"]
    done = subprocess.run(command, cwd=folder, env=environment(PYTHONPATH=str(ROOT / "src"), TMPDIR=str(folder)), capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return sorted((folder / "out").rglob("*.html"))


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"NO BROWSER: pages of the site are not tried. Install Chromium or Chrome; not on the path: {', '.join(BROWSERS)}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=BROWSER)
        yield chromium
        chromium.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(width, pages, browser):
    page, wider = browser.new_context(viewport={"width": width, "height": 900}).new_page(), {}
    for path in pages:
        page.goto(path.as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wider[path.name] = page.evaluate(WIDER)[:3]
    page.context.close()
    assert len(pages) > 50 and wider == {}


def test_parameters_are_lists(pages, browser):
    """A term for each parameter, with what it is below."""
    page = browser.new_page()
    page.goto(next(path for path in pages if path.match("api/queries.html")).as_uri())
    terms = page.eval_on_selector_all("dl.py.function:has(dt[id='pliant.collide']) dd dl.simple > dt",
                                      "all => all.map(each => each.innerText)")
    assert {"a, b", "first", "contacts", "budget_ms", "engine"} <= set(terms)
    page.close()
    for path in [path for path in pages if path.parent.name == "api"]:
        text = path.read_text(encoding="utf-8")
        assert "----" not in text and ">Parameters<" not in text, f"{path.name}: a heading that did not become markup"
