"""The engine is an M/D/1 and an M/G/1 queue where it serves one prompt at a time."""

import pytest

from llmserve_lab.capacity.tables import LAWS, ROW_S, waits


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("busy", [0.2, 0.5])
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(
    law: str, busy: float
) -> None:
    _, closed, found = waits(LAWS[law], busy)
    assert found == pytest.approx(closed, rel=0.05)


def test_unlike_lengths_wait_longer_at_the_same_load() -> None:
    alike, unlike = (waits(lengths, 0.5)[1] for lengths in LAWS.values())
    assert unlike > 1.5 * alike


@pytest.mark.parametrize("busy", [0.2, 0.5, 0.8])
def test_the_table_says_how_busy_the_server_was_as_drawn(busy: float) -> None:
    """Where all take equally long, the wait follows from the printed share alone."""
    drawn, closed, _ = waits(LAWS["all 1,000: M/D/1"], busy)
    service_s = 1000 * ROW_S
    assert closed == pytest.approx(drawn * service_s / (2 * (1 - drawn)))
