"""Each column of the tables is worked out once more from what its heading says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence import disaggregated as measured
from llmserve_lab.catalog.evidence.tiers import TIERS
from llmserve_lab.disaggregation import (
    capacity_sim,
    goodput,
    published,
    tiers,
    topologies,
)
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.disaggregation.record import recorded
from llmserve_lab.engine import IterationLoad
from llmserve_lab.formula.text import off_by, si
from llmserve_lab.running_example import cost, share
from tests.page import drawn
from tests.page.cells import lines, number, says, wrong

GPUS = 4
LINK = float(share().link)


def each_s(together: float) -> float:
    """Seconds of each of the prompts that one iteration reads."""
    one = IterationLoad.of(chunk=1000)
    return cost().seconds(one.times(int(together))) / together


def decode_s(promise_s: float) -> float:
    """GPU-seconds of an answer under a promise: what is left of the best split."""
    best = float(worked.usual(f.BEST_POOLS_RATE, promise_s))
    return GPUS / best - each_s(1)


def split(prefills: int, promise_s: float, together: float = 1) -> float:
    """Requests a second of a split into whole GPUs: the slower pool's."""
    return min(prefills / each_s(together), (GPUS - prefills) / decode_s(promise_s))


def promised(cell: str) -> float:
    return number(cell)[0]


def test_each_row_of_the_batch_is_held_by_what_the_engine_spends_longest_on() -> None:
    """One request more and the step is too long, or memory is full."""
    machine = cost()
    for row in lines(published.batch_table()):
        limit_s = promised(row["promised TPOT"])
        prompt = int(row["prompt"].replace(",", ""))
        one = IterationLoad.of(chunk=1, context=prompt + 100)  # half of its answer
        most = {
            name: number(row[name])[0] for name in ("reading", "computing", "memory")
        }
        if not min(most.values()):
            assert row["batch"] == "promise cannot be kept"
            assert machine.seconds(one) > limit_s
            continue
        batch, held = row["batch"].split(", ")
        assert int(batch) == min(most.values()) == most[held]
        if held != "memory":
            few, more = (one.times(n) for n in (int(batch), int(batch) + 1))
            assert machine.seconds(few) <= limit_s * 1.001
            assert machine.seconds(more) > limit_s * 0.999
            read = machine.weights_s + few.kv_tokens * machine.kv_token_s
            assert (read > machine.compute_s(few)) == (held == "reading")


def test_each_column_of_prompts_read_together() -> None:
    promises = (0.015, 0.05)
    for row in lines(published.together_table()):
        k = float(row["prompts together"])
        assert says(row["time of each"], each_s(k))
        want = {
            "2P:2D": [split(2, s, k) for s in promises],
            "best split": [GPUS / (each_s(k) + decode_s(s)) for s in promises],
            "one engine, as many ride": [worked.shared_rate(s, k) for s in promises],
        }
        assert {*row} == {"prompts together", "time of each", *want}
        for head, rates in want.items():
            cells = row[head].split(", ")
            right = [says(c, r) for c, r in zip(cells, rates, strict=True)]
            assert right == [True, True], (head, cells, rates)
    assert "15 ms and 50 ms" in published.together_table().caption


def test_each_column_of_whole_and_divided_splits() -> None:
    columns = {
        "one engine": lambda s: worked.shared_rate(promised(s), 1),
        "whole GPUs": lambda s: max(split(x, promised(s)) for x in (1, 2, 3)),
        "best split": lambda s: GPUS / (each_s(1) + decode_s(promised(s))),
    }
    assert wrong(published.even_table(), columns) == []
    for row in lines(published.even_table()):
        (x, y) = map(int, re.findall(r"\((\d)P:(\d)D\)", row["whole GPUs"])[0])
        assert x + y == GPUS and says(
            row["whole GPUs"], split(x, promised(row["promised TPOT"]))
        )


def served(load: goodput.Demand, name: str, hand: str, limit_s: float) -> float:
    """The rate up to which a deployment keeps the mean gap, from the stored points."""
    rows = goodput.points(load, name, hand)
    shares = tuple(row["mean gap", limit_s] for row in rows.values())
    return goodput.rate_kept(tuple(rows), shares)


def test_each_column_of_the_simulated_goodput() -> None:
    """Of two pools from the worse hand-over to the better, each with its best split."""
    wire, late = goodput.HANDS
    loads = {load.prompt: load for load in goodput.LOADS}
    for row in lines(published.goodput_table()):
        load = loads[int(row["prompt"].replace(",", ""))]
        limit_s = float(row["TPOT in ms"]) / 1e3
        one = {
            head: served(load, name, wire, limit_s)
            for head, name in (
                ("8,192", "8,192"),
                ("512, replayed", "512, 0"),
                ("512, one by one", "512, 1"),
            )
        }
        ends = sorted(
            max(served(load, f"{x}P:{GPUS - x}D", hand, limit_s) for x in (1, 2, 3))
            for hand in (wire, late)
        )
        for head, rate in one.items():
            assert says(row[head], rate), row
        pools = row["two pools"].split("–")
        assert [f"{end:.1f}" for end in ends] == pools
        for head, small in (("lead [1]", "replayed"), ("if one by one", "one by one")):
            best = max(float(row["8,192"]), float(row[f"512, {small}"]))
            assert row[head] == off_by(float(pools[0]) / best - 1), (row, head)
        assert len(row) == 8
    assert "worse hand-over" in published.goodput_table().notes[0]


def test_each_column_of_the_backlog() -> None:
    stored = recorded()["backlog"]

    def key(cell: str) -> str:
        return f"{1e3 * promised(cell):g}"

    columns = {
        "one engine: [shared_rate](#eq-shared_rate)": lambda s: worked.shared_rate(
            promised(s), 1
        ),
        "simulated": lambda s: stored[key(s)][0],
        "2P:2D, 1 prompt: [pools_rate](#eq-pools_rate)": lambda s: split(
            2, promised(s)
        ),
        "simulated #2": lambda s: stored[key(s)][1],
        "2P:2D, 4 prompts": lambda s: split(2, promised(s), 4),
        "simulated #3": lambda s: stored[key(s)][2],
    }
    assert wrong(capacity_sim.rates_table(), columns) == []


def test_each_column_of_the_measured_servers() -> None:
    """Two pools have the shorter gap, the later first token, and keep more."""
    ways = {"two pools": measured.APART, "co-located": measured.TOGETHER}
    report = published.replayed()
    columns = {
        "gap, measured": lambda way: float(ways[way].gap_s),
        "mean, simulated": lambda way: (
            "given" if way == "two pools" else float(np.median(report.tpot_s))
        ),
        "P99, simulated": lambda way: (
            "given" if way == "two pools" else report.percentile("tbt", 99)
        ),
        "median TTFT": lambda way: float(ways[way].ttft_s),
        "kept both limits": lambda way: f"{float(ways[way].within):.0f} of 100",
    }
    assert wrong(published.servers_table(), columns) == []
    assert (
        "co-located" in measured.TOGETHER.name and "one prefill" in measured.APART.name
    )


@pytest.mark.parametrize("key", ["llama-3.1-8b", "qwen3-32b"])
def test_each_column_of_the_tiers(key: str) -> None:
    model, gpu = catalog.model(key), running_example.device()
    token = model.kv_bytes_per_token(2)
    at = {tier.name: tier for tier in TIERS}
    machine = running_example.served_by(model, gpu)
    read_s = machine.seconds(IterationLoad.of(chunk=8000))
    shares = list[float]()
    for row in lines(tiers.table(model, gpu, prefix_len=8000)):
        shares.append(number(row["tokens"])[0])
        name = row["found in"]
        if name == "nowhere":
            assert [*row.values()].count("") == 3
            continue
        room = 0.9 * float(gpu.usable_bytes) - model.weight_bytes()
        size = room if name == "HBM" else float(at[name].bytes)
        assert number(row["holds"])[0] == pytest.approx(size, rel=0.02)
        if name == "HBM":
            assert row["fetched at"] == "used in place"
            continue
        rate = float(at[name].bandwidth) * LINK
        assert says(row["fetched at"], rate)
        gain = number(row["fetching beside computing"])[0]
        assert gain == pytest.approx(read_s / (8000 * token / rate), rel=0.04)
    assert sum(shares) == pytest.approx(1, abs=0.0021)


def test_each_column_of_the_links() -> None:
    """What a link that is fast enough leaves over is the last of 32 layers."""
    links = {link.name: link for link in catalog.LINKS.values()}

    def reached(name: str) -> float:
        return float(links[name].bandwidth) * LINK

    def sent_s(name: str, tokens: int) -> float:
        return tokens * 131_072 / reached(name)

    columns = {
        "reached": reached,
        "1,000 tokens": lambda name: sent_s(name, 1000),
        "8,000 tokens": lambda name: sent_s(name, 8000),
        "left over of 8,000 tokens": lambda name: sent_s(name, 8000) / 32,
    }
    assert wrong(published.fabrics_table(1000, 8000), columns) == []
    slowest = min(
        map(reached, (row["link"] for row in lines(published.fabrics_table(1))))
    )
    assert cost().seconds(IterationLoad.of(chunk=8000)) > 8000 * 131_072 / slowest


def kept(report: Any) -> float:
    mean = np.zeros(report.num_requests)
    mean[report.output_len > 1] = report.tpot_s
    return float(np.mean((report.ttft_s <= 0.5) & (mean <= 0.015)))


def test_each_column_of_the_three_deployments() -> None:
    reports = topologies.example()
    columns = {
        "TTFT p50": lambda way: si(float(np.percentile(reports[way].ttft_s, 50)), "s"),
        "TTFT p99": lambda way: si(float(np.percentile(reports[way].ttft_s, 99)), "s"),
        "gap p50": lambda way: si(reports[way].percentile("tbt", 50), "s"),
        "gap p99": lambda way: si(reports[way].percentile("tbt", 99), "s"),
        "longest": lambda way: si(float(reports[way].worst_gap_s.max()), "s"),
        "kept [1]": lambda way: f"{kept(reports[way]):.0%}",
    }
    table = topologies.table(reports)
    assert wrong(table, columns) == []
    assert "first token in 500 ms and a TPOT of 15 ms" in table.notes[0]


def test_each_line_of_the_distributions_is_the_deployment_that_it_is_called() -> None:
    """Half of all first tokens, or of all gaps, come later than where it is a half."""
    reports = topologies.example()
    panels = drawn.panels(lambda: topologies._drawn.__wrapped__(*reports.items()))
    metrics = {"first token (ms)": "ttft", "gap (ms)": "tbt"}
    assert [panel.get_xlabel() for panel in panels] == [*metrics]
    for panel in panels:
        metric: Any = metrics[panel.get_xlabel()]
        assert {line.get_label() for line in panel.lines} == {*reports}
        for line in panel.lines:
            times, shares = line.get_xdata(), line.get_ydata()
            report = reports[line.get_label()]
            for at in (3, 20, 40):
                want = 1e3 * report.percentile(metric, 100 * (1 - shares[at]))
                assert times[at] == pytest.approx(want)
    said = topologies.distributions(reports).sentence
    for name, first, gap in re.findall(
        r"([^:;]+): p99 of TTFT ([\d.]+ m?s), of gaps ([\d.]+ m?s)", said
    ):
        report = reports[name.strip()]
        assert says(first, report.percentile("ttft", 99))
        assert says(gap, report.percentile("tbt", 99))


def test_each_part_of_a_prompt_is_what_the_engine_charges_for_it() -> None:
    machine, load = cost(), IterationLoad.of(chunk=1000)
    parts = {
        "linear": load.rows * machine.row_s,
        "pairs": load.pairs * machine.pair_s,
        "weights": (1 - machine.overlap) * machine.weights_s,
        "launch": machine.overhead_s + machine.prompt_s + machine.request_s,
    }
    whole = machine.seconds(load)
    assert worked.prefill_parts() == pytest.approx(parts | {"sum": whole}, rel=1e-3)
