"""VTK's files that lie, unfold too far or name others: each is refused in one line, and changed bytes are read or refused."""

import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.errors import FileError
from pliant.io.vtk import arrays, legacy
from pliant.io.vtk.vtk import read_vtk
from solids import cube, mesh_of
from vtks import POLYDATA, collection, handmade, write


def refused(path, *parts, read=read_vtk):
    with pytest.raises(FileError) as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message and len(message) < len(str(path)) + 340
    for part in parts:
        assert part in message, message


def test_entities_are_refused_in_every_encoding(tmp_path):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><VTKFile type="Collection">&b;</VTKFile>'
    declared = [f'<?xml version="1.0" encoding="{name}"?>{bomb}'.encode() for name in ("utf-7", "UTF-16")]
    outside = b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><VTKFile/>'
    plain = [bomb.encode(), bomb.encode("utf-16"), b"\xef\xbb\xbf" + bomb.encode(), bomb.encode("utf-16-le")]
    for number, content in enumerate([*plain, *declared, outside]):
        for suffix in (".pvd", ".vtu", ".vtp"):
            path = tmp_path / f"{number}{suffix}"
            path.write_bytes(content)
            refused(path)
    refused(tmp_path / "0.pvd", "document type")
    refused(tmp_path / "4.pvd", "'utf-7'")


def test_elements_are_counted(tmp_path, monkeypatch):
    (tmp_path / "deep.pvd").write_text("<a>" * 100_000)
    refused(tmp_path / "deep.pvd", "deep")
    monkeypatch.setattr("pliant.io.vtk.safe_xml.MAX_ELEMENTS", 10)
    (tmp_path / "many.pvd").write_text('<VTKFile type="Collection">' + "<a/>" * 20 + "</VTKFile>")
    refused(tmp_path / "many.pvd", "more than 10 elements")


def test_what_unfolds_too_far_is_refused(tmp_path, monkeypatch):
    path = handmade(tmp_path / "a.vtu", "raw", True)
    monkeypatch.setattr(arrays, "RATIO_EXEMPT_BYTES", 10)
    monkeypatch.setattr(arrays, "MAX_RATIO", 0)
    refused(path, "unfolds to")


def test_a_block_that_is_longer_than_announced_is_refused(tmp_path):
    path = handmade(tmp_path / "a.vtu", "raw", True)
    monstrous = zlib.compress(bytes(10_000_000))
    content = path.read_bytes()
    start = content.index(b"\n _") + 3
    path.write_bytes(content[:start] + np.array([1, 36, 0, len(monstrous)], "<u4").tobytes() + monstrous + content[start:])
    refused(path, "does not unfold to")


def test_arrays_that_overlap_are_refused(tmp_path):
    """Many pieces of the same bytes would take many times the memory of the file."""
    path = handmade(tmp_path / "a.vtu", "base64", more=10_000)
    assert len(mesh_of(path)[1]) == 2
    text = path.read_text()
    piece = text[text.index("<Piece") : text.index("</Piece>") + 8]
    path.write_text(text.replace(piece, piece * 3))
    refused(path, "do not fit")


@pytest.mark.parametrize("old, new, told", [
    ("POINTS 9 float", "POINTS 900000000000 float", "announces"), ("POINTS 9 float", "POINTS -9 float", "no count"),
    ("POINTS 9 float", "POINTS 9 string", "of type"), ("POINTS 9", "POINTS 30", "more are announced"),
    ("POINTS 9", "POINTS 99", "do not fit"),
    ("0 1 2 3", "0 1 2 9", "point 9"), ("0 1 2 3", "0 1 2 -1", "point -1"), ("5 4 5 6 7 8", "9 4 5 6 7 8", "corners"),
    ("4 1 0", "nan 1 0", "not finite"), ("POLYDATA", "STRUCTURED_POINTS", "Extract Surface"), ("# vtk", "# stl", "begin with"),
    ("ASCII", "TEXT", "ASCII or BINARY"), ("LINES 1 3", "LINES 1", "expected 2 values"), ("a strip", "a" * 5000, "characters"),
    ("1 0 0", "one 0 0", "coordinates"), ("TRIANGLE_STRIPS 1 5", "OTHER 1 5", "'OTHER'"),
])  # fmt: skip
def test_legacy_files_that_lie(old, new, told, tmp_path):
    path = tmp_path / "p.vtk"
    path.write_text(POLYDATA.replace(old, new, 1))
    with pytest.raises(FileError, match=r"p\.vtk") as caught:
        read_vtk(path)
    assert told in str(caught.value)


@pytest.mark.parametrize("junk", ["METADATA\nx\n\n", "FIELD a 0\n", "FIELD a 999999\n" + "x 0 0 int\n" * 9])
def test_legacy_files_of_countless_sections_are_refused(junk, tmp_path, monkeypatch):
    monkeypatch.setattr(legacy, "MAX_KEYWORDS", 9)
    path = tmp_path / "p.vtk"
    path.write_text(POLYDATA)
    assert len(read_vtk(path).actors) == 1
    path.write_text(POLYDATA.replace("POINTS", junk * 10 + "POINTS"))
    refused(path, "more than 9 sections and arrays")


def test_other_files_are_named(tmp_path):
    points, _ = cube("tetra", 1)
    refused(tmp_path / "none.vtu", "no such file")
    (tmp_path / "a.vtu").write_text('<VTKFile type="ImageData"/>')
    refused(tmp_path / "a.vtu", "ImageData")
    (tmp_path / "b.vtu").write_text("<html/>")
    refused(tmp_path / "b.vtu", "<html>")
    refused(write(tmp_path / "line.vtu", points, [("line", [[0, 1]])]), "no surface")
    (tmp_path / "a.pvtu").write_text("<VTKFile/>")
    refused(tmp_path / "a.pvtu", "Merge Blocks")
    path = handmade(tmp_path / "c.vtu", "inline")
    path.write_text(path.read_text().replace("<VTKFile", '<VTKFile compressor="vtkLZ4DataCompressor"'))
    refused(path, "vtkLZ4DataCompressor")


@pytest.mark.parametrize("name", ["../a.vtu", "/etc/passwd", "https://example.org/a.vtu", "link.vtu", "", "a\\u0000.vtu"])
def test_lists_name_files_of_their_folder_only(name, tmp_path):
    folder = tmp_path / "within"
    folder.mkdir()
    points, cells = cube("tetra", 1)
    write(tmp_path / "a.vtu", points, [("tetra", cells)])
    os.symlink(tmp_path / "a.vtu", folder / "link.vtu")
    (folder / "l.vtu.series").write_text(f'{{"files": [{{"name": "{name}", "time": 0}}]}}')
    refused(folder / "l.vtu.series", "refers to")
    if "u0000" not in name:
        line = f'<DataSet timestep="0" file="{name}"/>'
        (folder / "l.pvd").write_text(f'<VTKFile type="Collection"><Collection>{line}</Collection></VTKFile>')
        refused(folder / "l.pvd", "refers to")


@pytest.mark.parametrize("text, told", [
    ("[]", "no list of files"), ("{", "not JSON"), ("[" * 100_000, "not JSON"), ('{"files": []}', "lists 0 files"),
    ('{"files": [{"name": "a", "time": "x"}]}', "a time is 'x'"), ('{"files": [{"name": "a", "time": 1e999}]}', "a time is"),
    ('{"files": [{"name": "a", "time": 1}, {"name": "b", "time": 1}]}', "two files"),
])  # fmt: skip
def test_lists_that_are_none(text, told, tmp_path):
    (tmp_path / "a.vtk.series").write_text(text)
    refused(tmp_path / "a.vtk.series", told)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Small valid files of every form."""
    folder = tmp_path_factory.mktemp("samples")
    (folder / "p.vtk").write_text(POLYDATA)
    points, cells = cube("tetra", 1)
    made = [folder / "p.vtk", collection(folder, [0.0]), handmade(folder / "p.vtp", "inline", kind="PolyData")]
    made += [handmade(folder / f"{form}{zipped}.vtu", form, zipped) for form in ("inline", "raw", "base64") for zipped in (False, True)]
    made += [write(folder / f"{version}{binary}.vtk", points, [("tetra", cells)], file_format=version, binary=binary)
             for version in ("vtk", "vtk42") for binary in (False, True)]  # fmt: skip
    return [(path, path.read_bytes()) for path in made]


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 30), st.binary(max_size=4), st.integers(0, 4)), min_size=1, max_size=4)


@given(choice=st.integers(0, 1000), changes=CHANGES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_files_are_read_or_refused(samples, choice, changes):
    path, content = samples[choice % len(samples)]
    for place, new, gone in changes:
        at = place % len(content)
        content = content[:at] + new + content[at + gone :]
    changed = Path(path.parent, f"changed{path.suffix}")
    changed.write_bytes(content)
    try:
        read_vtk(changed).actors[0]._read(0)
    except FileError as error:
        assert str(error).startswith(str(path.parent))  # the file itself, or one that it names


@given(st.lists(st.tuples(st.text("0123456789.e-", min_size=1, max_size=60), st.text(" \n\t\r", min_size=1, max_size=9)), min_size=1),
       st.integers(1, 100))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_the_end_of_some_words_is_found(words, count):
    """Words and blanks of any length, against splitting."""
    head = b"# vtk DataFile Version 3.0\ntitle\nASCII\n"
    reader = legacy._LegacyReader(Path("x"), head + "".join(word + blank for word, blank in words).encode())
    if count > len(words):
        with pytest.raises(FileError, match="more are announced"):
            reader._end_of_words("words", count)
    else:
        found = reader.content[reader.position : reader._end_of_words("words", count)]
        assert found.split() == [word.encode() for word, _ in words[:count]] and not found[-1:].isspace()
