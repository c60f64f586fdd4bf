"""How sweeps are made to work in small scenes as they do in large ones."""

import pytest

from pliant.broadphase import fresh, lists, pairset, sweep
from sweeps import OFF


@pytest.fixture(params=["all pairs", "lists"])
def method(request, monkeypatch):
    """Every size of scene is compared in full, or none."""
    monkeypatch.setattr(fresh, "BRUTE", 10**9 if request.param == "all pairs" else 1)
    return request.param


@pytest.fixture
def no_brute(monkeypatch):
    monkeypatch.setattr(fresh, "BRUTE", 1)


@pytest.fixture
def narrow(monkeypatch):
    """Everything that can be full is full at once, where kernels are plain Python; compiled, sizes are constants."""
    if OFF:
        for module, name, value in ((lists, "MET", 2), (lists, "BLOCK", 3), (lists, "LOG", 4), (sweep, "LOG", 4), (lists, "FEW", 4),
                                    (pairset, "LEAST", 8), (pairset, "STEP", 3), (fresh, "BUDGET", 2)):
            monkeypatch.setattr(module, name, value)
