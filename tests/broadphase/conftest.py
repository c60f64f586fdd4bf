"""How sweeps are made to work in small scenes as they do in large ones."""

import pytest

from pliant.broadphase import endpoint_lists, pair_set, sweep, sweep_full
from sweeps import OFF


@pytest.fixture(params=["all pairs", "lists"])
def method(request, monkeypatch):
    """Every size of scene is compared in full, or none."""
    monkeypatch.setattr(sweep_full, "BRUTE_FORCE_SIZE", 10**9 if request.param == "all pairs" else 1)
    return request.param


@pytest.fixture
def no_brute(monkeypatch):
    monkeypatch.setattr(sweep_full, "BRUTE_FORCE_SIZE", 1)


@pytest.fixture
def narrow(monkeypatch):
    """Everything that can be full is full at once, where kernels are plain Python; compiled, sizes are constants."""
    if OFF:
        for module, name, value in ((endpoint_lists, "MAX_PENDING", 2), (endpoint_lists, "BLOCK_SIZE", 3), (endpoint_lists, "LOG_SIZE", 4),
                                    (sweep, "LOG_SIZE", 4), (endpoint_lists, "SINGLE_MOVE_RATIO", 4),
                                    (pair_set, "MIN_CAPACITY", 8), (pair_set, "PLACES_PER_CALL", 3), (sweep_full, "COMPARISON_BUDGET", 2)):
            monkeypatch.setattr(module, name, value)
