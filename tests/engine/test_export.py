"""Exports of a report, against the one-line definitions of ``vllm bench serve``."""

import csv
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from llmserve_lab.engine import Continuous, IterationCost, Pool, Report, simulate
from tests.engine.test_report import POOL, stream


@pytest.fixture(scope="module")
def report() -> Report:
    return simulate(stream(100), POOL)


def test_numbers_go_by_the_names_of_vllm(report: Report) -> None:
    """Its definitions, written once more over the tokens of each request."""
    found = report.to_dict(quantiles=(50, 99))
    outputs = report.output_len
    many = outputs > 1
    latency_s = report.finished_s - report.arrival_s
    ttft_s = report.first_token_s - report.arrival_s
    tpot_s = ((latency_s - ttft_s) / np.maximum(outputs - 1, 1))[many]
    for name, values in (("ttft", ttft_s), ("tpot", tpot_s), ("e2el", latency_s)):
        assert found[f"mean_{name}_ms"] == pytest.approx(1e3 * np.mean(values))
        assert found[f"median_{name}_ms"] == pytest.approx(1e3 * np.median(values))
        assert found[f"std_{name}_ms"] == pytest.approx(1e3 * np.std(values))
        assert found[f"p99_{name}_ms"] == pytest.approx(1e3 * np.percentile(values, 99))
    lengths_s, counts = report.gaps.values()
    gaps = np.repeat(lengths_s, counts.astype(int))
    assert found["mean_itl_ms"] == pytest.approx(1e3 * np.mean(gaps))
    assert found["std_itl_ms"] == pytest.approx(1e3 * np.std(gaps))
    assert found["p99_itl_ms"] == pytest.approx(1e3 * np.percentile(gaps, 99))
    assert found["p50_itl_ms"] == found["median_itl_ms"]
    assert found["completed"] == 100
    assert found["output_throughput"] == pytest.approx(outputs.sum() / report.elapsed_s)
    tokens = outputs.sum() + report.prompt_len.sum()
    rate = found["total_token_throughput"] * found["duration"]
    assert rate == pytest.approx(tokens)


def test_json_is_the_dictionary(report: Report, tmp_path: Path) -> None:
    text = report.to_json(tmp_path / "run.json")
    assert (tmp_path / "run.json").read_text("utf8") == text
    assert json.loads(text) == report.to_dict()
    empty = simulate([], POOL).to_dict()
    assert empty["completed"] == 0 == empty["request_throughput"]
    assert "mean_ttft_ms" not in empty and "mean_itl_ms" not in empty


def test_a_line_of_the_table_is_a_request(report: Report, tmp_path: Path) -> None:
    text = report.to_csv(tmp_path / "run.csv")
    rows = list(csv.DictReader((tmp_path / "run.csv").read_text("utf8").splitlines()))
    assert text.count("\n") == 101 and len(rows) == 100
    for row, number, e2el_s, tpot_s in zip(
        rows,
        report.id,
        report.latency_s,
        report.columns()["tpot_s"],
        strict=True,
    ):
        assert row["id"] == str(int(number))
        assert float(row["e2el_s"]) == e2el_s
        assert (row["tpot_s"] == "") == np.isnan(tpot_s)
        assert np.isnan(tpot_s) == (row["output_tokens"] == "1")


def test_pandas_gets_the_same_columns(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    assert list(report.to_pandas()) == report.to_csv().split("\n")[0].split(",")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        report.to_pandas()


def test_preemptions_are_exported() -> None:
    cost = IterationCost(row_s=1e-3)
    pool = Pool(cost, Continuous(), kv_blocks=9)
    found = simulate(stream(40, every_s=0.0), pool).to_dict()
    assert found["num_preemptions"] > 0
    assert found["recomputed_tokens"] > found["num_preemptions"]
    assert simulate(stream(5), POOL).to_dict()["num_preemptions"] == 0
