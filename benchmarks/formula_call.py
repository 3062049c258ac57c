"""What the checks of a formula call cost, against the line that one writes by hand.

They are a pass over each argument and one over the result. Where the formula is a
single product, which is no more than such a pass itself, the checks are most of it.
"""

import math
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import Line
from llmserve_lab.formula.arrays import Array
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as f

POINTS = 1_000_000
PAIRS, TRIES = 21, 3
LIMIT = 3.0
MODEL = {
    "params_read": 6.6e9,
    "params_active": 6.7e9,
    "bytes_weight": 2.0,
    "kv_bytes_per_token": 5.2e5,
    "attn_flops_per_pair": 5.2e5,
    "chunk": 1.0,
}
MACHINE = {"peak_flops": 1e15, "hbm_bw": 3e12, "eff_compute": 0.8, "eff_mem": 0.9}


def spread(low: float, high: float, seed: int) -> Array:
    """Points at random between ``low`` and ``high``, as many in every decade."""
    draw = np.random.default_rng(seed)
    return np.exp(draw.uniform(math.log(low), math.log(high), POINTS))


def intensity(v: dict[str, Any]) -> Any:
    """Equation ``intensity``, by hand."""
    half = (v["chunk"] + 1) / 2
    attention = v["attn_flops_per_pair"]
    return (
        (2 * v["params_active"] + attention * (v["context"] + half))
        * (v["chunk"] * v["batch"])
        / (
            v["bytes_weight"] * v["params_read"]
            + v["kv_bytes_per_token"] * v["context"] * v["batch"]
        )
    )


def ridge_batch(v: dict[str, Any]) -> Any:
    """Equation ``ridge_batch``, by hand."""
    ridge = v["peak_flops"] * v["eff_compute"] / (v["hbm_bw"] * v["eff_mem"])
    return (v["bytes_weight"] * v["params_read"] * ridge) / (
        2 * v["params_active"] * v["chunk"]
        - ridge * v["kv_bytes_per_token"] * v["context"]
    )


def attainable_flops(v: dict[str, Any]) -> Any:
    """Equation ``attainable_flops``, by hand."""
    return np.minimum(
        v["peak_flops"] * v["eff_compute"], v["hbm_bw"] * v["eff_mem"] * v["intensity"]
    )


Case = tuple[Formula, Callable[[dict[str, Any]], Any], dict[str, Any]]


def cases() -> Iterator[Case]:
    """Each formula with its line by hand and a million points that both take."""
    size = {"batch": spread(1, 1e3, seed=1), "context": spread(1, 1e6, seed=2)}
    yield f.INTENSITY, intensity, MODEL | size
    short = {"context": spread(1, 60, seed=3)}
    at = MODEL | MACHINE | short
    yield f.RIDGE_BATCH, ridge_batch, at
    x = {"intensity": spread(0.1, 1e4, seed=4)}
    yield f.ATTAINABLE_FLOPS, attainable_flops, MACHINE | x


def seconds(work: Callable[[], Any]) -> float:
    """Time of the best of a few runs of ``work``: other programs run as well."""
    times = []
    for _ in range(TRIES):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def ratio(formula: Formula, line: Callable[[dict[str, Any]], Any], at: Any) -> float:
    """Median over pairs of runs: time of the formula call by time of the line."""
    known = {leaf.name: at[leaf.name] for leaf in formula.arguments}
    np.testing.assert_allclose(formula(**known), line(at), rtol=1e-10)
    return median(
        seconds(lambda: formula(**known)) / seconds(lambda: line(at))
        for _ in range(PAIRS)
    )


def main() -> Iterator[Line]:
    """Yield the worst ratio first, then that of every formula."""
    ratios = {formula: ratio(formula, line, at) for formula, line, at in cases()}
    yield Line("formula call / NumPy line", max(ratios.values()), LIMIT)
    for formula, found in ratios.items():
        yield Line(f"  {formula.label}: {formula.title}", found, LIMIT)
    pair = {"batch": spread(1, 1e3, seed=5), "chunk": spread(1, 1e3, seed=6)}
    alone = ratio(f.N_ROWS, lambda v: v["batch"] * v["chunk"], pair)
    yield Line("  n_rows: a single product", alone)
