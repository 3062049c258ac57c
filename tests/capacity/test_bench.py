"""The bench's goal can be reached, and not by everything."""

import pytest

from llmserve_lab.capacity.page.playground import bench, show


@pytest.mark.long
def test_the_goal_is_reached_in_one_way_and_missed_in_another() -> None:
    good = show(watched="requests in flight", target=40, cold=120, fewest=3)
    poor = show(watched="KV cache in use, %", target=80, cold=120, fewest=1)
    assert "Goal reached." in good and "Goal not reached yet." in poor
    assert bench() is not None
