"""Fixtures of the tests of policies."""

import pytest

from pliant.refit import auto


@pytest.fixture
def hasty(monkeypatch):
    """Looks come so often, and at bodies so small, that a few frames show everything."""
    for name, value in {"LOOK": 2, "FEW": 0, "SOONEST": 2, "LATEST": 4, "TRIAL_PRICE": 0, "SHORT_WAIT": 8, "LONGEST_WAIT": 64}.items():
        monkeypatch.setattr(auto, name, value)
