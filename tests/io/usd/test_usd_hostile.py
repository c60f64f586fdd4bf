"""USD files of strangers. The library is C++: files that might end the process are tried in another one (`test_served_files`)."""

import os
import sys

import pytest

from in_process import Here
from pliant.errors import FileError
from pliant.io.usd import usd
from pliant.io.usd.usd import read_usd
from stages import MESH, refused


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(usd, "SubprocessClient", Here)


@pytest.mark.parametrize("arc", ["references = @{}@</m>", "payload = @{}@</m>", "inherits = </n>\n references = [@{}@</m>]"])
@pytest.mark.parametrize("name", ["../a.usda", "/etc/passwd", "link.usda", "missing.usda", "https://example.org/a.usda", "`\"../a.usda\"`",
                                  "a.obj", "part.usda:SDF_FORMAT_ARGS:a=b"])  # fmt: skip
def test_layers_of_other_places(arc, name, tmp_path, monkeypatch):
    folder = tmp_path / "within"
    folder.mkdir()
    for place in (tmp_path / "a.usda", tmp_path / "missing.usda", folder / "part.usda"):
        place.write_text(MESH)
    os.symlink(tmp_path / "a.usda", folder / "link.usda")
    monkeypatch.chdir(tmp_path)  # where the library looks for missing.usda
    path = folder / "b.usda"
    path.write_text(f'#usda 1.0\ndef "m" (\n {arc.format(name)}\n)\n{{\n}}\n')
    refused(path, "refers to")
    path.write_text(f"#usda 1.0\n(\n subLayers = [@{name}@]\n)\n")
    refused(path, "refers to")
    text = f'#usda 1.0\ndef "m" (\n variantSets = "v"\n)\n{{\n variantSet "v" = {{\n "one" (\n {arc.format(name)}\n)\n {{\n}}\n}}\n}}\n'
    path.write_text(text)
    refused(path, "refers to")


@pytest.mark.parametrize("old, new, told", [
    ("#usda 1.0", "#usdb", ""), ("[0, 1, 2]", "[0, 1, 3]", "point 3"), ("[0, 1, 2]", "[0, 1, -1]", "point -1"),
    ("Counts = [3]", "Counts = [4]", "corners"), ("Counts = [3]", "Counts = [-3]", "corners"), ("(1, 0, 0),", "(inf, 0, 0),", "not finite"),
    ("endTimeCode = 2", "endTimeCode = 1e12", "frames"), ("endTimeCode = 2", "endTimeCode = 0", "rising"),
    ("endTimeCode = 2", "endTimeCode = 2\n timeCodesPerSecond = 0", "a second"), ("Mesh", "Xform", "no mesh"),
    ("(0, 0, 0, 1) )", "(0, 0, 0, 2) )", "not affine"), ("(0, 0, 1, 0),", "(0, 0, nan, 0),", "affine and finite"),
    ('"m" (\n', '"m" (\n clips = {\n dictionary default = {\n asset[] assetPaths = [@x.usda@]\n }\n }\n', "value clips"),
])  # fmt: skip
def test_files_that_lie(old, new, told, tmp_path):
    path = tmp_path / "a.usda"
    path.write_text(MESH)
    assert read_usd(path).frames == 1
    assert old in MESH
    other = tmp_path / "b.usda"  # the library keeps layers by name
    other.write_text(MESH.replace(old, new, 1))
    refused(other, told)


@pytest.mark.parametrize("arc", ["references = </{}>", "inherits = </{}>", "payload = </{}>", "specializes = </{}>",
                                 "references = @part.usda@</{}>"])  # fmt: skip
def test_references_that_unfold(arc, tmp_path):
    """Ten levels, each with ten prims that refer to the next: 10¹⁰, of which none is made."""
    text = MESH.replace('"m"', '"level10"')
    for level in range(10):
        inner = "".join(f'def "p{k}" (\n {arc.format(f"level{level + 1}")}\n)\n{{\n}}\n' for k in range(10))
        text += f'def "level{level}"\n{{\n{inner}}}\n'
    (tmp_path / "part.usda").write_text(text)
    path = tmp_path / "a.usda"
    path.write_text(text)
    refused(path, "may unfold to")


def test_references_that_unfold_within_others(tmp_path):
    """The same, where each level refers to a prim that the level above it has by reference only."""
    text = MESH.replace('"m"', '"level10"')
    for level in range(10):
        to = f"level{level + 1}" if level == 9 else f"level{level + 1}/p0/over"
        refer = f"(\n references = </{to}>\n)\n"
        inner = "".join(f'def "p{k}" {refer}{{\n over "over" {refer} {{\n}}\n}}\n' for k in range(10))
        text += f'def "level{level}"\n{{\n{inner}}}\n'
    path = tmp_path / "a.usda"
    path.write_text(text)
    refused(path, "may unfold to")


def test_nothing_is_printed(tmp_path, capfd):
    path = tmp_path / "a.usda"
    path.write_text(MESH.replace('"m" (\n', '"m" (\n references = </nowhere>\n'))
    read_usd(path).actors[0].at(0)
    printed = capfd.readouterr()
    assert printed.out == "" and printed.err == ""


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.usda").write_text(MESH)
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[usd\]'"):
        read_usd(tmp_path / "a.usda")
    with pytest.raises(FileError, match="no such file"):
        read_usd(tmp_path / "none.usda")
