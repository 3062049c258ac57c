"""The engine is an M/D/1 and an M/G/1 queue where it serves one prompt at a time."""

import pytest

from llmserve_lab.capacity.tables import LAWS, waits


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("busy", [0.2, 0.5])
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(
    law: str, busy: float
) -> None:
    closed, found = waits(LAWS[law], busy)
    assert found == pytest.approx(closed, rel=0.05)


def test_unlike_lengths_wait_longer_at_the_same_load() -> None:
    alike, unlike = (waits(lengths, 0.5)[0] for lengths in LAWS.values())
    assert unlike > 1.5 * alike
