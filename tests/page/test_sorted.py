"""Bars stand in the order that the axis below them says."""

import re
from inspect import getsource, unwrap
from typing import Any

import numpy as np
import pytest

from llmserve_lab.page.live import registry
from tests.page.drawn import panels
from tests.page.stills import STILLS

ORDER = re.compile(r"set_xlabel\(\"[^\"]*\b(busiest|largest|longest|slowest) first")
SAID = {
    name: found[1]
    for name, make in registry.stills().items()
    if (found := ORDER.search(getsource(unwrap(make))))
}


def rows(panel: Any) -> list[Any]:
    """Heights of each row of steps of a panel, from left to right."""
    steps = [each for each in panel.patches if hasattr(each, "get_data")]
    return [np.asarray(each.get_data().values) for each in steps]


@pytest.mark.parametrize("name", SAID)
def test_bars_stand_in_the_order_that_their_axis_says(name: str) -> None:
    found = [row for panel in panels(STILLS[name]) for row in rows(panel)]
    assert len(found) > 1
    assert all((np.diff(row) <= 0).all() for row in found), name
    assert any((np.diff(row) < 0).any() for row in found), name


def test_every_axis_that_names_an_order_is_read() -> None:
    assert set(SAID) == {"moe.stills.loads", "moe.stills.balanced"}
