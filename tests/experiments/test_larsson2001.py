"""Paper A: its ablations, its fits and tables, and `python -m experiments larsson2001` when it is interrupted.

Its scenes and the clock are tested on their own, and what all papers share in `test_experiments.py`."""

import math
import os
import signal

import numpy as np
import pytest
from quick_runs import read, run, text

import pliant
import pliant.query.collide.two_bodies
from child import PATIENCE, start
from experiments import fits, paper
from experiments.larsson2001 import runs as larsson2001_runs
from experiments.larsson2001 import tables as larsson2001_tables
from pliant.core import jit
from pliant.report import tables

# --- ablations -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_ablations_vary_one_thing_each():
    for part in larsson2001_runs.ABLATIONS:
        for tree in paper.TREES:
            methods = larsson2001_runs.variants(part, tree, lambda options: 5)
            assert len({method.name for method in methods}) == len(methods) > 2
            base = larsson2001_runs.method(larsson2001_runs.HYBRID, tree).options
            changed = {key for method in methods for key, value in method.options.items() if value != base[key]}
            assert len(changed) == 1
    assert [method.name for method in larsson2001_runs.variants("depth", paper.PAPER, lambda options: 3)] == ["0", "1", "2", "3"]


# --- fits ------------------------------------------------------------------------------------------------------------------------

def made(name, c_u, c_v=1.5, c_p=20.0, noise=0.0, **more):
    """A run whose times follow the cost function, in ns."""
    rng, steps = np.random.default_rng(len(name)), 40
    n_v, n_p, n_u = rng.integers(1_000, 90_000, steps), rng.integers(0, 5_000, steps), rng.integers(100, 9_000, steps)
    query = 1e-6 * (n_v * c_v + n_p * c_p + n_u * c_u) * (1 + noise * rng.normal(size=steps)) + 0.02
    counts = {"n_v": n_v.tolist(), "n_p": n_p.tolist(), "n_u": n_u.tolist()}
    times = {"query_ms": query.tolist(), "update_ms": [0.1] * steps, "fixed_ms": {"update": 0.01, "query": 0.02}, "place_ms": 0.05}
    about = {"method": name, "tree": "paper", "part": "all", "faces": 320, "bodies": 2, "steps": steps, "placed": False, "agrees": True}
    return about | counts | times | {"pairs": [0] * 10 + [7] * 30, "levels": 4} | more


@pytest.mark.formulas
def test_the_cost_function_is_found():
    fit = fits.cost([made("hybrid", 30.0), made("top-down", 60.0), made("bottom-up", 4.0)])
    assert fit.c_v == pytest.approx(1.5) and fit.c_p == pytest.approx(20) and fit.r2 == pytest.approx(1)
    assert fit.c_u == pytest.approx({"hybrid": 30, "top-down": 60, "bottom-up": 4})
    noisy = fits.cost([made("hybrid", 30.0, noise=0.05), made("top-down", 60.0, noise=0.05)])
    assert noisy.c_v == pytest.approx(1.5, rel=0.2) and 0.8 < noisy.r2 < 1
    assert fits.cost([made("hybrid", 0.0, c_v=0.0)]).c_u["hybrid"] >= 0


@pytest.mark.formulas
def test_exponents():
    x = np.array([10, 100, 1000.0])
    assert fits.exponent(x, 3 * x**1.5) == pytest.approx(1.5)
    assert math.isnan(fits.exponent([5], [3])) and math.isnan(fits.exponent([5, 5], [3, 4]))


# --- tables ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize(("value", "shown"), [
    (0, "0"), (0.01234, "0.0123"), (1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (65_536, "65,536"), (math.nan, "–"), (None, "–"),
    (-0.5, "-0.500"),
])
def test_figures_have_three_digits(value, shown):
    assert tables.figure(value) == shown


@pytest.mark.formulas
def test_tables_are_markdown():
    table = tables.Table("Title", ["what", "n"], [["a", "1"], ["b", "2"]], 1, "A note.")
    assert tables.markdown(table) == "**Title**\n\n| what | n |\n| --- | --: |\n| a | 1 |\n| b | 2 |\n\nA note.\n"
    assert [column.justify for column in tables.rich(table).columns] == ["left", "right"]


@pytest.mark.formulas
def test_ratios_and_phases():
    runs = [made("hybrid", 10.0, query_ms=[1.0] * 40), made(larsson2001_runs.MODEL_2, 10.0, query_ms=[2.0] * 10 + [6.0] * 30, placed=True)]
    methods, ratios, costs = larsson2001_tables.tables_53(runs)
    assert methods.rows[1][2:6] == ["2.10", "6.10", "5.10", "4.64 ×"] and methods.rows[0][5] == "1.00 ×"
    assert "10 before the first contact, 30 from it on" in methods.note
    assert ratios.rows[0] == [f"all pairs: {larsson2001_runs.MODEL_2} ÷ hybrid", "about 5", "4.64 ×", "–"]
    assert float(ratios.rows[1][2][:-2]) == pytest.approx((5.1 - 0.04) / (1.1 - 0.04), abs=0.01)
    assert float(ratios.rows[2][2][:-2]) == pytest.approx((5.1 - 0.04) / (1.1 - 0.04 + 0.05), abs=0.01)
    assert [row[0] for row in costs.rows] == ["paper", "paper"]


@pytest.mark.formulas
def test_sizes_beside_those_of_the_paper():
    runs = [made("hybrid", 1.0, part=part, faces=n, query_ms=[n / 1e4] * 39 + [n / 1e3], update_ms=[0.0] * 40, pairs=[0] * 20 + [n] * 20)
            for n in (1_280, 5_120, 81_920) for part in (larsson2001_runs.FINE, larsson2001_runs.SAME)]
    fine, same = larsson2001_tables.tables_51(runs)
    assert fine.rows[0] == ["1,280", "2.00", "4.00", "138", "0.128", "1.28", "1,280", "–", "–"]
    assert fine.rows[2][1:4] == ["–"] * 3
    assert fine.rows[3][4:7] == ["1.00"] * 3 and fine.rows[3][1] == tables.figure(math.log(3, 4))
    assert same.rows[0] == ["1,280", "0.128", "1.28", "1,280", "–", "–"]


# --- the command -----------------------------------------------------------------------------------------------------------------

def test_an_interrupted_run_writes_what_it_has(tmp_path, monkeypatch):
    done = []

    def collide(*bodies, **options):
        done.append(bodies)
        if len(done) == 1_100:
            raise KeyboardInterrupt
        return pliant.query.collide.two_bodies.collide(*bodies, **options)

    monkeypatch.setattr(pliant, "collide", collide, raising=False)
    result = run("larsson2001", "--quick", "--frames", 40, "--out", tmp_path, "fig-5.3", "table-5.1")
    assert result.exit_code == 130 and "Stopped" in text(result)
    data = read(tmp_path, "larsson2001")
    steps = {each["part"]: each["steps"] for each in data["experiments"]["fig-5.3"]["runs"]}
    assert not data["complete"] and list(data["experiments"]) == ["fig-5.3"] and steps == {"all": 40, "first": 20}
    assert "Stopped before the end" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_ctrl_c_ends_the_run(tmp_path):
    code = """
        import sys
        from experiments import clock as play
        tick = play.Track.add
        def add(self, k, *rest):
            if k == 30:
                print("under way", flush=True)
            tick(self, k, *rest)
        play.Track.add = add
        sys.argv = ["experiments", "larsson2001", "--quick", "--frames", "100000", "--out", sys.argv[1], "fig-5.3"]
        from experiments.__main__ import application
        application()
    """
    process = start(code, tmp_path / "out")
    try:
        while "under way" not in (line := process.stdout.readline()):
            assert line or process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert "Stopped" in output and "Traceback" not in errors
        assert all(each["steps"] >= 20 for each in read(tmp_path / "out", "larsson2001")["experiments"]["fig-5.3"]["runs"])
    finally:
        process.kill()
        process.communicate()
