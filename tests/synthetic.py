"""A score that costs nothing, and the smallest animation: for tests of the search, of its state and of the command."""

import re

import numpy as np

from pliant.tune import Animation
from pliant.tune.criteria import CRITERIA

FACES = np.array([[0, 1, 2]])
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
FRAMES = CORNERS + np.linspace(0, 0.2, 3)[:, None, None]
PAIR = Animation([(FACES, FRAMES), (FACES, FRAMES[:2] + 3)], "two triangles")

BEST = {"p_max": 2.5, "k": 0.25, "gamma": 0.75}  # where the synthetic score is least
FIXED = {"A": 0.4, "B": 0.7, "A&B": 0.3, "A|B": 0.35, "B&C": 0.5, "A|(B&C)": 0.2, "A&B&C": 0.45, "(A&B)|(B&C)": 0.1, "all": 1.0,
         "none": 2.0}


class Synthetic:
    """A function of the policy that counts its calls, and may be interrupted or fail in one of them."""

    def __init__(self, stop=None, error=None):
        self.calls, self.stop, self.error = [], stop, error

    def __call__(self, policy):
        if len(self.calls) == self.stop:
            self.stop = None
            raise self.error or KeyboardInterrupt
        assert policy["name"] == "inflated"
        self.calls.append(dict(policy))
        ranges = {gene.name: gene.high for gene in CRITERIA[policy["criterion"]]}
        assert set(policy) == {"name", "criterion", *ranges}
        return FIXED[policy["criterion"]] + sum(((policy[name] - BEST[name]) / high) ** 2 for name, high in ranges.items())


def use(monkeypatch, score):
    """Let this be what is tuned, instead of the work of an animation."""
    monkeypatch.setattr("pliant.tune.tuner.scorer", lambda animations, goal, options: score)
    return score


def rows(output):
    """The cells of the table that the command prints, by criterion."""
    lines = (re.split(r"\s{2,}", line.strip()) for line in output.splitlines())
    return {cells[0]: cells[1:] for cells in lines if cells[0] in CRITERIA}
