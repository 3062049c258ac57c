"""Any CSV file becomes requests: columns by name, time in any unit, packed or not."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.workloads import csv_trace
from llmserve_lab.workloads.lines import Compression, MalformedLineError
from llmserve_lab.workloads.traces import TimeUnit

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
# 1.5 s later, written in each unit.
WRITTEN = {
    "s": ("10", "11.5"),
    "ms": ("10000", "11500"),
    "us": ("10000000", "11500000"),
    "ns": ("10000000000", "11500000000"),
    "datetime": ("2026-01-01 00:00:10", "2026-01-01 00:00:11.5"),
}
WANT = [
    Request(arrival_s=0.0, prompt_len=100, output_len=7, id=0),
    Request(arrival_s=1.5, prompt_len=3, output_len=2, id=1),
]
NAMES: dict[str, Any] = {"time": "when", "prompt": "in", "output": "out"}


def text(first: str, second: str) -> bytes:
    return f"user,out,when,in\nx,7,{first},100\ny,2,{second},3\n".encode()


@pytest.mark.parametrize("unit", get_args(TimeUnit))
@pytest.mark.parametrize("compression", get_args(Compression))
def test_the_same_requests_however_they_are_written(
    unit: TimeUnit, compression: Compression, tmp_path: Path
) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(PACKED[compression](text(*WRITTEN[unit])))
    read = csv_trace(path, **NAMES, unit=unit, compression=compression)
    assert list(read) == WANT


@pytest.mark.parametrize(
    ("argument", "rule"),
    [({"unit": "h"}, "unit must be one of"), ({"compression": "zip"}, "compression")],
)
def test_an_unknown_way_to_write_is_refused(
    argument: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=rule):
        csv_trace(tmp_path / "none.csv", **NAMES, **argument)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(text("0", "1"))
    with pytest.raises(MalformedLineError, match="start must be a column"):
        list(csv_trace(path, time="start", prompt="in", output="out"))


@pytest.mark.parametrize("compression", ["gzip", "bz2", "xz"])
@given(cut=st.integers(min_value=1, max_value=40))
def test_a_broken_archive_is_a_flaw_with_a_name(
    tmp_path_factory: pytest.TempPathFactory, compression: Compression, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "trace.csv"
    path.write_bytes(PACKED[compression](text("0", "1"))[:-cut])
    with pytest.raises((MalformedLineError, ValueError), match=r"trace\.csv"):
        list(csv_trace(path, **NAMES, compression=compression))
