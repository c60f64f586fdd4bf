"""What readers ask before they believe: sizes, counts, names, lines."""

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.errors import FileError
from pliant.io import limits
from pliant.io.limits import Lines, UniqueNames, check_fits, display_name, file_errors, refuse, resolve_inside, size_of


def test_an_error_is_one_short_line():
    text = str(refuse("some.obj", "first\n  second " + "x" * 1000))
    assert text.startswith("some.obj: first second xxx") and text.endswith("…") and len(text) < 330


def test_names_are_of_one_line_short_and_never_empty():
    assert display_name("  left\tarm\u202e\x1b \x00") == "left arm"
    assert (display_name("\n\x7f"), display_name("", "mesh"), display_name("Müller ∂ 骨")) == ("unnamed", "mesh", "Müller ∂ 骨")
    assert len(display_name("x " * 10**6)) <= 100
    assert str(refuse("a\nb.obj", "c\x1bd\re")) == "a b.obj: c d e"


def distinct(names, coming=True):
    apart = UniqueNames(names if coming else ())
    return [apart.assign(name) for name in names]


def test_names_that_are_equal_get_numbers_that_nobody_has():
    assert distinct(["x", "x", "y", "x", "x 2"]) == ["x", "x 3", "y", "x 4", "x 2"]
    assert distinct(["x", "x 2", "x 2", "x", "x 2 2"]) == ["x", "x 2", "x 2 3", "x 3", "x 2 2"]
    assert distinct(["x", "x", "x 2", "x"], coming=False) == ["x", "x 2", "x 2 2", "x 3"]


@given(st.lists(st.sampled_from(["a", "a 2", "a 3", "a 2 2", "b", "b" * 100, "b" * 92 + " 2", "b" * 99 + "c"]), max_size=30), st.booleans())
def test_names_differ_and_are_short(names, coming):
    found = distinct(names, coming)
    assert len(set(found)) == len(names) and all(len(name) <= 100 for name in found)
    if coming:
        assert [found[names.index(name)] for name in names] == names, "the first of a name keeps it"
    assert all(display_name(name) == name for name in found)


def test_numbering_many_names_takes_time_in_proportion(monkeypatch):
    asked = []

    class Counted(set):
        def __contains__(self, name):
            asked.append(name)
            return super().__contains__(name)

    monkeypatch.setattr(limits, "set", Counted, raising=False)
    for names in (["x"] * 2000, ["x"] * 1000 + [f"x {k}" for k in range(1000)], [f"{'x' * 96}{k}" for k in range(1000)] * 2):
        asked.clear()
        assert len(set(distinct(names))) == len(names)
        assert len(asked) < 8 * len(names)


MEMORY = "takes more memory than there is, or than is allowed for a file of its size"


def test_whatever_a_parser_raises_names_the_file(tmp_path):
    path = tmp_path / "x.obj"
    for error, said in ((KeyError("vertex"), "'vertex'"), (RecursionError(), "RecursionError"), (MemoryError(), MEMORY),
                        (ValueError(f"{path}: twice"), "twice"), (FileError("as it is"), "as it is")):  # fmt: skip
        with pytest.raises(FileError) as caught, file_errors(path):
            raise error
        assert str(caught.value) == (said if isinstance(error, FileError) else f"{path}: {said}")
    for error in (KeyboardInterrupt(), ImportError("pip install")):
        with pytest.raises(type(error)), file_errors(path):
            raise error


def test_sizes_are_those_of_ordinary_files(tmp_path):
    path = tmp_path / "x.obj"
    path.write_bytes(b"12345")
    assert size_of(path) == 5
    with pytest.raises(FileError, match="has 5 bytes, at most 4 are read"):
        size_of(path, 4)
    os.mkfifo(tmp_path / "pipe.obj")
    (tmp_path / "zero.obj").symlink_to("/dev/zero")
    for name in (tmp_path, tmp_path / "pipe.obj", tmp_path / "zero.obj", tmp_path / "none.obj", tmp_path / ("x" * 300)):
        with pytest.raises(FileError, match="no such file, or not an ordinary one"):
            size_of(name)


def test_counts_are_compared_with_bytes(tmp_path):
    check_fits(tmp_path, "points", 10, 12, 120)
    for count in (11, -1, 2**63):
        with pytest.raises(FileError, match="points, which do not fit into the 120 bytes"):
            check_fits(tmp_path, "points", count, 12, 120)


def lines(content):
    return list(Lines("some.obj", io.BytesIO(content)))


def test_lines_are_short(monkeypatch):
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 8)
    monkeypatch.setattr(limits, "BLOCK_BYTES", 8)
    assert lines(b"") == []
    assert lines(b"12345678\n\n1234567\r\nlast") == [b"12345678", b"", b"1234567\r", b"last"]
    for content in (b"1\n123456789\n", b"1\n123456789", b"1\n12345678901234567890", b"12345678901234567\n"):
        with pytest.raises(FileError, match="a line of more than 8 bytes"):
            lines(content)


@given(st.binary(max_size=60).map(lambda data: b"ab" + data.replace(b"0", b"\n")), st.integers(1, 20))  # no mark of another encoding
def test_lines_are_those_between_their_ends(content, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "BLOCK_BYTES", block)
        assert lines(content) == [line.removesuffix(b"\n") for line in io.BytesIO(content)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_texts_of_two_bytes_a_sign_are_refused(encoding):
    with pytest.raises(FileError, match=r"some\.obj: is written in UTF-16 or UTF-32, or is no text; expected UTF-8 or ASCII"):
        lines("v 0 0 0\n".encode(encoding))


@pytest.mark.parametrize("content", [b"", b"v", b"v 0", b"\n", b"v 0 0 0\nf 1 1 1\n"])
def test_the_mark_of_utf_8_is_no_content(content):
    assert lines(b"\xef\xbb\xbf" + content) == lines(content)


def test_lines_are_not_too_many(monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_BYTES", 6)
    monkeypatch.setattr(limits, "MAX_LINES", 6)
    monkeypatch.setattr(limits, "LINES_PER_CHECK", 3)
    full = b"0 0 0\n" * 3
    assert len(lines(full + b"0 0 0\n\n")) == 5
    with pytest.raises(FileError, match="has 6 lines or more"):
        lines(full + full)
    with pytest.raises(FileError, match="has 6 lines, up to line 9, that are empty or hold next to nothing"):
        lines(full + b"\n\n\n\n\n\n")


def test_some_lines_must_mean_something(monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_BYTES", 60)
    monkeypatch.setattr(limits, "LINES_PER_CHECK", 10)

    def read(idle):
        text = Lines("some.obj", io.BytesIO(b"0 0 0\n" * 40))
        for number, _ in enumerate(text):
            text.idle += number % 10 < idle[number // 10]

    read([9, 9, 9, 9])
    with pytest.raises(FileError, match=r"has 10 lines, up to line 30, that are empty or hold next to nothing"):
        read([0, 9, 10, 0])


def test_names_stay_in_their_folder(tmp_path):
    home = tmp_path / "home"
    (home / "below").mkdir(parents=True)
    (home / "out").symlink_to(tmp_path)
    path = home / "scene.gltf"
    assert resolve_inside(path, "a.bin") == home.resolve() / "a.bin"
    assert resolve_inside(path, "below\\a.bin") == home.resolve() / "below" / "a.bin"
    for name in ("", "../a.bin", "/etc/passwd", "below/../../a", "out/a.bin", "~/a", "C:\\a", "file:///a", "data:,a", "a\0b", "http://x/y"):
        with pytest.raises(FileError, match="refers to"):
            resolve_inside(path, name)
