"""Files: what was drawn is what is read back, half a file never has the name of a whole one, and missing libraries are named."""

import sys

import numpy as np
import pytest

from pliant.render.images import picture_writer

HEIGHT, WIDTH = 33, 47
COLOURS = ((200, 60, 40), (40, 180, 60), (50, 70, 210), (240, 240, 240), (10, 10, 10))


def pictures(n=5):
    """Bars that grow, each in a colour of its own."""
    for k in range(n):
        image = np.full((HEIGHT, WIDTH, 3), 128, np.uint8)
        image[:, : 8 * (k + 1)] = COLOURS[k]
        yield image


def write(path, rate=25.0, numbered=False, n=5):
    reel = picture_writer(path, rate, numbered)
    for frame, image in enumerate(pictures(n)):
        reel.add(image, 10 * frame)
        assert not path.exists() or path.suffix == ".png", "not before it is finished"
    return reel.close()


def test_one_png(tmp_path):
    library = pytest.importorskip("PIL.Image")
    assert write(tmp_path / "new" / "a.png", n=1) == [tmp_path / "new" / "a.png"]
    with library.open(tmp_path / "new" / "a.png") as file:
        assert np.array_equal(np.asarray(file), next(pictures()))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.png"]


def test_many_pngs_are_numbered_by_frame(tmp_path):
    library = pytest.importorskip("PIL.Image")
    files = write(tmp_path / "a.PNG", numbered=True)
    assert [path.name for path in files] == ["a-0000.PNG", "a-0010.PNG", "a-0020.PNG", "a-0030.PNG", "a-0040.PNG"]
    for path, image in zip(files, pictures(), strict=True):
        with library.open(path) as file:
            assert np.array_equal(np.asarray(file), image)


@pytest.mark.parametrize(("rate", "total"), [(25.0, 200), (30.0, 170), (2.5, 2000), (10.0, 500)])
def test_a_gif_holds_all_pictures_and_keeps_its_pace(tmp_path, rate, total):
    library = pytest.importorskip("PIL.Image")
    assert write(tmp_path / "a.gif", rate) == [tmp_path / "a.gif"]
    with library.open(tmp_path / "a.gif") as file:
        assert file.n_frames == 5 and file.info["loop"] == 0
        durations = []
        for frame, image in enumerate(pictures()):
            file.seek(frame)
            durations.append(file.info["duration"])
            assert np.abs(np.asarray(file.convert("RGB")).astype(int) - image).max() <= 8
    assert sum(durations) == total and max(durations) - min(durations) <= 10
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


@pytest.mark.parametrize("rate", [25.0, 7.5])
def test_a_film_holds_all_pictures(tmp_path, rate):
    av = pytest.importorskip("av")
    assert write(tmp_path / "a.mp4", rate) == [tmp_path / "a.mp4"]
    with av.open(str(tmp_path / "a.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.average_rate == rate and (stream.width, stream.height) == (WIDTH + 1, HEIGHT + 1), "sides are made even"
        decoded = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
    assert len(decoded) == 5
    for k, (found, image) in enumerate(zip(decoded, pictures(), strict=True)):
        difference = np.abs(found[:HEIGHT, :WIDTH].astype(int) - image).max(axis=2)
        edge = slice(max(0, 8 * (k + 1) - 3), 8 * (k + 1) + 3)  # where colours of half the width mix
        assert np.delete(difference, np.arange(WIDTH)[edge], axis=1).max() < 25
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_what_is_abandoned_leaves_nothing(tmp_path, name):
    pytest.importorskip("av" if name.endswith("mp4") else "PIL")
    reel = picture_writer(tmp_path / name, 25.0)
    for image in pictures(2):
        reel.add(image, 0)
    reel.abandon()
    assert list(tmp_path.iterdir()) == []
    assert picture_writer(tmp_path / name, 25.0).close() == [] and list(tmp_path.iterdir()) == [], "nor does one without pictures"


@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_a_failure_leaves_the_old_file_alone(tmp_path, name, monkeypatch):
    pytest.importorskip("av" if name.endswith("mp4") else "PIL")
    write(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    reel = picture_writer(tmp_path / name, 25.0)
    reel.add(next(pictures()), 0)

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        reel.close()
    reel.abandon()
    assert (tmp_path / name).read_bytes() == before and [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.formulas
@pytest.mark.parametrize(("name", "module", "says"), [
    ("a.png", "PIL", "pictures need Pillow: pip install 'pliant[pictures]'"), ("a.gif", "PIL", "pictures need Pillow"),
    ("a.mp4", "av", "films need PyAV: pip install 'pliant[video]'"),
])
def test_missing_libraries_are_named(tmp_path, monkeypatch, name, module, says):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as error:
        picture_writer(tmp_path / name, 25.0)
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.formulas
def test_other_names_and_rates_are_refused(tmp_path):
    for name in ("a.jpg", "a", "a.png.txt", ".png"):
        with pytest.raises(ValueError, match=r"\.png, \.gif, \.mp4"):
            picture_writer(tmp_path / name, 25.0)
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="rate"):
            picture_writer(tmp_path / "a.gif", rate)
