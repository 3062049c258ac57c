"""Each price stands in the list and at the date that its source names.

A second reading of the lists: what each of them asked for an hour, on its day.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from llmserve_lab.catalog.data import prices
from llmserve_lab.catalog.records.cited import Cited

# Provider and day, then dollars an hour by what was offered: a part of the note or,
# for the providers' own data centres, the key of the GPU.
LISTS: dict[tuple[str, str], dict[str, float]] = {
    ("RunPod", "2026-11-09"): {
        "a100-80-sxm": 1.79,
        "h100-sxm": 3.99,
        "other people's machines": 2.69,
    },
    ("RunPod", "2026-10-07"): {
        "h200-sxm": 4.59,
        "b200-sxm": 6.79,
        "same offer in October": 3.49,
    },
    ("RunPod", "2026-08-19"): {"same offer in August": 3.29},
    ("Microsoft Azure", "2026-11-09"): {"ND96isr H100 v5": 12.29},
}


def hourly() -> Iterator[tuple[str, Cited]]:
    """Every price of an hour in the module: what it is called there, and the record."""
    held: dict[str, Any] = vars(prices)
    for value in held.values():
        if isinstance(value, Cited):
            yield value.note, value
        elif isinstance(value, Mapping):
            each = {k: v for k, v in value.items() if isinstance(v, Cited)}
            yield from ((key, price) for key, price in each.items())


def test_every_price_is_on_the_list_that_it_names() -> None:
    found = []
    for offer, price in hourly():
        assert price.unit == prices.HOUR
        (day,) = re.findall(r"\d{4}-\d\d-\d\d", price.source)
        listed = LISTS[price.source.split(",")[0], day]
        (name,) = (name for name in listed if name in offer)
        assert listed[name] == float(price), offer
        found.append((price.source.split(",")[0], day, name))
    assert sorted(found) == sorted((*where, n) for where in LISTS for n in LISTS[where])


def test_what_a_note_says_of_the_month_is_the_month_of_its_list() -> None:
    months = {"August": "-08-", "October": "-10-", "November": "-11-"}
    for offer, price in hourly():
        for month, number in months.items():
            assert month not in offer or number in price.source


@pytest.mark.parametrize("key", prices.HOURLY)
def test_a_price_has_the_address_of_its_page(key: str) -> None:
    assert prices.HOURLY[key].url
