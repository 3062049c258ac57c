"""A number is cited from its own product's paper, or from its documented parent's."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.catalog.records.cited import Cited

PAPER = re.compile(r"whitepaper|data ?sheet|brief", re.IGNORECASE)
NAMES = {name for each in ACCELERATORS.values() for name in each.family}
# The longer first: a paper on Blackwell Ultra is none on Blackwell.
PRODUCTS = re.compile(
    "|".join(rf"\b{re.escape(name)}\b" for name in sorted(NAMES, key=len, reverse=True))
)


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
    strangers = [name for name in named if name not in ACCELERATORS[key].family]
    return strangers or (["none"] if PAPER.search(source) and not named else [])


@pytest.mark.parametrize("key", ACCELERATORS)
def test_a_paper_is_of_the_product_or_of_its_family(key: str) -> None:
    sources = {each.source for each in cited(ACCELERATORS[key])}
    assert sources
    assert {s: foreign(key, s) for s in sources if foreign(key, s)} == {}


def squeezed(words: str) -> str:
    """Letters and digits alone: ``CDNA 3`` and ``cdna3`` are one generation."""
    return re.sub(r"\W", "", words).lower()


@pytest.mark.parametrize("key", ACCELERATORS)
def test_a_family_is_the_device_its_generation_and_devices_of_it(key: str) -> None:
    device = ACCELERATORS[key]
    own, *others = device.family
    assert own in device.name
    alike = [e for e in ACCELERATORS.values() if e.architecture == device.architecture]
    for other in others:
        generation = squeezed(other) in squeezed(device.architecture)
        assert generation or other in {each.family[0] for each in alike}, other


@pytest.mark.parametrize("key", ACCELERATORS)
def test_a_paper_has_an_address(key: str) -> None:
    papers = [each for each in cited(ACCELERATORS[key]) if PAPER.search(each.source)]
    assert {each.source for each in papers if not each.url} == set()


@pytest.mark.parametrize(
    ("key", "source"),
    [
        ("h100-sxm", "NVIDIA A100 Tensor Core GPU Architecture, whitepaper, 2020"),
        ("a100-80-sxm", "NVIDIA H100 Tensor Core GPU datasheet, 2024"),
        ("mi300x", "AMD Instinct data sheet, 2023"),
        ("h100-sxm", "NVIDIA H200 Tensor Core GPU datasheet, 2024"),
        ("b200-sxm", "NVIDIA GB200 NVL72 datasheet, 2025"),
        ("b300-sxm", "NVIDIA Blackwell Architecture, technical brief, 2024"),
        ("b200-sxm", "NVIDIA Blackwell Ultra datasheet, 2025"),
        ("h100-sxm", "NVIDIA V100 datasheet, 2018"),
    ],
)
def test_another_product_s_paper_is_refused(key: str, source: str) -> None:
    assert foreign(key, source)
