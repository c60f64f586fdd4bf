"""Every example checks itself, and the programs in the README and the documentation run as they stand there."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant import shapes

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SMALL = {"15_falling_cloth": ["--triangles", "800", "--frames", "12"]}      # arguments of those that are too long for a test
PAGES = [page for page in sorted((ROOT / "docs").glob("**/*.md")) if PROGRAM.search(page.read_text(encoding="utf-8"))
         and page.parent.name != "tutorials"]  # those have tests of their own


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path), *SMALL.get(path.stem, [])])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_falling_cloth_reaches_the_body_and_is_written(tmp_path, capsys, monkeypatch):
    """Frames are those of the simulation, features come near, and the folder is read again."""
    out = tmp_path / "run"
    monkeypatch.setattr(sys, "argv", ["15_falling_cloth.py", "--triangles", "450", "--frames", "8", "--out", str(out)])
    names = runpy.run_path(str(ROOT / "examples" / "15_falling_cloth.py"))
    assert names["most_near"] > 50 and len(names["states"]) == 9
    for name, side in (("cloth", 0), ("body", 1)):
        with np.load(out / f"{name}.npz") as file:
            assert np.array_equal(file["vertices"], [state[side] for state in names["states"]])
        animation = pl.read(out / f"{name}.npz")
        assert (animation.frames, animation.rate) == (9, 50)


def test_the_falling_cloth_stops_if_faces_intersect(monkeypatch):
    """Without contact forces and without the bound of its steps, the cloth falls into the body."""
    within = pl.within
    monkeypatch.setattr(pl, "within", lambda a, b, radius, **options: within(a, b, 0.0, **options))
    monkeypatch.setattr(pl, "step_size", lambda *arguments, **options: 1.0)
    monkeypatch.setattr(sys, "argv", ["15_falling_cloth.py", "--triangles", "450", "--frames", "10"])
    with pytest.raises(RuntimeError, match=r"frame \d+: \d+ pairs of faces intersect"):
        runpy.run_path(str(ROOT / "examples" / "15_falling_cloth.py"))


def test_there_is_a_first_example():
    assert EXAMPLES[0].name == "00_minimal.py"


def test_the_program_of_the_readme_runs(capsys):
    (program,) = PROGRAM.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(program.splitlines()) <= 15
    names: dict = {}
    exec(compile(program, "README.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 100 and len(names["pairs"])


OBJ = "v 0 0 {0}\nv 1 0 {0}\nv 0 1 {0}\nf 1 2 3\n"
VTU = """<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian"><UnstructuredGrid>
<Piece NumberOfPoints="3" NumberOfCells="1">
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0 1 0 0 0 1 0</DataArray></Points>
<Cells><DataArray type="Int64" Name="connectivity" format="ascii">0 1 2</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">3</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">5</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where programs run: with the files that they read."""
    (tmp_path / "frames").mkdir()
    for k in range(3):
        (tmp_path / "frames" / f"cloth_{k}.obj").write_text(OBJ.format(k))
    (tmp_path / "table.obj").write_text(OBJ.format(0.5))
    (tmp_path / "run.vtu").write_text(VTU)
    listed = '<Collection><DataSet timestep="0" file="run.vtu"/></Collection>'
    (tmp_path / "run.pvd").write_text(f'<VTKFile type="Collection">{listed}</VTKFile>')
    cloth = shapes.folding_cloth(400, 12)
    np.savez(tmp_path / "walk.npz", faces=cloth.faces, vertices=[cloth.frame(k) for k in range(12)])
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.usefixtures("folder")
def test_the_programs_of_a_page_run(page):
    """One after the other, each with the names of those before it; their lines count from the top of the page."""
    text, names = page.read_text(encoding="utf-8"), {}
    for program in PROGRAM.finditer(text):
        above = text.count("\n", 0, program.start(1))
        exec(compile("\n" * above + program[1], str(page), "exec"), names)


def test_there_are_pages_with_programs():
    assert "self-collision.md" in [page.name for page in PAGES]
