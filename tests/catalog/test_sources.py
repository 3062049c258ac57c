"""A number is cited from its own product's paper, or from its documented parent's."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.catalog.records.cited import Cited

# Words of vendors' papers that name one product or one generation.
PRODUCTS = re.compile(
    r"A100|H100|H200|H800|H20\b|GB200|B200|B300|L40S|RTX PRO 6000|MI300X|MI325X|MI355X"
    r"|910C|Trainium2|TPU v6e|Ampere|Hopper|Blackwell(?: Ultra)?|CDNA ?\d"
)
PAPER = re.compile(r"whitepaper|data ?sheet|brief", re.IGNORECASE)
# Whose paper may be cited: the product's own, its generation's, its parent's. H200 and
# H800 are H100 chips with another memory or another link.
FAMILIES = {
    "a100-80-sxm": {"A100", "Ampere"},
    "h100-sxm": {"H100", "Hopper"},
    "h200-sxm": {"H200", "H100", "Hopper"},
    "h800-sxm": {"H800", "H100", "Hopper"},
    "b200-sxm": {"B200", "Blackwell"},
    "gb200-nvl72": {"GB200", "B200", "Blackwell"},
    "mi300x": {"MI300X", "CDNA 3"},
    "mi325x": {"MI325X", "MI300X", "CDNA 3"},
    "h20-sxm": {"H20"},
    "b300-sxm": {"B300", "Blackwell Ultra"},
    "l40s": {"L40S"},
    "rtx-pro-6000": {"RTX PRO 6000", "Blackwell"},
    "mi355x": {"MI355X"},
    "trainium2": {"Trainium2"},
    "tpu-v6e": {"TPU v6e"},
    "ascend-910c": {"910C"},
}


def cited(record: Any) -> Iterator[Cited]:
    """Every cited number in a record, however deep."""
    if isinstance(record, Cited):
        yield record
        return
    inside = record.values() if isinstance(record, Mapping) else record
    if hasattr(record, "__dict__") and not isinstance(record, Mapping):
        inside = vars(record).values()
    if not isinstance(inside, str | float | int | None):
        for each in inside:
            yield from cited(each)


def foreign(key: str, source: str) -> list[str]:
    """Products that a source names and that are not of the record's family."""
    named = PRODUCTS.findall(source)
    strangers = [name for name in named if name not in FAMILIES[key]]
    return strangers or (["none"] if PAPER.search(source) and not named else [])


@pytest.mark.parametrize("key", ACCELERATORS)
def test_a_paper_is_of_the_product_or_of_its_family(key: str) -> None:
    sources = {each.source for each in cited(ACCELERATORS[key])}
    assert sources
    assert {s: foreign(key, s) for s in sources if foreign(key, s)} == {}


@pytest.mark.parametrize(
    ("key", "source"),
    [
        ("h100-sxm", "NVIDIA A100 Tensor Core GPU Architecture, whitepaper, 2020"),
        ("a100-80-sxm", "NVIDIA H100 Tensor Core GPU datasheet, 2024"),
        ("mi300x", "AMD Instinct data sheet, 2023"),
        ("h100-sxm", "NVIDIA H200 Tensor Core GPU datasheet, 2024"),
    ],
)
def test_another_product_s_paper_is_refused(key: str, source: str) -> None:
    assert foreign(key, source)
