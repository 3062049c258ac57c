"""Export of a report under the names of ``vllm bench serve``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from math import isnan, sqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from llmserve_lab.checks import of_type
from llmserve_lab.engine.metrics.percentile import percentile
from llmserve_lab.engine.metrics.tbt_histogram import Floats, TbtHistogram

MS = 1e3  # vLLM's latencies are in milliseconds


def summary(
    columns: Mapping[str, Floats],
    gaps: TbtHistogram,
    elapsed_s: float,
    quantiles: tuple[float, ...],
) -> dict[str, float]:
    """Counts, rates and moments of latencies, by vLLM's names."""
    per_s = 1 / elapsed_s if elapsed_s else 0.0
    completed, tpot_s = len(columns["id"]), columns["tpot_s"]
    inputs = int(columns["prompt_tokens"].sum())
    outputs = int(columns["output_tokens"].sum())
    return {
        "duration": elapsed_s,
        "completed": completed,
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "request_throughput": completed * per_s,
        "output_throughput": outputs * per_s,
        "total_token_throughput": (inputs + outputs) * per_s,
        **_moments("ttft", columns["ttft_s"], quantiles),
        **_moments("tpot", tpot_s[~np.isnan(tpot_s)], quantiles),
        **_gap_moments("itl", gaps, quantiles),
        **_moments("e2el", columns["e2el_s"], quantiles),
    }


def _moments(
    name: str, values_s: Floats, quantiles: tuple[float, ...]
) -> dict[str, float]:
    if not len(values_s):
        return {}
    wanted = {"median": 50.0} | {f"p{q:g}": q for q in quantiles}
    places = {
        f"{word}_{name}_ms": MS * percentile(values_s, q) for word, q in wanted.items()
    }
    mean_ms, std_ms = MS * float(values_s.mean()), MS * float(values_s.std())
    return {f"mean_{name}_ms": mean_ms, f"std_{name}_ms": std_ms} | places


def _gap_moments(
    name: str, gaps: TbtHistogram, quantiles: tuple[float, ...]
) -> dict[str, float]:
    """The same of a histogram, each gap with its count."""
    if not gaps.count:
        return {}
    lengths_s, counts = gaps.values()
    mean_s = gaps.total_s / gaps.count
    spread_s = sqrt(float((counts * (lengths_s - mean_s) ** 2).sum() / gaps.count))
    wanted = {"median": 50.0} | {f"p{q:g}": q for q in quantiles}
    return {
        f"mean_{name}_ms": MS * mean_s,
        f"std_{name}_ms": MS * spread_s,
        **{f"{word}_{name}_ms": MS * gaps.percentile(q) for word, q in wanted.items()},
    }


def data_frame(columns: Mapping[str, Floats]) -> Any:
    """Columns as a pandas ``DataFrame``.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    try:
        import pandas
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "to_pandas needs pandas: pip install pandas", name="pandas"
        ) from None
    return pandas.DataFrame(columns)


def csv_text(columns: Mapping[str, Floats]) -> str:
    """Columns as CSV with a header; whole numbers without a point, nothing for NaN."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [_cell(value) for value in row] for row in zip(*columns.values(), strict=True)
    )
    return text.getvalue()


def _cell(value: Any) -> str | int | float:
    number = float(value)
    if isnan(number):
        return ""
    return int(number) if number.is_integer() else number


def written(text: str, path: str | Path | None) -> str:
    """The text, which is also written to the path if there is one."""
    of_type(str | PathLike | None, path=path)
    if path is not None:
        Path(path).write_text(text, "utf8")
    return text
