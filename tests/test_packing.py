"""All ways to pack a sparse texture pack the same set; and the comparison would notice if one did not."""

import json

import numpy as np
import pytest

from pliant.core.device import require_cuda

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize(("width", "height"), [(1, 5), (7, 3), (8, 1)])
@pytest.mark.parametrize("percent", [0, 40, 100])
def test_textures_of_all_shapes(width, height, percent):
    """Also rows without a texel, or with no empty one, and widths that are no power of two."""
    from benchmarks import packing

    rng, n = np.random.default_rng(width + percent), width * height
    sparse = np.where(rng.random(n) < percent / 100, np.arange(n), packing.EMPTY_BOX)
    for kind in packing.WAYS.values():
        one = kind(require_cuda().to_device(sparse), width)
        packing.called(one)
        assert sorted(one.answer().tolist()) == sparse[sparse != packing.EMPTY_BOX].tolist()


def test_figures(tmp_path, capsys, monkeypatch):
    from benchmarks import packing

    monkeypatch.setattr(packing, "QUICK", (4,))
    packing.main(["--quick", "--out", str(tmp_path / "figures.json")])
    results = json.loads((tmp_path / "figures.json").read_text())["results"]
    assert [result["percent"] for result in results] == list(packing.PERCENT) and results[-1]["packed"] > 0
    assert all(len(result["rows"]) == 3 for result in results) and "not empty" in capsys.readouterr().out


def test_another_set_is_noticed(monkeypatch):
    from benchmarks import packing

    monkeypatch.setattr(packing.Atomic, "answer", lambda self: packing.Way.answer(self)[1:])
    with pytest.raises(RuntimeError, match=r"atomic places: 2\*\*4 texels, 50 % of them"):
        packing.measure(4, 50, 1)
