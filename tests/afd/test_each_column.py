"""Each column of the chapter's tables holds what its heading says, row by row."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd import deployment
from llmserve_lab.afd.page import comparison, inputs, tables
from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.catalog.evidence.deployments import DEPLOYMENTS
from tests.each import agrees, numbers, rows

H100, GPUS, TIGHT, LOOSE = "h100-sxm", 96, 0.05, 0.1


def test_each_column_of_the_best_splits() -> None:
    shown = rows(tables.ratios_table())
    wanted = [*product(comparison.DEVICES, (TIGHT, LOOSE))]
    for row, (gpu, target) in zip(shown, wanted, strict=True):
        assert row["GPU, target"] == f"{ACCELERATORS[gpu].name}, {1e3 * target:.0f} ms"
        best, one = comparison.best(gpu, target), comparison.whole(gpu, target)
        rate, ms = numbers(row["split"])
        assert rate == pytest.approx(best.gpu_tokens_per_s(target), rel=1e-3)
        held = best.n_attn * best.n_batches * best.batch_at(target)  # requests in all
        assert ms == pytest.approx(1e3 * held / GPUS / rate, abs=0.6)
        rate, ms = numbers(row["group"])
        assert rate == pytest.approx(one.gpu_tokens_per_s, rel=1e-3)
        assert ms == pytest.approx(1e3 * one.batch / rate, abs=0.6)
        attn, ffn = map(int, re.findall(r"\d+", row["best"]))
        assert attn + ffn == GPUS and agrees(row["r*"], attn / ffn)
        low, high = map(float, row["r* if off"].split("–"))
        assert low <= float(row["r*"]) <= high


def test_each_column_of_one_layer_in_the_best_splits() -> None:
    """Results go back in two bytes: the busier way is the way back."""
    for row, gpu in zip(rows(tables.layer_table()), comparison.DEVICES, strict=True):
        split = comparison.best(gpu, TIGHT)
        batch = split.batch_at(TIGHT)
        us = {k: 1e6 * float(v) for k, v in split.layer_s(batch).items()}
        assert us["back"] > us["out"]
        want: dict[str, Any] = {
            "GPU": ACCELERATORS[gpu].name, "split": split.name, "B": str(batch),
            "m": str(split.n_batches),
        }  # fmt: skip
        assert {head: row[head] for head in want} == want
        times = {"Attention": us["attn"], "FFN": us["ffn"], "wire": us["wire"],
                 "port, one way": us["back"]}  # fmt: skip
        assert set(row) == {*want, *times, "period"}
        for head, time in times.items():
            assert row[head].endswith(" µs") and agrees(row[head][:-3], time), head
        assert us["wire"] == pytest.approx(us["starts"] + us["out"] + us["back"])


def test_each_column_of_the_measured_groups_and_of_what_a_gpu_holds() -> None:
    known = {f"{float(each.gpu_tokens_per_s):,.0f}": each for each in DEPLOYMENTS}
    for row in rows(comparison.measured_table()):
        record = known[row["measured"]]
        where = row["group and TPOT"].split(", ")
        assert where[-2].startswith(f"{record.n_gpus} {record.accelerator[:4].upper()}")
        assert where[0].split("'")[0] in record.name
    split = comparison.best(H100, TIGHT)
    first, size, room, held, price = rows(tables.instances_table())
    attn, ffn = (each["Attention GPU"] for each in (first, size)), first["FFN GPU"]
    assert next(attn).startswith("attention") and "experts" in ffn
    assert (
        int(numbers(ffn)[0]) * split.n_ffn
        >= 256
        > int(numbers(ffn)[0] - 1) * split.n_ffn
    )
    assert agrees(size["Attention GPU"][:-3], deployment.attn_bytes(H100) / 1e9)
    assert agrees(size["FFN GPU"][:-3], deployment.ffn_bytes(H100, split.n_ffn) / 1e9)
    assert room["Attention GPU"] == room["FFN GPU"] and price["FFN GPU"] == "1"
    mine, fit = numbers(held["Attention GPU"])
    assert (
        mine
        == split.n_batches * split.batch_at(TIGHT)
        < fit
        == deployment.attn_fits(H100)
    )
    assert held["FFN GPU"] == "none"


def test_each_line_of_a_layer_has_its_own_numbers_in_it() -> None:
    """Rates of the twin, bytes over them, and a half's time beside a split's."""
    shown = {row["part"]: row for row in rows(inputs.inputs_table())}
    sides = rows(inputs.sides_table())
    assert [row["µs"] for row in sides] == [
        "attention",
        "FFN",
        "wire, there",
        "wire, back",
    ]
    for one, head in (("split, µs", sides[0].keys() - {"µs", "group, a half"}),
                      ("half, µs", {"group, a half"})):  # fmt: skip
        (column,) = head
        spent = {part: float(row[one]) for part, row in shown.items()}
        start = spent["wire: starts"] / 2
        want = {
            "attention": sum(v for k, v in spent.items() if k.startswith("attention")),
            "FFN": sum(v for k, v in spent.items() if k.startswith("FFN")),
            "wire, there": spent["wire: there"] + start,
            "wire, back": spent["wire: back"] + start,
        }
        for row in sides:
            assert float(row[column]) == pytest.approx(want[row["µs"]], abs=0.16)
    mb, rows_mb, tb, gflop, pflop = numbers(shown["attention: weights"]["from (split)"])
    us = np.hypot((mb + rows_mb) / tb, gflop / pflop)
    assert float(shown["attention: weights"]["split, µs"]) == pytest.approx(
        us, rel=0.01
    )
    n, tokens, kflop, tflop = numbers(shown["attention: caches"]["from (split)"])
    us = n * tokens * kflop / tflop / 1e3
    assert float(shown["attention: caches"]["split, µs"]) == pytest.approx(us, rel=0.01)
    for part in ("attention: small kernels", "FFN: small kernels"):
        n, each, small = numbers(shown[part]["from (split)"])
        us = n * each + small / tb
        assert float(shown[part]["split, µs"]) == pytest.approx(us, rel=0.02)
    mb, _, _, rows_mb, n, mflop = numbers(shown["FFN: experts"]["from (split)"])
    us = np.hypot((mb + rows_mb) / tb, n * mflop / pflop / 1e3)
    assert float(shown["FFN: experts"]["split, µs"]) == pytest.approx(us, rel=0.01)
    n, experts, copies, gb = numbers(shown["wire: there"]["from (split)"])
    assert copies == pytest.approx(n * experts, rel=0.01)
    assert "an Attention GPU" in shown["wire: there"]["from (split)"]
    us = copies * 7168 / gb / 1e3
    assert 1 < float(shown["wire: there"]["split, µs"]) / us < 1.05
    back = float(shown["wire: back"]["split, µs"]) / float(
        shown["wire: there"]["split, µs"]
    )
    assert back == pytest.approx(2, rel=0.05)


def test_each_column_of_a_token_s_time() -> None:
    """A million over a sum is the rate; a group waits for no other kind."""
    shown = {row["µs"]: row for row in rows(tables.account_table())}
    heads = ("group, one batch", "group, two halves", "best split")
    rates = comparison.beside(H100, TIGHT, overlap="free").values()
    for head, rate in zip(heads, rates, strict=True):
        spent = {what: float(row[head]) for what, row in shown.items()}
        total = spent.pop("sum")
        assert total == pytest.approx(1e6 / rate, abs=0.6)
        assert sum(spent.values()) == pytest.approx(total, abs=3)
        assert (spent["waits: other kind"] > 0) == (head == "best split")
    split = comparison.best(H100, TIGHT)
    layer, each = split.layer_s(split.batch_at(TIGHT)), 1e6 / split.batch_at(TIGHT)
    own = {what: float(row["best split"]) for what, row in shown.items()}
    assert own["attention"] == pytest.approx(61 * float(layer["attn"]) * each, abs=0.6)
    ffn = 58 * float(layer["ffn"]) * each / split.ratio
    assert own["FFN"] == pytest.approx(ffn, abs=0.6)
    assert float(shown["waits: network"]["group, one batch"]) == max(
        float(shown[what]["group, one batch"]) for what in tables.SPENT
    )
