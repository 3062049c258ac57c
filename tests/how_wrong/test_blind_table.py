"""The blind test: its machines, its sorts and its means, counted another way."""

from statistics import fmean

import pytest

from llmserve_lab.catalog.evidence.one_h100 import passes
from llmserve_lab.how_wrong.page import blind_table
from llmserve_lab.running_example import cost
from llmserve_lab.validation.one_gpu import Sort


def test_every_pass_in_16_bits_is_in_one_sort() -> None:
    timed = [run for run in passes() if run.precision == "bf16"]
    found = [blind_table.errors("fitted", sort) for sort in blind_table.SORTS]
    assert sum(map(len, found)) == len(timed)
    assert sum(int(row[1]) for row in blind_table.blind().rows) * 2 == len(timed)
    for sort, each in zip(blind_table.SORTS, found, strict=True):
        has_chunk = {bool(e.run.chunk) for e in each}
        assert has_chunk == {sort != "decode"}


def test_the_host_is_a_time_a_request_and_a_time_a_prompt() -> None:
    served, bare = cost(), blind_table.without_host()
    for one, other in zip(
        blind_table.errors("fitted", "chunk"),
        blind_table.errors("fitted, no host", "chunk"),
        strict=True,
    ):
        more_s = one.predicted_s - other.predicted_s
        host_s = served.prompt_s + (one.run.decodes + 1) * served.request_s
        assert more_s == pytest.approx(host_s)
    assert bare.overhead_s == served.overhead_s  # a layer's time is in every pass


@pytest.mark.parametrize("sort", list(blind_table.SORTS))
def test_without_the_host_the_error_is_that_of_rows_of_servers(sort: Sort) -> None:
    sizes = {
        machine: fmean(abs(each.error) for each in blind_table.errors(machine, sort))
        for machine in blind_table.MACHINES
    }
    assert sizes["fitted, no host"] < sizes["fitted"] < sizes["datasheet"]
    assert 0.08 < sizes["fitted, no host"] < 0.12


def test_the_datasheet_is_always_too_fast() -> None:
    for sort in blind_table.SORTS:
        assert all(each.error < 0 for each in blind_table.errors("datasheet", sort))
