"""Menus of GPUs follow from rules: what a rule lets in is in, whatever its name."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from llmserve_lab.afd.page.comparison import DEVICES as SPLIT
from llmserve_lab.capacity.triangle import DEVICES as PRICED
from llmserve_lab.catalog import ACCELERATORS, Accelerator, selection
from llmserve_lab.catalog.selection import (
    beginning_with,
    chip_known,
    driver_known,
    in_servers,
    stacks_known,
    where,
)
from llmserve_lab.continuous_batching.page.playground import DEVICE_NAMES
from llmserve_lab.deepseek.page.controls import DEVICES as KERNELS
from llmserve_lab.quantization.page.controls import DEVICES as FEWER
from llmserve_lab.roofline.page.controls import DEVICES as ROOFLINE
from llmserve_lab.tensor_parallel.arguments import CHOSEN_MACHINES

H200 = ACCELERATORS["h200-sxm"]
NEW = replace(H200, key="h250", name="H250", hbm_bytes=ACCELERATORS["mi300x"].hbm_bytes)


def keys(*devices: Accelerator) -> list[str]:
    return [device.key for device in devices]


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with one more GPU, that no list can know of."""
    more = MappingProxyType(dict(ACCELERATORS) | {NEW.key: NEW})
    monkeypatch.setattr(selection, "ACCELERATORS", more)


def test_the_menus_of_the_pages_by_their_rules() -> None:
    assert keys(*ROOFLINE) == [
        "a100-80-sxm", "h100-sxm", "h200-sxm", "b200-sxm", "mi300x",
    ]  # fmt: skip
    assert set(DEVICE_NAMES) == {device.name for device in ROOFLINE}
    assert keys(*FEWER) == ["h100-sxm", "a100-80-sxm", "h200-sxm", "b200-sxm"]
    assert list(PRICED) == keys(*FEWER)
    assert keys(*CHOSEN_MACHINES) == ["h100-sxm", "h200-sxm"]
    assert list(SPLIT) == ["h100-sxm", "h200-sxm", "b200-sxm"]
    assert set(SPLIT) < set(keys(*KERNELS))


@pytest.mark.usefixtures("one_more")
def test_what_a_rule_lets_in_is_in() -> None:
    for rule in (stacks_known, driver_known, chip_known):
        assert rule(NEW)
        assert NEW in in_servers("bf16", rule)
        assert NEW in where(rule)


def test_what_is_not_known_keeps_a_gpu_out() -> None:
    bare = replace(NEW, hbm_stacks=None, driver_bytes=None, compute_array=None)
    undisclosed = ACCELERATORS["ascend-910c"]
    for rule in (stacks_known, driver_known, chip_known):
        assert not rule(bare)
        assert not rule(undisclosed)
    assert undisclosed not in in_servers()


def test_racks_and_twins_are_left_out_of_servers() -> None:
    found = keys(*in_servers())
    assert "gb200-nvl72" not in found
    assert ("h100-sxm" in found, "h800-sxm" in found) == (True, False)
    assert "gb200-nvl72" in keys(*where(stacks_known))


def test_a_menu_begins_with_the_book_s_gpu() -> None:
    some = in_servers("bf16", stacks_known)
    turned = beginning_with("h200-sxm", some)
    assert keys(*turned)[0] == "h200-sxm"
    assert sorted(keys(*turned)) == sorted(keys(*some))
    with pytest.raises(ValueError, match=r"key must be one of .*got 'l40s'"):
        beginning_with("l40s", some)
