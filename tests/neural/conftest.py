"""What tests of networks and priors share."""

import pytest

from snhkit.neural import Prior


@pytest.fixture
def told(monkeypatch) -> list:
    """What the prior is asked to clean."""
    asked, clean = [], Prior.clean

    def recording(self, *given):
        asked.append(given)
        return clean(self, *given)

    monkeypatch.setattr(Prior, "clean", recording)
    return asked
