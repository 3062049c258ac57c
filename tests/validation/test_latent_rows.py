"""Which runs of the second trial are scored: the rule, tried on made-up runs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from latent_rows import Run, chosen, of_inferencex, of_table
from llmserve_lab.validation.second_trial import COLUMNS


def race(**changes: object) -> dict[str, object]:
    """A run as InferenceX answers it, with some of its settings changed."""
    made = {
        "model": "dsr1", "hardware": "h200", "framework": "sglang", "precision": "fp8",
        "spec_method": "none", "disagg": False, "is_multinode": False,
        "decode_dp_attention": False, "decode_tp": 8, "decode_ep": 1, "isl": 1024,
        "osl": 8192, "conc": 32, "date": "2026-03-01",
        "metrics": {"mean_ttft": 0.123456789, "mean_tpot": 0.02, "median_tpot": 0.5},
    }  # fmt: skip
    return {**made, **changes}


def line(said: str = "", **changes: object) -> Mapping[str, str]:
    """A line of the table, with some of its settings changed."""
    made = {
        "model_path": "zhipuai/GLM-5", "system": "b200_sxm", "backend": "sglang",
        "precision": "nvfp4", "mode": "agg", "attention_dp_size": "1", "tp_size": 8,
        "moe_tp_size": 8, "moe_ep_size": 1, "isl": 8192, "osl": 1024,
        "silicon_data_source": "silicon_concurrency=4; measured=2026-03-20T0" + said,
        "silicon_ttft_ms": "51.23456789", "silicon_tpot_ms": "7.5",
    }  # fmt: skip
    return {name: str(value) for name, value in {**made, **changes}.items()}


def test_runs_are_written_in_the_columns_that_are_scored() -> None:
    rows, left_out = chosen([of_inferencex(race()), of_table(line())])
    of_deepseek, of_glm = rows
    assert of_deepseek == (
        "deepseek-ai/DeepSeek-R1-0528", "h200_sxm", "sglang", "fp8", "8", "1", "1024",
        "8192", "32", "123.457", "20", "mean", "2026-03-01",
    )  # fmt: skip
    assert of_glm == (
        "zai-org/GLM-5", "b200_sxm", "sglang", "fp4", "8", "1", "8192", "1024", "4",
        "51.2346", "7.5", "unknown", "2026-03-20",
    )  # fmt: skip
    assert len(of_glm) == len(COLUMNS) and not +left_out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": "dsv4"}, "another model or GPU"),
        ({"hardware": "mi355x"}, "another model or GPU"),
        ({"hardware": "b300"}, "another model or GPU"),
        ({"disagg": True}, "prefill elsewhere"),
        ({"is_multinode": True}, "several nodes"),
        ({"spec_method": "mtp"}, "drafts"),
        ({"framework": "dynamo-trt"}, "another engine"),
        ({"decode_dp_attention": True}, "attention in copies"),
        ({"decode_tp": 16}, "no one group"),
        ({"decode_ep": 2}, "no one group"),
        ({"metrics": {"p99_tpot": 1.0}}, "no mean or median"),
    ],
)
def test_what_is_left_out_of_the_races(changes: dict[str, object], why: str) -> None:
    runs, left_out = chosen([of_inferencex(race(**changes))])
    assert runs == []
    ((said, count),) = left_out.items()
    assert why in said and count == 1


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (line(model_path="deepseek-ai/DeepSeek-R1"), "another model or GPU"),
        (line(system="b300_sxm"), "another model or GPU"),
        (line(mode="disagg"), "prefill elsewhere"),
        (line(attention_dp_size="4"), "attention in copies"),
        (line(tp_size=4), "no one group"),
        (line("; wip=True"), "in progress"),
        (line(silicon_data_source="silicon_concurrency=4"), "no date"),
        (
            line(silicon_data_source="silicon_concurrency=4; measured=2026-04-20"),
            "drafts",
        ),
    ],
)
def test_what_is_left_out_of_the_table(found: Mapping[str, str], why: str) -> None:
    ((said, count),) = chosen([of_table(found)])[1].items()
    assert why in said and count == 1


def test_kimi_is_taken_whenever_it_ran() -> None:
    late = "silicon_concurrency=4; measured=2026-04-20"
    kimi = line(model_path="moonshotai/Kimi-K2.5", silicon_data_source=late)
    assert len(chosen([of_table(kimi)])[0]) == 1


def test_of_a_setting_the_latest_date_is_taken_once() -> None:
    def run(date: str, tpot: str, statistic: str = "median") -> Run:
        return Run(("m",), date, ("1", tpot, statistic))

    early, late = run("2026-03-25", "8"), run("2026-05-01", "7")
    mean = run("2026-05-01", "9", "mean")
    for runs in ((early, late), (late, early)):
        rows, left_out = chosen(runs)
        assert rows == [("m", "1", "7", "median", "2026-05-01")]
        assert left_out["repeated"] == 1
    for both in ((late, mean), (mean, late)):
        assert chosen(both)[0] == [("m", "1", "9", "mean", "2026-05-01")]
    last = chosen([late, run("2026-05-01", "6")])[0]
    assert last == [("m", "1", "6", "median", "2026-05-01")]


def test_no_time_decides() -> None:
    """Whatever the times are, the same settings are taken, in the same order."""
    slow = {"mean_ttft": 1e9, "mean_tpot": 1e9}
    for metrics in (slow, race()["metrics"]):
        rows, _ = chosen([of_inferencex(race(metrics=metrics)), of_table(line())])
        assert [row[0] for row in rows] == [
            "deepseek-ai/DeepSeek-R1-0528",
            "zai-org/GLM-5",
        ]
