"""Which decode runs the twin is scored on, blind: the rule, tried on made-up runs."""

from __future__ import annotations

from typing import Any

import pytest

from decode_rows import chosen


def run(of: str = "mean", **changes: Any) -> dict[str, Any]:
    """A run as the site answers it, with some of its settings changed."""
    return {
        "model": "dsr1", "hardware": "gb200", "framework": "dynamo-trt",
        "precision": "fp8", "isl": 8192, "osl": 1024, "disagg": True,
        "spec_method": "none", "decode_dp_attention": True, "decode_tp": 16,
        "decode_ep": 16, "conc": 640, "num_decode_gpu": 32, "prefill_tp": 4,
        "num_prefill_gpu": 8, "date": "2026-02-01",
        "metrics": {f"{of}_ttft": 1.5, f"{of}_tpot": 0.0312345678},
    } | changes  # fmt: skip


def test_a_run_is_written_in_the_columns_that_are_scored() -> None:
    assert chosen([[run()]]) == [
        (
            "gb200", "trtllm", "fp8", 8192, 1024, 16, 16, 20.0,
            "1500", "31.2346", "mean", "2026-02-01",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "gptoss"},
        {"disagg": False},
        {"spec_method": "mtp"},
        {"hardware": "gb300"},
        {"framework": "mori-sglang"},
        {"decode_dp_attention": False},
        {"decode_tp": 8},
        {"decode_tp": 1, "decode_ep": 1},
        {"conc": 31},
        {"hardware": "h200", "framework": "dynamo-sglang", "isl": 1024},
        # 80 requests on a GPU of eight B200 were calibrated on; so were 18
        {"hardware": "b200", "decode_tp": 8, "decode_ep": 8, "conc": 2568},
    ],
)
def test_runs_of_another_kind_and_runs_that_were_seen_are_left_out(
    changes: dict[str, Any],
) -> None:
    assert chosen([[run(**changes)]]) == []


def test_a_setting_is_taken_once_means_first_and_the_latest_date() -> None:
    later = run("median", date="2026-03-01")
    means = [run(date="2026-02-02"), run(date="2026-02-03"), run(date="2026-02-01")]
    (taken,) = chosen([means, [later]])
    assert taken[-2:] == ("mean", "2026-02-03")
    assert len(chosen([means, [run("median", conc=672)]])) == 2
