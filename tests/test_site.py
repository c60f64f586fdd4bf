"""The site: all pages and docstrings parse without a warning, and lists that must be complete are.

`make docs` builds it whole, with examples that run and draw; here nothing is executed, and no page is written.
"""

import importlib
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pliant
from child import PATIENCE, environment

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GROUPS = ["Start", "Concepts", "Tutorials", "Guides", "Extend", "Measured", "For maintainers", "Reference"]
IMPORT = re.compile(r"^from (pliant\.(?:io|check|report)[\w.]*) import ([\w, ]+)$", re.MULTILINE)
MODULE = re.compile(r"`benchmarks\.(\w+)`")
EXAMPLE = re.compile(r'"""(.+)\n(=+)\n\n.+?"""\n', re.DOTALL)
NO_SPHINX = "NO SPHINX: {} not tried. Install it with pip install -e '.[site]'; make docs does so, too"


@pytest.fixture
def site(monkeypatch):
    """The modules that build the site can be imported."""
    monkeypatch.syspath_prepend(str(DOCS / "site"))


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_all_pages_parse(tmp_path):
    """In a copy, as the gallery writes pages beside the others."""
    pytest.importorskip("sphinx_gallery", reason=NO_SPHINX.format("pages of the site are"))
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("gallery", "__pycache__"))
    for name in ("src", "examples", "CHANGELOG.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy", "docs", "out",
               "-D", "sphinx_gallery_conf.plot_gallery=0"]
    variables = environment(PYTHONPATH=str(ROOT / "src"), TMPDIR=str(tmp_path))
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def in_the_reference():
    """(module, name) of all entries of the reference."""
    found = []
    for page in sorted((DOCS / "api").glob("*.md")):
        module = ""
        for directive, name in re.findall(r"^\.\. (currentmodule|auto\w+):: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            if directive == "currentmodule":
                module = name
            else:
                found.append((module, name))
    return found


def test_every_public_name_is_in_the_reference():
    assert sorted(name for module, name in in_the_reference() if module == "pliant") == pliant.__all__


def test_names_of_the_reference_exist_and_are_listed_once():
    listed = in_the_reference()
    assert len(listed) == len(set(listed))
    missing = [f"{module}.{name}" for module, name in listed if not getattr(importlib.import_module(module), name).__doc__]
    assert missing == []


def test_names_that_pages_and_examples_import_are_in_the_reference():
    """Those of the rooms that have pages of their own in the reference."""
    texts = [*DOCS.glob("**/*.md"), *(ROOT / "examples").rglob("*.py")]
    imported = [(module, name) for path in texts if "gallery" not in path.parts
                for module, names in IMPORT.findall(path.read_text(encoding="utf-8")) for name in re.split(r",\s*", names.strip())]
    assert len(imported) > 10
    assert sorted(set(imported) - set(in_the_reference())) == []


def test_every_page_is_in_one_group(site):
    from landing import groups

    found = groups(text_of("index.md"))
    assert list(found) == GROUPS
    pages = [page for group in found.values() for page in group]
    assert len(pages) == len(set(pages))
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.glob("**/*.md")} - {"index"}
    assert {page for page in pages if not page.startswith("../")} == written


def test_every_benchmark_is_listed_once():
    text = text_of("benchmarks.md")
    listed = [name for line in text.splitlines() if line.startswith("|") for name in MODULE.findall(line.split("|")[1])]
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")
    papers = {path.parent.name for path in (ROOT / "experiments").glob("*/runs.py")}
    assert set(re.findall(r"\| `python -m experiments (\w+)`", text)) == papers


def test_examples_have_a_title_for_the_gallery():
    for path in sorted((ROOT / "examples").glob("*.py")):
        title = EXAMPLE.match(path.read_text(encoding="utf-8"))
        assert title and len(title[1]) == len(title[2]), f"{path.name}: a title, a line of = as long, an empty line, what it shows"


def test_every_example_has_a_picture_of_its_own(site):
    from pictures_of_examples import SCENES

    assert sorted(SCENES) == sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
    assert len(SCENES) >= 10 and len(set(SCENES.values())) == len(SCENES)


def test_examples_are_drawn(site):
    """Intersecting faces are red, in the scene of an example and nowhere else."""
    import pictures_of_examples as pictures

    names = runpy.run_path(str(ROOT / "examples" / "00_minimal.py"))
    for stem, intersects in (("00_minimal", True), ("without a scene", False)):
        image = pictures.picture_of(stem, names).astype(int)
        assert ((image[..., 0] > image[..., 1] + 100) & (image[..., 0] > image[..., 2] + 100)).any() == intersects
        assert image.std(axis=(0, 1)).min() > 10                        # not empty


def test_navigation_follows_the_landing_page(site):
    from landing import navigation, to_the_gallery

    text = ("# Top\n[no](no.md)\n## One\n| [a](a.md) | see [b](b.md#there) |\n\n[aside](c.md)\n## Empty\nnothing\n"
            "## Two\n| [d](e/d.md) | [d](e/d.md) |\n")
    assert re.findall(r":caption: (.+)\n\n((?:[^`]+\n)+)```", navigation(text)) == [("One", "a\n"), ("Two", "e/d\n")]
    assert to_the_gallery("[x](../../examples/01_cloth.py), [y](../examples/README.rst)", 1) == \
        "[x](../gallery/01_cloth.rst), [y](../gallery/index.rst)"


def test_docstrings_become_markup(site):
    from docstrings import markup

    told = markup("What `Body` has, a * b | c, trailing_ and `x\ny`.\n\nParameters\n----------\n"
                  "rows, more : (n, 3) `of_them`,\n    or (3,)\nlast : 1\n\nIt takes\nmode : fast\n\n>>> 2 * 3\n6\n")
    assert told == ("What :py:obj:`Body <pliant.Body>` has, a \\* b \\| c, trailing\\_ and ``x y``.\n\n"
                    "``rows``, ``more``\n    (n, 3) ``of_them``,\n    or (3,)\n\n``last``\n    1\n\n"
                    "It takes\n\n``mode``\n    fast\n\n>>> 2 * 3\n6\n")
    assert markup("Its `distance`.", own=("distance",)) == "Its ``distance``.\n"


def test_what_comes_from_elsewhere_is_found(site):
    pytest.importorskip("sphinx", reason=NO_SPHINX.format("the search for links out of the site is"))
    from offline import fetched

    here = '<a href="https://x.org"></a><script src="_static/a.js"></script><link rel="stylesheet" href="b.css"/>url("../c.woff2")'
    assert fetched(here) == []
    there = ('<script async src="https://x.org/a.js">', '<link href="//x.org/b.css" rel="stylesheet">',
             '<img alt="" src="http://x.org/c.png">',
             "@font-face { src: url('https://x.org/d.woff2') }", '@import "https://x.org/e.css";')
    assert [len(fetched(text)) for text in there] == [1] * 5
