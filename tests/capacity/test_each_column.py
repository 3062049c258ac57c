"""Each column of the chapter's tables holds what its heading says, row by row."""

from itertools import product
from math import ceil

import pytest

from llmserve_lab import catalog
from llmserve_lab.capacity import (
    by_hand,
    datasheet,
    day,
    headroom,
    levers,
    measured,
    mlperf,
    pools,
    tables,
    triangle,
)
from llmserve_lab.capacity.record import recorded
from llmserve_lab.catalog.data import prices
from tests.each import agree, agrees, numbers, rows, stored


def test_each_column_of_prices_and_gpus_is_that_of_the_catalog() -> None:
    for row, (key, price) in zip(
        rows(tables.gpus()), prices.HOURLY.items(), strict=True
    ):
        gpu = catalog.accelerator(key)
        want = {
            "sold as, GB": float(gpu.hbm_bytes) / 1e9,
            "found, GiB": float(gpu.usable_bytes or gpu.hbm_bytes) / 2**30,
            "TB/s": float(gpu.hbm_bw) / 1e12,
            "TFLOP/s, 16 bits": float(gpu.peak_flops["bf16"]) / 1e12,
            "$/hour": float(price),
        }
        assert set(row) == {"GPU", *want, "as of"} and gpu.name.startswith(row["GPU"])
        assert agree([row[head] for head in want], [*want.values()]), row
        assert row["as of"] in price.source
    cited = [*prices.HOURLY.values(), prices.H100_SUMMER, prices.H100_OCTOBER,
             prices.H100_CHEAPEST, prices.H100_DEAREST]  # fmt: skip
    for row, price in zip(rows(tables.prices()), cited, strict=True):
        assert numbers(row["price"])[0] == float(price)
        assert (row["source"], row["offer"]) == (price.source, price.note)


def test_each_column_of_the_cost_of_tokens() -> None:
    """Input and output of a request, and idle time, make up what a request costs."""
    load = triangle.LOADS[0]
    for row in stored("capacity", "Dollars for a million: Llama"):
        if not row["load, or list"][0].isdigit():
            listed = [1e6 * float(p) for p in prices.API_PRICES[row["load, or list"]]]
            assert agree([row["input"], row["output"]], listed)
            continue
        (rate,) = numbers(row["load, or list"])[:1]
        asked, told, whole = (
            numbers(row[h])[0] for h in ("input", "output", "request")
        )
        usd = float(prices.HOURLY["h100-sxm"]) / 3600 / rate * 1e6
        assert agrees(row["request"], usd)
        idle = numbers(row["idle"])[0] / 100
        parts = asked * load.prompt + told * load.answer
        assert parts == pytest.approx((1 - idle) * whole, rel=0.02)


def test_each_column_of_pools_of_the_search_and_of_waits() -> None:
    for row, mix in zip(
        stored("capacity", "Goodput of pools"), pools.MIXES, strict=True
    ):
        sides = (
            ("prefill", mix.n_prefill, mix.prefill),
            ("decode", mix.n_decode, mix.decode),
        )
        hourly = 0.0
        for head, many, key in sides:
            if key:
                assert row[head] == f"{many} {tables.short(key)}"
                hourly += many * float(prices.HOURLY[key])
            else:
                assert row[head] == "the same"
        assert agrees(row["$/hour"], hourly)
    asked = [*product((0.0, 1.0), tables.WAITS)]
    for row, (spread, busy) in zip(stored("capacity", "Mean wait"), asked, strict=True):
        sizes = [500 if spread else 1000] * 3 + [2500 if spread else 1000]
        mean, square = sum(sizes) / 4 * 2e-5, sum(s * s for s in sizes) / 4 * 4e-10
        assert ("M/G/1" in row["prompts"]) == bool(spread)
        assert numbers(row["busy"])[0] == pytest.approx(100 * busy, abs=1)
        wait = busy / mean * square / 2 / (1 - busy)
        assert numbers(row["closed form"])[0] == pytest.approx(1e3 * wait, rel=0.06)


def test_each_column_of_the_measured_runs() -> None:
    """Times as they were recorded; dollars from clients over the time of an answer."""
    heads = (
        "clients",
        "TTFT",
        "engine",
        "TPOT",
        "engine 4",
        "dollars",
        "engine 6",
        "error",
    )
    for row, run in zip(
        stored("capacity", "Measured, and beside it"), measured.rows(), strict=True
    ):
        assert tuple(row) == heads and int(row["clients"]) == run.clients
        assert agree([row["TTFT"], row["TPOT"]], [1e3 * run.ttft_s, 1e3 * run.tpot_s])
        answer_s = run.ttft_s + run.tpot_s * (run.output_len - 1)
        usd = float(prices.HOURLY["h100-sxm"]) / 3600 * answer_s / run.clients * 1e6
        assert float(row["dollars"]) == pytest.approx(usd, rel=5e-3)
        ttft, tpot, ours = (
            numbers(row[h])[0] for h in ("engine", "engine 4", "engine 6")
        )
        assert ttft < float(row["TTFT"]) and tpot > float(row["TPOT"])
        made = (ttft + tpot * (run.output_len - 1)) / 1e3 / run.clients
        assert ours == pytest.approx(made * 1e6 * 3.99 / 3600, rel=0.03)


def test_each_column_of_the_sum_by_hand() -> None:
    """What a fixed part leaves of a second, over the rest; GPUs are whole."""
    shown = rows(by_hand.table(day.HIGHEST))
    bills = [float(row["$/hour"]) for row in shown]
    assert bills == sorted(bills) and len(shown) == len(triangle.DEVICES)
    keys = {tables.short(key): key for key in triangle.DEVICES}
    for row in shown:
        key, cost = keys[row["GPU"]], pools.cost_of(keys[row["GPU"]])
        fixed, prompt, answer = (
            float(row[f"{h}, ms"]) for h in ("fixed", "prompt", "answer")
        )
        assert agrees(row["fixed, ms"], 1e3 * (cost.overhead_s + cost.weights_s))
        rate = float(row["mean, /s"])
        assert rate == pytest.approx(
            (1 - fixed / 20) / (prompt + answer) * 1e3, rel=0.02
        )
        bill = int(row["GPUs"]) * float(by_hand.ONE_MONTH[key])
        assert float(row["$/hour"]) == pytest.approx(bill)
        over = recorded()["levers"]["p90 over mean"][key]
        assert agrees(row["over mean"], over)
        most = (1 - fixed * over / 20) / (prompt + answer) * 1e3
        assert float(row["p90, /s"]) == pytest.approx(most, rel=0.02)
        assert int(row["GPUs"]) == ceil(day.HIGHEST / float(row["p90, /s"]))
        found = triangle.goodput(triangle.points(device=key), 0.5, 0.02)
        assert agrees(row["engine, /s"], found)


def test_each_column_of_the_price_with_and_without_the_launches_of_prompts() -> None:
    shown = rows(levers.table(day.HIGHEST))
    keys = {tables.short(key): key for key in triangle.DEVICES}
    assert {row["GPU"] for row in shown} == {*keys}
    for row in shown:
        key = keys[row["GPU"]]
        assert agrees(row["waits, /s"], recorded()["own"]["waits"][key])
        assert agrees(row["hidden, /s"], recorded()["own"]["hidden"][key])
        for head, gpus, usd in (
            ("waits, /s", "GPUs", "$/hour"),
            ("hidden, /s", "so GPUs", "so $"),
        ):
            assert int(row[gpus]) == ceil(day.HIGHEST / float(row[head])) + 1  # a spare
            bill = int(row[gpus]) * float(by_hand.ONE_MONTH[key])
            assert float(row[usd]) == pytest.approx(bill)
    bills = [float(row["$/hour"]) for row in shown]
    assert bills == sorted(bills)


def test_parts_of_a_time_give_another_gpu_s_times_by_two_datasheets() -> None:
    """Arithmetic by TFLOP/s and memory by TB/s; what is left is the CPU's."""
    parts = rows(datasheet.table())
    own, other = (catalog.accelerator(k) for k in ("h100-sxm", "a100-80-sxm"))
    by = {
        "arithmetic": float(own.peak("bf16")) / float(other.peak("bf16")),
        "memory": float(own.hbm_bw) / float(other.hbm_bw),
        "CPU": 1.0,
    }
    hand = {row["GPU"]: row for row in rows(by_hand.table(day.HIGHEST))}
    for row, head in zip(parts, ("fixed", "prompt", "answer"), strict=True):
        assert row["H100, ms"].startswith(head)
        cells = {name: (numbers(row[name]) or [0.0])[0] for name in by}
        together = sum(cells.values())
        assert float(row["together"]) == pytest.approx(together, abs=0.016)
        assert together == pytest.approx(float(hand["H100"][f"{head}, ms"]), abs=0.06)
        there = sum(by[name] * cell for name, cell in cells.items())
        assert there == pytest.approx(float(hand["A100"][f"{head}, ms"]), rel=0.01)


def test_each_column_of_headroom_is_what_was_recorded_for_it() -> None:
    for row, tried, draws in zip(rows(headroom.table()), headroom.TRIED,
                                 recorded()["headroom"], strict=True):  # fmt: skip
        asked = [
            numbers(row[h])[0]
            for h in ("cold start", "target", "at least", "signal's age")
        ]
        assert tuple(asked) == tried and row["cold start"].endswith(" s")
        late = sorted(100 * (1 - kept) for kept, _ in draws)
        assert numbers(row["late"]) == pytest.approx([late[0], late[-1]], abs=0.051)
        hours = sum(hours for _, hours in draws) / len(draws)
        assert agrees(row["GPU-hours"], hours)


def test_each_row_of_the_run_under_random_arrivals() -> None:
    """Rates have the measured rate beside them; the last row has times."""
    plain, large, same, tpot = rows(mlperf.table())
    for row, rate in ((plain, mlperf.goodput()), (large, mlperf.goodput(large=True)),
                      (same, mlperf.rate_at_tpot())):  # fmt: skip
        assert numbers(row["measured"]) == [mlperf.MEASURED.per_s]
        assert agrees(row["engine"], rate) and "requests/s" in plain["what"]
    assert "larger steps" in large["what"] and mlperf.goodput() < mlperf.goodput(
        large=True
    )
    assert numbers(same["what"])[-1] == float(tpot["measured"])
    assert tpot["what"].endswith("ms")
    assert agrees(tpot["measured"], 1e3 * mlperf.MEASURED.tpot_s)
    assert agrees(tpot["engine"], 1e3 * mlperf.engine().tpot_s)
