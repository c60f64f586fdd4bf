"""Many cases in child processes, campaign after campaign; a progress bar, and a summary that also comes after Ctrl-C.

A campaign is one child process. Its lines (`child.py`) say what it plays before it does, so a crash is reported with its seed. What is
wrong is made smaller, printed, and written to a folder as JSON: everything in `tests/fuzz/cases/` is played by `make test`.
"""
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fuzz.cases import case_of, text_of
from fuzz.options import BLOCK, TABLE, campaign_of, first_with

CASES = Path(__file__).parent / "cases"
LEAST, MOST = 60.0, 300.0                                               # seconds of a campaign, compilation not counted
MOST_CRASHES = 5                                                        # then the next campaign follows
EVERY = 20.0                                                            # seconds between lines where there is no terminal


class Summary:
    """What all campaigns together have shown."""

    def __init__(self):
        self.cases, self.cpu = 0, 0.0
        self.counts, self.coverage, self.wrong = Counter(), Counter(), Counter()
        self.seeds, self.files, self.crashes = {}, [], []

    @property
    def is_clean(self):
        return not (self.wrong or self.crashes)

    @property
    def checks(self):
        return sum(self.counts.values())

    def line(self):
        return (f"{self.cases:,} cases, {self.counts['fresh']:,} comparisons with fresh bodies, {self.counts['naive']:,} with the exact "
                f"reference, {sum(self.wrong.values())} wrong, {len(self.crashes)} crashes")

    def add(self, line):
        """A line of a child that has played a case."""
        self.cases += 1
        self.counts.update(line["counts"])
        self.coverage.update(line["coverage"])
        for kind, _ in line["wrong"]:
            self.wrong[kind] += 1
            self.seeds.setdefault(kind, []).append(line["played"])

    def show(self, console):
        """Coverage, then what was wrong, then the totals."""
        for title in ("volume ", "policy ", "build ", "motion ", "mesh ", "leaf ", "step ", "query ", "volume and policy: ",
                      "motion and policy: ", "volume and motion: "):
            met = sorted((name.removeprefix(title), count) for name, count in self.coverage.items()
                         if name.startswith(title) and (title.endswith(": ") or " and " not in name))
            console.print(f"[bold]{title.strip(' :')}[/bold]  " + ", ".join(f"{name} {count}" for name, count in met), highlight=False)
        table = Table("wrong", "times", "seeds")
        for kind, count in self.wrong.most_common():
            table.add_row(kind, str(count), ", ".join(map(str, dict.fromkeys(self.seeds[kind]))))
        for seed in self.crashes:
            table.add_row("[red]crash[/red]", "1", str(seed))
        if not self.is_clean:
            console.print(table)
            for file in self.files:
                console.print(f"written: {file}", highlight=False, soft_wrap=True)
        rate = f", {self.checks / self.cpu:,.0f} checks a second of processor time ({self.cpu:,.0f} s)" if self.cpu else ""
        console.print(self.line() + rate, highlight=False, soft_wrap=True)


class Runner:
    """One run: `seconds` in all, from `seed` on; with `volume`, campaigns with these volumes alone."""

    def __init__(self, seconds, seed=0, folder=CASES, most=0, console=None, volume=None):
        self.volume, seed = volume, first_with(volume, seed) if volume else seed
        self.until, self.seconds, self.seed, self.folder, self.most = time.monotonic() + seconds, seconds, seed, Path(folder), most
        self.console, self.summary = console or Console(), Summary()
        self.last = time.monotonic()

    def run(self):
        """The summary; Ctrl-C ends the run early."""
        share, seed = min(max(self.seconds / len(TABLE), LEAST), MOST), self.seed
        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with Progress(*columns, console=self.console, disable=not self.console.is_terminal) as progress:
            task = progress.add_task("fuzz", total=self.seconds)
            try:
                while True:
                    left = self.until - time.monotonic()
                    if left <= 0:
                        break
                    self.console.print(f"{campaign_of(seed)}, seeds from {seed}", highlight=False)
                    again = self.campaign(seed, share, left, progress, task)
                    if self.most:
                        break
                    again = None if len(self.summary.crashes) % MOST_CRASHES == 0 else again
                    following = (seed // BLOCK + 1) * BLOCK + self.seed % BLOCK
                    seed = again if again is not None else first_with(self.volume, following) if self.volume else following
            except KeyboardInterrupt:
                self.console.print("interrupted")
        self.summary.show(self.console)
        return self.summary

    def campaign(self, seed, seconds, limit, progress, task):
        """One child; after a crash the seed that comes after the one that crashed, else None."""
        command = [sys.executable, "-m", "fuzz.child", str(seed), str(seconds), str(limit), str(self.most)]
        playing, ended, cpu = seed, False, 0.0
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(), start_new_session=True)
        try:
            for text in child.stdout:
                line = json.loads(text)
                playing, cpu = line.get("playing", playing), line.get("cpu", cpu)
                ended = ended or "end" in line
                self.take(line)
                progress.update(task, completed=self.seconds - max(0.0, self.until - time.monotonic()), description=self.summary.line())
                if not self.console.is_terminal and time.monotonic() - self.last > EVERY:
                    self.last = time.monotonic()
                    self.console.print(self.summary.line(), highlight=False, soft_wrap=True)
            child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
            child.stdout.close()
            self.summary.cpu += cpu
        if ended:
            return None
        self.crash(playing, child.returncode)
        return playing + 1

    def take(self, line):
        if "played" in line:
            self.summary.add(line)
            for kind, text in line["wrong"]:
                if self.summary.wrong[kind] <= 5:
                    self.console.print(f"wrong, seed {line['played']}: {text}"[:2000], highlight=False, soft_wrap=True, markup=False)
        elif "minimised" in line:
            path = self.write(f"{line['kind'].replace(':', '-')}-{line['minimised']}", line["case"] | {"wrong": line["wrong"]})
            self.console.print(f"minimised, seed {line['minimised']}: {line['wrong']}\n{path.read_text()}", highlight=False, soft_wrap=True,
                               markup=False)

    def crash(self, seed, code):
        self.summary.crashes.append(seed)
        path = self.write(f"crash-{seed}", case_of(seed))
        self.console.print(f"the process ended with code {code} while it played seed {seed}: {path}", highlight=False, soft_wrap=True)

    def write(self, name, case):
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.json"
        path.write_text(text_of(case))
        self.summary.files.append(path)
        return path


def environment():
    """Of a child: it imports what this process does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONFAULTHANDLER": "1"}
