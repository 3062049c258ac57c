"""Looking things up, and the tables that the book prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog import LINKS, tables
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.tables import Sources
from llmserve_lab.page.table import Table

LOOKUPS: list[tuple[Callable[[str], Any], Mapping[str, Any]]] = [
    (catalog.accelerator, catalog.ACCELERATORS),
    (catalog.link, catalog.LINKS),
    (catalog.model, catalog.MODELS),
    (catalog.precision, catalog.PRECISIONS),
    (catalog.efficiency, catalog.EFFICIENCIES),
]
TABLES = [
    catalog.accelerator_table(),
    catalog.link_table(),
    catalog.model_table(),
    catalog.efficiency_table(),
    catalog.memory_table(catalog.accelerator("h100-sxm")),
    catalog.tier_table(),
    catalog.deployment_table(),
    catalog.decode_run_table(),
    catalog.product_table(),
    catalog.lone_request_table(),
    catalog.kernel_table(),
    catalog.exchange_table(),
    catalog.server_table(),
    catalog.operation_table(),
]


@pytest.mark.parametrize(("find", "table"), LOOKUPS, ids=lambda each: "")
def test_every_key_finds_its_record(
    find: Callable[[str], Any], table: Mapping[str, Any]
) -> None:
    for key, record in table.items():
        assert find(key) is record
        assert record.key == key == key.lower()
    with pytest.raises(LookupError, match=f"must be one of {next(iter(table))}.*'xyz'"):
        find("xyz")


@pytest.mark.parametrize("near", ["h100", "H100-SXM", "h100_sxm"])
def test_a_near_miss_gets_a_hint(near: str) -> None:
    with pytest.raises(LookupError, match=f"got '{near}'; did you mean 'h100-sxm'"):
        catalog.accelerator(near)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.caption)
def test_every_note_is_referred_to_and_every_reference_has_a_note(table: Table) -> None:
    cells = " ".join(
        map(str, [*table.columns, *(c for row in table.rows for c in row)])
    )
    used = {int(number) for number in re.findall(r"\[(\d+)\]", cells)}
    assert used == set(range(1, len(table.notes) + 1))
    assert len(set(table.notes)) == len(table.notes)


def cells(table: Table, first: str) -> list[str]:
    """The row that begins with ``first``, references taken off."""
    rows = [[re.sub(r" \[\d+\]", "", str(cell)) for cell in row] for row in table.rows]
    return next(row for row in rows if row[0] == first)


def test_the_tables_show_the_numbers_of_the_catalog() -> None:
    accelerators, links, models, shares, levels, tiers, *measured = TABLES
    served, decoded, products, alone, kernels, exchanged, *_ = measured
    assert cells(accelerators, "H100 SXM")[1:] == ["989.4", "1978.9", "–", "3.35 TB/s"]
    assert cells(accelerators, "Ascend 910C")[1:] == ["–"] * 4
    row = ["80 GB", "85 GB", "NVLink 4 (H100, H200)", "8"]
    assert cells(catalog.capacity_table(), "H100 SXM")[1:] == row
    row = ["scale-up", "450 GB/s", "900 GB/s", "3.33 µs", "2"]
    assert cells(links, "NVLink 4 (H100, H200)")[1:] == row
    row = ["MLA", "61", "8 of 256 + 1", "70.27 kB"]
    assert cells(models, "DeepSeek-V3")[1:] == row
    sizes = catalog.size_table()
    assert cells(sizes, "DeepSeek-V3")[1:] == ["671", "36.63", "671"]
    assert cells(sizes, "a small model, 512 wide")[-1] == "–"
    row = ["0.667", "0.896", "0.8", "h800-sxm", "bf16"]
    assert cells(shares, "FlashMLA, measured")[1:] == row
    assert cells(levels, "registers")[1:] == ["34.6 MB", "371 TB/s"]
    assert cells(tiers, "SSD")[1:] == ["3.84 TB", "7.88 GB/s"]
    row = ["H800 SXM", "144", "4989 tokens", "–", "1850 tokens/s"]
    assert cells(served, "Kimi K2, EP96")[1] == "Kimi K2"
    assert cells(served, "DeepSeek, EP144")[2:-2] == row
    assert cells(served, "DeepSeek, EP144")[-1] == "seen, 2026-11-22"
    row = ["sglang", "fp8", "8", "8192 / 1024", "32", "29.64 s", "42.7 ms"]
    assert cells(decoded, "H200 SXM")[1:-1] == row
    row = ["206 TFLOP/s", "1.688 TB/s"]
    assert cells(products, "1 × [64, 7168]·[7168, 2112]")[1:] == row
    row = ["8 × H100 SXM", "512", "53.4 ms", "29.8 ms"]
    assert [*map(str, alone.rows[1])][1:3] == row[:2]
    assert [re.sub(r" \[.*", "", str(cell)) for cell in alone.rows[1]][1:] == row
    assert cells(kernels, "attention over 1024 tokens, causal")[1:] == ["423 TFLOP/s"]
    assert cells(exchanged, "8")[1:] == ["77 µs", "114 µs"]
    assert len(accelerators.rows) == len(catalog.ACCELERATORS)


def test_a_scaled_number_is_rounded_to_five_digits() -> None:
    sources = Sources()
    peak = Cited(1.234567e15, "FLOP/s", "paper", "a paper")
    assert sources.scaled(peak, 1e12) == "1234.6 [1]"
    assert sources.cell(peak) == "1.2346 PFLOP/s [1]"
    assert (sources.scaled(None, 1e12), sources.cell(None)) == ("–", "–")
    assert sources.notes == ["paper: a paper"]


def test_a_device_without_levels_has_no_table_of_them() -> None:
    with pytest.raises(LookupError, match=r"memory levels listed, got mi300x"):
        catalog.memory_table(catalog.accelerator("mi300x"))


def test_notes_give_kind_and_source() -> None:
    assert "datasheet: NVIDIA H200 Tensor Core GPU datasheet, 2024" in TABLES[0].notes
    assert catalog.capacity_table().notes[0].startswith("GB is 1e9 bytes")
    kinds = {note.split(":")[0] for note in TABLES[1].notes}
    assert kinds == {"datasheet", "paper", "measured"}


def test_importing_the_catalog_stays_light() -> None:
    heavy = {"sympy", "pint", "altair", "matplotlib", "ipywidgets", "IPython"}
    code = f"import sys, llmserve_lab.catalog; print({heavy!r} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout.decode().strip() == "set()"


def test_a_link_s_bandwidth_stands_under_the_way_it_counts() -> None:
    """One way is what the record sends with; the headline counts both."""
    table = tables.link_table()
    at = {head: place for place, head in enumerate(table.columns)}
    scale = {"GB/s": 1, "TB/s": 1000, "MB/s": 0.001}
    for row, link in zip(table.rows, LINKS.values(), strict=True):
        one, both = (
            float(number.replace(",", "")) * scale[unit]
            for head in ("one way", "both ways")
            for number, unit in [str(row[at[head]]).split()[:2]]
        )
        assert both == pytest.approx(2 * one, rel=0.02)
        assert one == pytest.approx(float(link.bandwidth) / 1e9, rel=0.01)
