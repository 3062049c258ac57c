"""Which runs of mixtures of experts are scored: the rule, tried on a made-up table.

Whether the vendored file is what the rule makes of its source cannot be tested without
the source, which is not stored here. What can: the rule, by settings alone; and that
the vendored file breaks none of it.
"""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from expert_rows import chosen
from llmserve_lab.validation.experts import (
    COLUMNS,
    LARGEST_TP,
    SHAPES,
    stored_runs,
)
from llmserve_lab.validation.rows import vendored


def run(**changes: object) -> dict[str, str]:
    """A line of the source's table, with some of its settings changed."""
    made = {
        "model_path": "openai/gpt-oss-120b-mxfp4", "system": "h100_sxm",
        "backend": "vllm", "precision": "fp4", "mode": "agg",
        "attention_dp_size": "1", "tp_size": 4, "moe_tp_size": 1, "moe_ep_size": 4,
        "isl": 1024, "osl": 256, "silicon_data_source": "x silicon_concurrency=16 y",
        "silicon_ttft_ms": "51.23456789", "silicon_tpot_ms": "7.5",
    }  # fmt: skip
    return {name: str(value) for name, value in {**made, **changes}.items()}


def test_a_run_is_written_in_the_columns_that_are_scored() -> None:
    (line,) = chosen([run()])
    assert line == (
        "openai/gpt-oss-120b", "h100_sxm", "vllm", "fp4", "4", "1024", "256", "16",
        "51.2346", "7.5",
    )  # fmt: skip
    assert len(line) == len(COLUMNS)


def test_each_run_is_taken_once_whatever_it_is_called() -> None:
    lower = run(model_path="OpenAI/GPT-OSS-120B", moe_tp_size=2, moe_ep_size=2)
    assert len(chosen([run(), lower, run()])) == 1
    assert len(chosen([run(), run(silicon_tpot_ms="7.6")])) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"model_path": "meta/other"},
        {"system": "gb200"},
        {"mode": "disagg"},
        {"attention_dp_size": "4"},
        {"silicon_data_source": "no number of clients"},
        {"tp_size": 16, "moe_ep_size": 16},
        {"moe_ep_size": 8},
        {"silicon_data_source": "silicon_concurrency=512"},
    ],
)
def test_what_is_left_out_is_left_out_by_a_setting(changes: dict[str, object]) -> None:
    assert chosen([run(**changes)]) == []


def test_a_full_server_is_left_out_on_one_system_alone() -> None:
    many = {"silicon_data_source": "silicon_concurrency=512"}
    assert len(chosen([run(**many, system="h200_sxm")])) == 1
    other = run(**many, model_path="Qwen/Qwen3-235B-A22B-FP8")
    assert len(chosen([other])) == 1


def test_no_time_decides() -> None:
    """Whatever the times are, the same settings are taken."""
    slow = run(silicon_ttft_ms="1e9", silicon_tpot_ms="1e9")
    assert len(chosen([slow])) == len(chosen([run()]))


def test_the_vendored_runs_break_no_part_of_the_rule() -> None:
    lines = list(csv.DictReader(vendored("expert_rows.csv").splitlines()))
    assert list(lines[0]) == list(COLUMNS)
    settings = [tuple(line.values()) for line in lines]
    assert len(set(settings)) == len(settings) == len(stored_runs()) == 763
    assert {line["model"] for line in lines} == set(SHAPES)
    for line in lines:
        assert int(line["tp"]) <= LARGEST_TP
        if "gpt-oss" in line["model"] and line["system"] == "h100_sxm":
            assert int(line["clients"]) < 512
    counts = Counter(row.model for row in stored_runs())
    assert [counts[name] for name in SHAPES] == [327, 182, 254]
