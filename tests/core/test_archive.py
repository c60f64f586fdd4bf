"""An archive holds what was written, to the bit, or is refused with a `FileError` that names the file; nothing in it is believed or run."""

import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest

from pliant.core import archive
from pliant.errors import FileError

pytestmark = pytest.mark.formulas

KINDS = {"numbers": (np.float64, 2), "names": (np.int32, 1)}
NUMBERS = np.array([[0.1, -0.0, 5e-324], [1e308, -1 / 3, 2.0**-1022]])
NAMES = np.array([3, -1, 2**31 - 1], np.int32)
META = {"format": "a test", "list": [1, 0.1, None, True], "text": "× – 😀"}


def npy(array, **options):
    """The bytes of an array as a member."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def header(text, data=b"", version=1):
    """A member whose header says anything."""
    text = text.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def shaped(shape, descr="'<f8'", data=b"\0" * 240):
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}", data)


def described(text):
    return {"meta.npy": npy(np.frombuffer(text, np.uint8))}


def assemble(path, changes=(), compression=zipfile.ZIP_STORED):
    """A good archive with some members other than they should be; None: missing."""
    members = {"meta.npy": npy(np.frombuffer(json.dumps(META).encode(), np.uint8)), "numbers.npy": npy(NUMBERS), "names.npy": npy(NAMES)}
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in {**members, **dict(changes)}.items():
            if data is not None:
                file.writestr(name, data)


class Trap:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("/proc/this must never run",)


def test_what_was_written_is_read_to_the_bit(tmp_path):
    path = tmp_path / "file"
    archive.write(path, META, {"numbers": NUMBERS, "names": NAMES})
    meta, arrays = archive.read(path, KINDS)
    assert meta == META
    assert set(arrays) == set(KINDS)
    for name, array in (("numbers", NUMBERS), ("names", NAMES)):
        assert arrays[name].tobytes() == array.tobytes()
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].flags.c_contiguous and arrays[name].flags.writeable
    assert os.listdir(tmp_path) == ["file"]


def test_the_name_may_be_anything(tmp_path):
    for name in ("file", "file.npz", ".hidden", "päth with spaces"):
        archive.write(str(tmp_path / name), META, {"numbers": NUMBERS, "names": NAMES})
        assert archive.read(tmp_path / name, KINDS)[0] == META
    assert len(os.listdir(tmp_path)) == 4


def test_arrays_of_any_layout_and_none_at_all(tmp_path):
    path = tmp_path / "file"
    archive.write(path, {}, {"numbers": np.asfortranarray(NUMBERS), "names": np.zeros(0, np.int32)})
    _, arrays = archive.read(path, KINDS)
    assert arrays["numbers"].tobytes() == NUMBERS.tobytes()
    assert arrays["names"].shape == (0,)


def test_a_good_archive_made_by_hand_is_read(tmp_path):
    """The cases below differ from it in one thing each."""
    assemble(tmp_path / "file")
    meta, arrays = archive.read(tmp_path / "file", KINDS)
    assert meta == META
    assert arrays["numbers"].tobytes() == NUMBERS.tobytes()


# ------------------------------------------------------------------------------------------------ written whole or not at all

@pytest.mark.parametrize("broken", ["json.dumps", "os.fsync", "os.replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, broken, error):
    path = tmp_path / "file"
    archive.write(path, META, {"numbers": NUMBERS, "names": NAMES})
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    module, name = broken.split(".")
    monkeypatch.setattr(getattr(archive, module), name, fail)
    with pytest.raises(type(error)):
        archive.write(path, {}, {"numbers": NUMBERS + 1, "names": NAMES})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["file"]


def test_an_object_is_never_pickled(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        archive.write(tmp_path / "file", {}, {"numbers": np.array([Trap()])})
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        archive.write(tmp_path / "nowhere" / "file", META, {"numbers": NUMBERS, "names": NAMES})
    with pytest.raises(FileNotFoundError):
        archive.read(tmp_path / "nothing", KINDS)
    with pytest.raises(IsADirectoryError):
        archive.read(tmp_path, KINDS)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        archive.write(tmp_path / "folder", META, {"numbers": NUMBERS, "names": NAMES})
    assert os.listdir(tmp_path) == ["folder"]


# ------------------------------------------------------------------------------------------------ what is refused

DIFFERENT = {
    "a member more": {"more.npy": npy(NAMES)},
    "a member fewer": {"names.npy": None},
    "no description": {"meta.npy": None},
    "another name": {"names.npy": None, "../names.npy": npy(NAMES)},
    "twice, with and without its ending": {"names": npy(NAMES)},
    "float32": {"numbers.npy": npy(np.zeros((2, 3), np.float32))},
    "big-endian": {"numbers.npy": npy(NUMBERS.astype(">f8"))},
    "int64": {"names.npy": npy(NAMES.astype(np.int64))},
    "three dimensions": {"numbers.npy": npy(NUMBERS[None])},
    "no dimension": {"numbers.npy": npy(np.float64(3))},
    "objects": {"names.npy": npy(np.array([Trap(), Trap()]), allow_pickle=True)},
    "records": {"names.npy": npy(np.zeros(2, [("a", "f8")]))},
    "not an array": {"names.npy": b"something else"},
    "an empty member": {"names.npy": b""},
    "cut off in the header": {"names.npy": npy(NAMES)[:30]},
    "cut off in the data": {"numbers.npy": npy(NUMBERS)[:-1]},
    "more rows than there are": {"numbers.npy": shaped("(1000, 3)")},
    "far more rows than there are": {"numbers.npy": shaped("(1000000000000, 3)")},
    "rows beyond int64": {"numbers.npy": shaped("(99999999999999999999999, 3)")},
    "rows that overflow to nothing": {"numbers.npy": shaped("(4611686018427387904, 4)")},
    "negative rows": {"numbers.npy": shaped("(-2, -3)")},
    "rows as a fraction": {"numbers.npy": shaped("(1.5, 3)")},
    "rows as a truth value": {"numbers.npy": shaped("(True, 3)")},
    "huge elements": {"numbers.npy": shaped("(9, 9)", "'|V2147483647'")},
    "huge nested elements": {"numbers.npy": shaped("(1, 3)", "[('a', '<f8', (99999999999,))]")},
    "no dtype": {"numbers.npy": shaped("(2, 3)", "3")},
    "a header that ends early": {"numbers.npy": header("{'descr': (")},
    "a header that never ends": {"numbers.npy": header("'''")},
    "a deep header": {"numbers.npy": header("(" * 5000)},
    "a deeper header": {"numbers.npy": header("-" * 9000 + "1")},
    "a long header": {"numbers.npy": header("1" + " " * 60000)},
    "a header of other keys": {"numbers.npy": header("{1: 2, 'descr': 3, 'shape': 4}")},
    "a header that cannot be hashed": {"numbers.npy": header("{[]: 1}")},
    "a header with a zero byte": {"numbers.npy": header("\0")},
    "an unknown version": {"numbers.npy": header("{}", version=9)},
    "an expression": {"numbers.npy": shaped("(__import__('os').getpid(), 3)")},
    "a description that is no text": described(b"\xff\xfe\x00"),
    "a description that is no JSON": described(b"{'a': 1}"),
    "an empty description": described(b""),
    "a description that is a list": described(b"[1, 2]"),
    "a deep description": described(b"[" * 50_000),
    "a long description": described(b'{"a": "' + b"x" * 70_000 + b'"}'),
    "a long number": described(b'{"a": ' + b"1" * 5000 + b"}"),
    "a marked description": described(b"\xef\xbb\xbf{}"),
    "a description of floats": {"meta.npy": npy(NUMBERS)},
}


@pytest.mark.parametrize("changes", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_other_content_is_refused(tmp_path, changes):
    path = tmp_path / "file"
    assemble(path, changes)
    with pytest.raises(FileError) as refusal:
        archive.read(path, KINDS)
    assert str(path) in str(refusal.value)
    assert isinstance(refusal.value, ValueError)


@pytest.mark.parametrize("data", [b"", b"PK", b"garbage" * 100, b"\0" * 4096, npy(NUMBERS)], ids=["none", "few", "text", "zeros", "npy"])
def test_other_files_are_refused(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(FileError, match="file"):
        archive.read(path, KINDS)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nothing_compressed_is_unfolded(tmp_path, method):
    """A gigabyte of zeros takes a megabyte, compressed; a megabyte is enough for the test."""
    path = tmp_path / "file"
    assemble(path, {"numbers.npy": npy(np.zeros((1 << 15, 4)))}, method)
    assert path.stat().st_size < 1 << 16
    with pytest.raises(FileError, match="compressed"):
        archive.read(path, KINDS)


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "file"
    assemble(path)
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(FileError):
            archive.read(path, KINDS)


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    """Checksums guard the data; what else may change (a date, a comment) changes nothing that is read."""
    path = tmp_path / "file"
    assemble(path)
    data, refused = path.read_bytes(), 0
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        try:
            meta, arrays = archive.read(path, KINDS)
        except FileError:
            refused += 1
            continue
        assert meta == META
        assert arrays["numbers"].tobytes() == NUMBERS.tobytes()
        assert arrays["names"].tobytes() == NAMES.tobytes()
    assert refused > len(data) // 2


def test_a_member_that_claims_to_be_larger_than_the_file(tmp_path):
    path = tmp_path / "file"
    assemble(path)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")  # the last entry of the directory; its sizes are 20 and 24 bytes further
    data[at + 20:at + 28] = struct.pack("<II", 1 << 30, 1 << 30)
    path.write_bytes(data)
    with pytest.raises(FileError):
        archive.read(path, KINDS)
