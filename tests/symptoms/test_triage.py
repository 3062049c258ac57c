"""The decision tree walked with runs, and the alerts read from buckets alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.symptoms import triage
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.page import promql, tree
from llmserve_lab.symptoms.page.boards import PAIR
from llmserve_lab.symptoms.prometheus import (
    ALERTS,
    BLIND,
    ITL,
    TOKENS,
    Buckets,
    Increase,
    Scrape,
)
from llmserve_lab.symptoms.served import WatchedRun

STORM, GAPS, LONG = ALERTS


def test_every_leaf_is_drawn_and_leads_to_a_heading() -> None:
    html = tree.first_measurement()._repr_html_()
    for leaf in triage.leaves():
        assert leaf.cause in html and leaf.remedy in html
    cells = json.loads(Path("chapters/symptoms.ipynb").read_text("utf8"))["cells"]
    heads = [line for c in cells for line in c["source"] if line.startswith("## ")]
    slugs = {re.sub("[^a-z]+", "-", each[3:].lower()).strip("-") for each in heads}
    assert set(re.findall(r'<a href="#([-a-z]+)">', html)) <= slugs


def test_two_alerts_tell_the_two_servers_apart() -> None:
    storm, book = (promql.scraped("pauses", c) for c in PAIR.values())
    assert GAPS.fires(storm) and GAPS.fires(book)
    assert STORM.fires(storm) and not STORM.fires(book)
    assert LONG.fires(book)
    assert BLIND.value(book) < BLIND.value(storm) * 2 < 8192, "the P99 sees nothing"


def test_the_alert_on_gaps_is_silent_after_the_remedy_and_that_on_tokens_is_not() -> (
    None
):
    """A prompt is booked whole at its first token, also if it was read in chunks."""
    of = case("pauses")
    for cause, name in zip(of.causes, ("smaller chunks", "fewer slots"), strict=True):
        run = cause.remedy(name).change(cause.setup(0))
        assert isinstance(run, WatchedRun)
        assert not GAPS.fires(Scrape.of(run.report()))
        assert LONG.fires(Scrape.of(run.report())), name
    healthy = of.healthy(0)
    assert isinstance(healthy, WatchedRun)
    assert not any(each.fires(Scrape.of(healthy.report())) for each in ALERTS)


def test_iterations_and_gaps_are_those_of_the_run() -> None:
    run = case("pauses").causes[0].setup(0)
    assert isinstance(run, WatchedRun)
    report = run.report()
    seen, log = Scrape.of(report), report.log
    assert log is not None
    assert seen.histograms[TOKENS].counts[-1] == sum(s.count for s in log)
    assert seen.histograms[ITL].counts[-1] == report.output_len.sum() - len(report.id)
    assert run.observe()["long_gaps"] == pytest.approx(GAPS.query.value(seen))


@given(st.lists(st.floats(0.001, 90), min_size=1, max_size=60), st.floats(0.01, 1))
def test_a_quantile_lies_in_the_bucket_that_holds_it(
    values: list[float], q: float
) -> None:
    bounds = (0.5, 1.0, 5.0, 20.0)
    found = Buckets.of(values, [1.0] * len(values), bounds).quantile(q)
    exact = float(np.quantile(values, q, method="inverted_cdf"))
    upper = next((b for b in bounds if exact <= b), None)
    if upper is None:
        assert found == bounds[-1]
    else:
        lower = max((b for b in (0.0, *bounds) if b < upper), default=0.0)
        assert lower - 1e-9 <= found <= upper + 1e-9


def test_what_prometheus_cannot_answer() -> None:
    seen = promql.scraped("pauses", "preemption")
    with pytest.raises(ValueError, match="le must be one of"):
        Increase(ITL, 0.6).value(seen)
    assert np.isnan(Buckets.of([], [], (1.0,)).quantile(0.5))
    assert 'le="8192.0"' in LONG.text and "by (instance, engine)" in STORM.text
