"""What can be tuned: the criteria of policy "inflated", and which of its parameters each of them uses (thesis D 4.5 and IV).

A genome is the tuple of the parameters that a criterion uses, rounded: genomes that are equal then are scored once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

DECIMALS = 4  # of a parameter: finer steps change no score by more than others do by chance

Genome = tuple[float, ...]


class Gene(NamedTuple):
    """A parameter of the policy, and its range; `start` is the thesis's best, with which every search begins."""

    name: str
    low: float
    high: float
    start: float

    def round_value(self, value: float) -> float:
        """The nearest value that is scored."""
        return round(min(max(float(value), self.low), self.high), DECIMALS) + 0.0  # no −0.0


P_MAX = Gene("p_max", 0.0, 10.0, 1.3596)
K = Gene("k", 0.0, 1.0, 0.892)
GAMMA = Gene("gamma", 0.0, 1.0, 0.5908)

# In the order of the thesis's table; "A|B" is missing there.
CRITERIA: dict[str, tuple[Gene, ...]] = {
    "A": (P_MAX,),
    "B": (),
    "A&B": (P_MAX,),
    "A|B": (P_MAX,),
    "B&C": (K, GAMMA),
    "A|(B&C)": (P_MAX, K, GAMMA),
    "A&B&C": (P_MAX, K, GAMMA),
    "(A&B)|(B&C)": (P_MAX, K, GAMMA),
    "all": (),
    "none": (),
}


def genome(genes: Iterable[Gene], values: Iterable[float]) -> Genome:
    """The values as they are scored."""
    return tuple(gene.round_value(value) for gene, value in zip(genes, values, strict=True))


def parameters(criterion: str, values: Genome) -> dict[str, float]:
    """A genome by names."""
    return {gene.name: value for gene, value in zip(CRITERIA[criterion], values, strict=True)}


def policy(criterion: str, values: Genome) -> dict[str, str | float]:
    """What `Body(policy=…)` takes."""
    return {"name": "inflated", "criterion": criterion, **parameters(criterion, values)}
