"""Numbers that code cells print of longer simulations, counted from their requests.

The engine is run as the page says; how many keep a promise, how long the gaps are and
how far off a prediction is are then counted request by request, or row by row.
"""

import math
import re

import pytest

from llmserve_lab import catalog
from llmserve_lab.disaggregation import goodput
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    Pool,
    Report,
    simulate,
)
from llmserve_lab.running_example import cost
from llmserve_lab.symptoms.served import backlog, server
from llmserve_lab.validation import Predictor, dense_rows, left_out
from llmserve_lab.workloads import Geometric
from tests.page.records import ROOT, notebook_of
from tests.page.test_printed_runs import read, says


def test_no_server_answers_more_than_arrives_nor_well_more_than_it_answers() -> None:
    static, continuous = (
        [value for value, _ in read("continuous_batching", f"{name}: # per s, good #")]
        for name in ("Static", "Continuous")
    )
    assert all(good <= every <= 3.0 for every, good in (static, continuous))
    assert static[1] < 0.2 * static[0] and continuous[1] > 0.99 * continuous[0]


def deployment(name: str) -> Pool | Disaggregated:
    """Four H100s as the chapter's cell names them."""
    if name == "2P:2D":
        return Disaggregated.over(
            catalog.link("infiniband-ndr"),
            prefill=Pool(cost(), Chunked(8192), replicas=2),
            decode=Pool(cost(), Continuous(), replicas=2),
            streamed=True,
            eff_link=0.566,
        )
    budget = int(name.removeprefix("budget ").replace(",", ""))
    machine = cost() if budget > 512 else goodput.replayed(cost())
    return Pool(machine, Chunked(budget), replicas=4)


def kept(report: Report) -> float:
    """Share of requests with a first token in 0.5 s and the others in 15 ms each."""
    good = 0
    every = zip(
        report.first_token_s - report.arrival_s,
        report.last_token_s - report.first_token_s,
        report.output_len,
        strict=True,
    )
    for first_s, rest_s, answer in every:
        tpot_s = rest_s / (answer - 1) if answer > 1 else 0.0
        good += first_s <= 0.5 and tpot_s <= 0.015
    return good / report.num_requests


def exceeded_s(report: Report, share: float) -> float:
    """What this share of all gaps exceed: an iteration is one for each row of decode.

    The steps of a record differ little and are taken as alike.
    """
    assert report.log is not None
    steps = sorted(
        ((each.end_s - each.start_s) / each.count, each.count * each.decode_rows)
        for each in report.log.steps
    )
    left = share * sum(many for _, many in steps)
    while left > 0:
        lasts_s, many = steps.pop()
        left -= many
    return lasts_s


@pytest.mark.parametrize(
    "name",
    [
        "budget 8,192",
        pytest.param("budget 512", marks=pytest.mark.long),
        pytest.param("2P:2D", marks=pytest.mark.long),
    ],
)
def test_a_share_keeps_both_limits_and_one_gap_in_a_hundred_is_longer(
    name: str,
) -> None:
    """No other percentile of the run is as long as that of the gaps."""
    asked = goodput.asked(goodput.LOADS[0], per_s=50, seconds=60)
    report = simulate(asked, deployment(name), log=True)
    words = f"{name}: # keep both limits; P99 of gaps # ms"
    (share, off), (gap_ms, half) = read("disaggregation", words)
    assert abs(share - kept(report)) <= off
    assert gap_ms == pytest.approx(1e3 * exceeded_s(report, 0.01), abs=half + 0.2)


def test_small_budgets_and_two_pools_keep_gaps_short() -> None:
    large, small, pools = (
        [
            value
            for value, _ in read("disaggregation", f"{name}: # keep both … gaps # ms")
        ]
        for name in ("budget 8,192", "budget 512", "2P:2D")
    )
    assert large[0] < small[0] <= pools[0] <= 1
    assert large[1] > small[1] > pools[1]


def test_gpus_over_whole_ones_are_the_shares_that_the_answer_names() -> None:
    words = "# that prefill, # that decode # with one engine on each"
    wanted = [value for value, _ in read("disaggregation", words)]
    cells = notebook_of(ROOT / "chapters/disaggregation.ipynb")["cells"]
    prose = " ".join("".join(each["source"]) for each in cells)
    busy = [
        float(found[1])
        for name in ("full_pre", "full_dec", "full_one")
        if (found := re.search(rf"\[(\d+)%\]\(#num-{name}\)", prose))
    ]
    shares = [100 * gpus / math.ceil(gpus) for gpus in wanted]
    assert busy == pytest.approx(shares, abs=0.7)


@pytest.mark.long
def test_gauges_of_a_server_are_counted_from_its_requests_and_steps() -> None:
    requests = backlog(many=16 * 256, seed=0, answer=Geometric(2000))
    report = simulate(requests, server(Chunked(2048, 1024)), clients=256, log=True)
    gaps = sorted(float(gap) for gap in report.worst_gap_s)
    worst_s = gaps[int(0.9 * len(gaps))]
    again = float(report.preemptions.sum()) / len(requests)
    assert report.log is not None
    most = max(step.load.rows for step in report.log.steps)
    taken = max(step.used_blocks / step.num_blocks for step in report.log.steps)
    words = "worst_gap: # preemptions: # iteration_tokens: # kv_peak: #"
    assert says("symptoms", words, worst_s, again, most, taken, slack=2e-3)


@pytest.mark.long
@pytest.mark.parametrize("by", ["model", "engine"])
def test_errors_of_what_was_left_out_are_those_of_its_rows(by: str) -> None:
    rows = Predictor(dense_rows()[::16])
    predicted = left_out(rows, by).tpot
    errors = [
        float(made) / row.tpot_s - 1
        for made, row in zip(predicted, dense_rows()[::16], strict=True)
    ]
    mean = sum(map(abs, errors)) / len(errors)
    bias = sum(errors) / len(errors)
    assert says("how_wrong", f"{by} left out: # mean, # bias", mean, bias)


def test_engines_differ_more_than_models() -> None:
    model, engine = (
        read("how_wrong", f"{by} left out: # mean, # bias")
        for by in ("model", "engine")
    )
    for (mean, _), (bias, _) in (model, engine):
        assert abs(bias) < mean < 0.15
    assert model[0] < engine[0]
