"""Each column of the tables is worked out once more from what its heading says.

The routed experts of DeepSeek-V3 in FP8: three matrices of 7,168 × 2,048 a byte each,
256 of them in a layer, 8 for a token.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL, AllToAll
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.moe import (
    exchange_time,
    hot_rank,
    kernel_time,
    layer_time,
    load_balancing,
)
from llmserve_lab.moe.models import DEEPSEEK, KIMI, LLAMA, QWEN, inventory
from llmserve_lab.moe.page import questions
from llmserve_lab.moe.serving import GPUS, setting
from tests.page.cells import lines, number, says, wrong

EXPERT, EXPERTS, PER_TOKEN, ROWS = 3 * 7168 * 2048, 256, 8, 128
MICRO = 1e6


def reached(gpu: str) -> tuple[float, float]:
    """Bytes and FLOPs a second of a GPU."""
    known = setting(gpu)
    return (
        float(known["hbm_bw"]) * float(known["eff_mem"]),
        float(known["peak_flops"]) * float(known["eff_compute"]),
    )


def test_each_column_of_the_parameters() -> None:
    models = {model.name: model for model in (LLAMA, QWEN, DEEPSEEK, KIMI)}

    def layer(name: str, *, touched: bool) -> float:
        """Three matrices an expert, and a router with a column for each."""
        model, ffn = models[name], models[name].ffn
        if not isinstance(ffn, MoeFfn):
            return 3 * model.d_model * ffn.d_ff
        many = (ffn.top_k if touched else ffn.n_experts) + ffn.n_shared
        return model.d_model * (3 * ffn.d_ff * many + ffn.n_experts)

    def model(name: str, *, touched: bool) -> float:
        of = models[name]
        return float(of.params_active if touched else of.params_total)

    columns = {
        f"{what} {part}": (
            lambda name, of=of, part=part: (
                of(name, touched=True) / of(name, touched=False)
                if part == "share"
                else of(name, touched=part == "touched") / 1e9
            )
        )
        for what, of in (("layer", layer), ("model", model))
        for part in ("stored", "touched", "share")
    }
    assert wrong(inventory(*models.values()), columns) == []


def test_each_column_of_a_layer_s_time() -> None:
    """Sending is that of a dispatch and a combine; halves read all they hold again."""
    bandwidth, peak = reached(GPUS[0])

    def experts(gpus: str, rows: int) -> float:
        read = EXPERTS / float(gpus) * EXPERT / bandwidth
        return MICRO * max(read, rows * PER_TOKEN * 2 * EXPERT / peak)

    def sends(gpus: str, rows: int) -> float:
        start = exchange_time.start_s()
        both = (
            exchange_time.seconds(way, float(gpus), gpu_rows=rows, start_s=start)
            for way in ("dispatch", "combine")
        )
        return MICRO * sum(both)

    def rest(rows: int) -> float:
        return MICRO * layer_time.rest_s(rows)

    def tenths(gpus: str) -> tuple[float, float]:
        works = experts(gpus, half) + rest(half)
        return round(works, 1), round(sends(gpus, half), 1)  # doubled as printed

    half = ROWS // 2
    kernels = MICRO * 61 / 58 * 23 * kernel_time.kernel_s()
    columns = {
        "experts": lambda gpus: experts(gpus, ROWS),
        "rest": lambda gpus: rest(ROWS),
        "sending": lambda gpus: sends(gpus, ROWS),
        "in sequence": lambda g: sum(
            round(each) for each in (experts(g, ROWS), rest(ROWS), sends(g, ROWS))
        ),
        "half works": lambda gpus: experts(gpus, half) + rest(half),
        "half sends": lambda gpus: sends(gpus, half),
        "two halves": lambda gpus: 2 * max(tenths(gpus)),
        "in sequence, kernels": lambda g: (
            kernels
            + sum(
                round(each) for each in (experts(g, ROWS), rest(ROWS), sends(g, ROWS))
            )
        ),
        "two halves, kernels": lambda gpus: 2 * (max(tenths(gpus)) + kernels),
    }
    assert wrong(layer_time.rate_table(), columns) == []


def test_what_a_group_leaves_grows_by_the_experts_that_others_hold() -> None:
    """58 MoE layers. How many requests that holds follows from it, elsewhere."""
    left = {
        float(r["GPUs"]): r["left by weights"] for r in lines(layer_time.cache_table())
    }
    for fewer, more in ((16, 64), (64, 256)):
        grown = 58 * EXPERT * (EXPERTS / fewer - EXPERTS / more)
        gap = number(left[more])[0] - number(left[fewer])[0]
        assert gap == pytest.approx(grown, abs=1.01e9)


def test_each_column_of_dispatch_and_combine() -> None:
    runs = {str(run.ep): run for run in ALL_TO_ALL}

    def took(run: AllToAll, way: str) -> float:
        return float({"dispatch": run.dispatch_s, "combine": run.combine_s}[way])

    def model(run: AllToAll, way: str) -> float:
        """With the constant that all other sizes give."""
        start = exchange_time.start_s(tuple(each for each in ALL_TO_ALL if each != run))
        return exchange_time.seconds(way, run.ep, start_s=start)

    columns: dict[str, Any] = {}
    for way in ("dispatch", "combine"):
        columns |= {
            way: lambda ep, way=way: MICRO * took(runs[ep], way),
            f"{way[0]}. less wire": lambda ep, way=way: MICRO * (
                took(runs[ep], way)
                - exchange_time.seconds(way, float(ep), start_s=0.0)
            ),
            f"{way[0]}. model": lambda ep, way=way: MICRO * model(runs[ep], way),
            f"{way[0]}. off": lambda ep, way=way: (
                model(runs[ep], way) / took(runs[ep], way) - 1
            ),
        }  # fmt: skip
    assert wrong(exchange_time.table(), columns) == []
    assert took(ALL_TO_ALL[0], "combine") > took(ALL_TO_ALL[0], "dispatch")  # 16 bits


def test_each_column_of_the_balanced_routers() -> None:
    """And each router is what it is called: a loss moves scores, a bias none."""
    found = load_balancing.methods()

    def hottest(name: str) -> float:
        return float(found[name].loads.max() / found[name].loads.mean())

    def dropped(name: str) -> float:
        loads = found[name].loads
        return float(
            sum(max(0.0, n - 1.25 * loads.mean()) for n in loads) / loads.sum()
        )

    columns = {
        "hottest expert over the mean": hottest,
        "dropped at capacity 1.25": dropped,
        "scores moved": lambda name: found[name].moved,
    }
    assert wrong(load_balancing.table(), columns) == []
    start = load_balancing.with_favourites()
    biased = load_balancing.bias_update(start)
    assert np.array_equal(biased.offset, start.offset) and biased.bias.any()
    assert found["left alone"].moved == found["bias"].moved == 0 < hottest("bias")
    assert found["auxiliary loss"].moved > 0.1
    assert hottest("left alone") > 2 * max(map(hottest, ("auxiliary loss", "bias")))


def test_each_column_of_a_hot_gpu() -> None:
    """A tenth of the choices beside its eighth of the rest; it holds 32 experts."""
    bandwidth, peak = reached(GPUS[1])
    above = 8 * (0.9 / 8 + 0.1)

    def rows(cell: str) -> float:
        return number(cell)[0]

    def compute(cell: str) -> float:
        return rows(cell) / 8 * PER_TOKEN * 2 * EXPERT / peak

    def chosen(cell: str, times: float) -> float:
        """Share of its experts that a GPU reads, each drawn by its own chance."""
        return float(1 - (1 - times * PER_TOKEN / EXPERTS) ** rows(cell))

    def read(cell: str) -> float:
        return 32 * EXPERT / bandwidth * chosen(cell, above)

    table = layer_time.hot_table(questions.HOT)
    assert questions.HOT == 0.1 and "10% are drawn" in table.caption
    columns = {
        "equal: read": lambda cell: layer_time.equal_layer_s(8.0, rows(cell))["read"],
        "equal: compute": compute,
        "hot: read": read,
        "hot: compute": lambda cell: above * compute(cell),
        "times as long": lambda cell: (
            max(read(cell), above * compute(cell))
            / max(layer_time.equal_layer_s(8.0, rows(cell))["read"], compute(cell))
        ),
    }
    assert wrong(table, columns) == []
    for row in lines(
        table
    ):  # of equal GPUs the mean reads less, none more than it holds
        least = 32 * EXPERT / bandwidth * chosen(row["tokens in all"], 1.0)
        assert (
            least
            <= number(row["equal: read"])[0] * 1.01
            <= 1.02 * 32 * EXPERT / bandwidth
        )


def test_each_column_of_the_exchanged_bytes() -> None:
    """Of 128 rows of a rank eight choices each, 16 bytes a row."""
    matrix, _ = hot_rank.exchanged(hot_share=0.1, n_rows=1024, top_k=8)
    to = {"rank 0": matrix[:, 0], "another": matrix[:, 1:]}
    share = {"rank 0": 0.9 / 8 + 0.1, "another": 0.9 / 8}
    columns = {
        "counted, mean": lambda name: to[name].mean(),
        "least": lambda name: to[name].min(),
        "most": lambda name: to[name].max(),
        "closed form": lambda name: 128 * 8 * 16 * share[name],
    }
    table = hot_rank.exchanged_table(hot_share=0.1, n_rows=1024, top_k=8)
    assert wrong(table, columns) == []
    for name, closed in share.items():
        assert says(lines(table)[[*to].index(name)]["closed form"], 16384 * closed)
