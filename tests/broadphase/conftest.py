"""How sweeps are made to work in small scenes as they do in large ones."""

import pytest

from pliant.broadphase import endpoint_lists, pair_set, sweep, sweep_full
from sweeps import OFF


@pytest.fixture(params=["all pairs", "lists"])
def method(request, monkeypatch):
    """Every size of scene is compared in full, or none."""
    monkeypatch.setattr(sweep_full, "BRUTE", 10**9 if request.param == "all pairs" else 1)
    return request.param


@pytest.fixture
def no_brute(monkeypatch):
    monkeypatch.setattr(sweep_full, "BRUTE", 1)


@pytest.fixture
def narrow(monkeypatch):
    """Everything that can be full is full at once, where kernels are plain Python; compiled, sizes are constants."""
    if OFF:
        for module, name, value in ((endpoint_lists, "MET", 2), (endpoint_lists, "BLOCK", 3), (endpoint_lists, "LOG", 4), (sweep, "LOG", 4), (endpoint_lists, "FEW", 4),
                                    (pair_set, "LEAST", 8), (pair_set, "STEP", 3), (sweep_full, "BUDGET", 2)):
            monkeypatch.setattr(module, name, value)
