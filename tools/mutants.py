"""Measure what the short tier of tests finds: faults are put into the source, one at a time (docs/tiers.md has the figures).

    python tools/mutants.py --seed 1 --count 20 --workers 2        # in out/mutants/: the results, one line each
    python tools/mutants.py --seed 1 --draw 30                     # shows the faults that a seed draws, and runs nothing

The faults are drawn by the seed (tools/faults.py), half of them in compiled functions. Each gets a copy of the tree and a verdict:

    found             the short tier of the module's tests fails
    found elsewhere   it passes, the module's other tests fail, and so does the rest of the short tier
    missed            it passes, the module's other tests fail, and the rest of the short tier passes
    survived          all tests of the module pass: the fault changes nothing, or nobody looks. It does not count

The folder of results keeps a copy of the tree as it was. The run ends when `--count` faults have counted, in the order in which they were
drawn, so that the number of workers changes nothing. A test that also fails without the fault decides nothing: the first run of all tests
(`--baseline`) finds those, and one that fails later is tried once more on the unchanged tree. A run that was stopped goes on where it was.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from faults import draw

ROOT = Path(__file__).resolve().parents[1]
# Tests of a module: the folder of its own folder's name, and files named after it, wherever they are. These have more.
MORE = {"body": ("test_input.py", "test_copy.py", "test_empty.py", "test_workspace.py", "refit/test_key_poses.py",
                 "query/collide/test_collide.py"),
        "body_file": ("test_save.py", "test_save_blend.py", "test_save_morph.py"),
        "results": ("query",), "uniform_grid": ("query/ray",), "__init__": ("test_public.py",), "errors": ("test_public.py",),
        "typing": ("test_types.py",)}
MODES = {"jit": {}, "formulas": {"NUMBA_DISABLE_JIT": "1"}, "cuda": {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"}}
STUCK = 300                                                             # seconds after which a test hangs
LIMIT = 1800                                                            # seconds of one run of pytest


def tests_of(path, root):
    """The tests of a module of src/pliant: folders and files below tests/."""
    unit = path.partition("/")[0].removesuffix(".py")
    found = [unit] if (root / "tests" / unit).is_dir() else []
    named = [file.relative_to(root / "tests").as_posix() for name in (f"test_{unit}.py", f"test_{unit}_*.py")
             for file in sorted((root / "tests").rglob(name))]
    chosen = [*found, *MORE.get(unit, ()), *named]
    return [each for k, each in enumerate(chosen) if each not in chosen[:k] and each.partition("/")[0] not in chosen[:k]]


class Stopped(Exception):
    """Nobody waits for this verdict any more."""


class Lab:
    """Copies of the tree in which tests run, and what is known of those of the unchanged one, `clean`."""

    def __init__(self, root, folder, processes):
        self.folder, self.processes, self.stopping, self.running = folder, processes, threading.Event(), set()
        self.clean, self.cache, self.known = folder / "clean", folder / "cache", folder / "baseline.json"
        folder.mkdir(parents=True, exist_ok=True)
        self.cache.mkdir(mode=0o700, exist_ok=True)
        if not self.clean.exists():
            shutil.copytree(root, self.clean, ignore=lambda _, names: {"out", ".git", ".venv", ".hypothesis"} & set(names))
        self.left_out = json.loads(self.known.read_text()) if self.known.exists() else {}

    def pytest(self, tree, cache, mode, tests, *options, left_out=(), processes=1):
        """Did tests pass? Also those that failed, and the last line of output."""
        if self.stopping.is_set():
            raise Stopped
        temporary = Path(tempfile.mkdtemp(dir=self.folder))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--tb=line",
                   f"--basetemp={temporary / 'tests'}", "-o", f"faulthandler_timeout={STUCK}", "-o", "faulthandler_exit_on_timeout=true",
                   *options, *(["-m", mode] if mode != "jit" else []),
                   *(["-n", str(processes), "--dist", "loadfile" if mode == "jit" else "worksteal"] if processes > 1 else [])]
        for each in left_out:
            command += [f"--deselect={each}"] if "::" in each else [f"--ignore={each}"]
        path = os.pathsep.join(filter(None, [str(tree / "src"), os.environ.get("PYTHONPATH")]))
        variables = {**os.environ, "PYTHONPATH": path, "PLIANT_CACHE": str(cache), **MODES[mode]}
        with (temporary / "output").open("wb") as file:
            child = subprocess.Popen([*command, *tests], cwd=tree, env=variables, stdout=file, stderr=file, start_new_session=True)
        self.running.add(child)
        try:
            status = child.wait(LIMIT)
        except subprocess.TimeoutExpired:
            status = 1
        self.running.discard(child)
        end(child)
        output = (temporary / "output").read_text(encoding="utf-8", errors="replace")
        shutil.rmtree(temporary, ignore_errors=True)
        if self.stopping.is_set():
            raise Stopped
        failed = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", output, re.M)
        return status in (0, 5), failed, (output.strip().splitlines() or [""])[-1]

    def baseline(self, workers):
        """Run all tests on the unchanged tree, note those that fail, and fill the cache of kernels."""
        left_out = {}
        for mode in MODES:
            begin = time.monotonic()
            _, left_out[mode], last = self.pytest(self.clean, self.cache, mode, ["tests"], processes=workers)
            print(f"without faults, {mode}: {last} ({time.monotonic() - begin:.0f} s)", *left_out[mode], sep="\n    ", flush=True)
        self.known.write_text(json.dumps(left_out, indent=1))
        self.left_out = left_out

    def fails(self, tree, cache, tests, *options, all_modes=False, processes=1):
        """The first test that fails in the tree and not in the unchanged one, "" if none does."""
        paths = [f"tests/{each}" for each in tests]
        text = "".join(file.read_text(encoding="utf-8") for each in tests
                       for file in ([tree / "tests" / each] if each.endswith(".py") else (tree / "tests" / each).rglob("test_*.py")))
        for mode in MODES:
            if mode != "jit" and not all_modes and not re.search(rf"mark\.{mode}\b", text):
                continue
            while True:
                left_out = self.left_out.setdefault(mode, [])
                passed, failed, last = self.pytest(tree, cache, mode, paths, "-x", *options, left_out=tuple(left_out), processes=processes)
                if passed:
                    break
                if not failed or self.pytest(self.clean, self.cache, mode, failed[:1])[0]:
                    return f"{mode}: {(failed or [last])[0]}"
                if failed[0] not in left_out:
                    left_out.append(failed[0])
                    print(f"fails without faults: {mode} {failed[0]}", flush=True)
        return ""

    def judge(self, number, mutant):
        """The verdict on a mutant, as a line of the results."""
        work, begin, times = self.folder / f"mutant-{number}", time.monotonic(), []
        tree, tests, cache = work / "tree", tests_of(mutant.path, self.clean), work / "cache"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.clean, tree)
        file = tree / "src" / "pliant" / mutant.path
        file.write_bytes(mutant.of(file.read_bytes()))
        shutil.copytree(self.cache, cache, copy_function=os.link, ignore=shutil.ignore_patterns("*.tmp.*"))
        try:
            verdict, test = "found", self.fails(tree, cache, tests, "--tier", "short")
            times.append(time.monotonic() - begin)
            if not test:
                print(f"{number:3} the short tier of {', '.join(tests)} passes after {times[0]:.0f} s", flush=True)
                verdict, test = "survived", self.fails(tree, cache, tests, "--tier", "full", processes=self.processes)
                times.append(time.monotonic() - begin)
            if verdict == "survived" and test:
                print(f"{number:3} their full tier fails after {times[1]:.0f} s: {test}", flush=True)
                elsewhere = self.fails(tree, cache, [""], "--tier", "short", *(f"--ignore=tests/{each}" for each in tests), all_modes=True,
                                       processes=self.processes)
                verdict, test = ("found elsewhere", f"{elsewhere}; {test}") if elsewhere else ("missed", test)
                times.append(time.monotonic() - begin)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return {"number": number, "verdict": verdict, **mutant._asdict(), "test": test, "seconds": [round(each) for each in times]}

    def end_all(self):
        for child in list(self.running):
            end(child)


def end(child):
    """End a process and all that it has started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


# --- the run -----------------------------------------------------------------------------------------------------------------

def counting(known, count):
    """Results in drawing order up to the one with which so many have counted, and whether there are as many."""
    prefix = []
    while len(prefix) in known and sum(each["verdict"] != "survived" for each in prefix) < count:
        prefix.append(known[len(prefix)])
    return prefix, sum(each["verdict"] != "survived" for each in prefix) >= count


def measure(lab, drawn, results, count, workers):
    """Judge mutants in drawing order, some at once, until enough have counted."""
    known = {line["number"]: line for line in map(json.loads, results.read_text().splitlines())} if results.exists() else {}
    jobs, drawn = {}, enumerate(drawn)
    with ThreadPoolExecutor(workers) as pool:
        try:
            while not counting(known, count)[1]:
                while len(jobs) < workers:
                    number, mutant = next(drawn)
                    if number not in known:
                        jobs[pool.submit(lab.judge, number, mutant)] = number
                for job in wait(jobs, return_when=FIRST_COMPLETED)[0]:
                    known[jobs.pop(job)] = line = job.result()
                    with results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
                    print(shown(line), flush=True)
        finally:
            lab.stopping.set()
            lab.end_all()
    return counting(known, count)[0]


def shown(line):
    before, after = (" ".join(line[name].split())[:70] for name in ("before", "after"))
    result = "  ".join(map(str, filter(None, (line.get("verdict"), line.get("test"), line.get("seconds")))))
    return f"{line['number']:3} {line['path']}:{line['line']} {line['kind']}: {before} -> {after}   {result}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="so many faults that all tests of their module find")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="so many faults at once")
    parser.add_argument("--processes", type=int, default=1, help="of pytest, for a fault that the short tier has not found")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants")
    parser.add_argument("--baseline", action="store_true", help="only run all tests without faults")
    parser.add_argument("--draw", type=int, help="only show so many faults")
    chosen = parser.parse_args()
    if chosen.draw:
        for number, mutant in zip(range(chosen.draw), draw(ROOT, chosen.seed), strict=False):
            print(shown({"number": number, **mutant._asdict()}))
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)            # in the background of a shell it is ignored, by tests as well
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    lab = Lab(ROOT, chosen.out.resolve(), chosen.processes)
    if chosen.baseline or not lab.known.exists():
        try:
            lab.baseline(chosen.workers)
        finally:
            lab.end_all()
    if not chosen.baseline:
        lines = measure(lab, draw(lab.clean, chosen.seed), lab.folder / f"seed-{chosen.seed}.jsonl", chosen.count, chosen.workers)
        names = [line["verdict"] for line in lines]
        print(f"seed {chosen.seed}: {len(lines)} faults,", ", ".join(f"{names.count(name)} {name}" for name in sorted(set(names))))


if __name__ == "__main__":
    main()
