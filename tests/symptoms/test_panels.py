"""A row of a dashboard's panel is called by what it shows, in words and in vLLM's name.

Two rows could change their numbers, and every run would still be shown in full.
"""

from __future__ import annotations

import re

import pytest

from llmserve_lab.page.live.wording import stems, told_apart
from llmserve_lab.symptoms.case import watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import METRICS
from llmserve_lab.symptoms.page import boards, promql
from llmserve_lab.symptoms.served import WatchedRun

# What a vLLM name abbreviates, and what a signal's name does.
SPELLED = {
    "ttft": "time to first token",
    "itl": "inter token latency",
    "kv": "cache",
    "tbt": "inter token latency",
    "perc": "share",
    "hits": "found",
    "hit": "found",
    "p50": "half",
    "p99": "most",
    "generation": "written",
}


def spelled(text: str) -> frozenset[str]:
    """Words of a text, abbreviations spelled out."""
    words = re.findall(r"[a-z0-9]+", text.lower().replace("_", " "))
    return stems(" ".join(SPELLED.get(word, word) for word in words))


def told(parts: tuple[str, ...]) -> frozenset[str]:
    """Words of what a row shows: of its signals, and of their metrics."""
    known = (METRICS[each].words for each in parts if each in METRICS)
    return spelled(" ".join([*parts, *known]))


ROWS = {name: told(parts) for name, parts in boards.PANEL.items()}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_shares_a_word_with_what_it_shows(name: str) -> None:
    assert spelled(name) & ROWS[name]


def test_no_two_rows_could_change_what_they_show() -> None:
    told_apart([(" ".join(spelled(name)), words) for name, words in ROWS.items()])


KINDS = {  # how a metric of a kind is asked, and how its name ends
    "gauge": r"^max_over_time\(vllm:\w+\[",
    "histogram": r"_bucket\[|_sum\[",
    "counter": r"rate\(vllm:\w+_total\[",
}
QUERIES = {
    name: (kind, query)
    for name, kind, query in (map(str, row) for row in promql.panels().rows)
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_asks_for_what_its_row_is_called(name: str) -> None:
    """Its kind, its words, and how many of a hundred lie below a quantile."""
    kind, query = QUERIES[name]
    assert [each for each, form in KINDS.items() if re.search(form, query)] == [kind]
    quantiles = [100 * float(q) for q in re.findall(r"_quantile\(([\d.]+),", query)]
    assert quantiles == [float(q) for q in re.findall(r"\bP(\d+)\b", name)]
    (asked, *_), words = re.split(r", P\d+$", name), spelled(query)
    assert spelled(asked) & words
    if quantiles:
        assert spelled(asked) <= words
    told_apart([(" ".join(spelled(each)), spelled(q)) for each, q in plain().items()])


def plain() -> dict[str, str]:
    """Queries of the rows, one of each metric."""
    return {n: q for n, (_, q) in QUERIES.items() if not n.endswith("P99")}


@pytest.mark.parametrize("cause", boards.PAIR.values())
def test_the_most_that_ran_or_waited_is_what_the_log_has(cause: str) -> None:
    """The gauges are looked at now and then, so they may miss a moment, and no more."""
    of = case("pauses")
    run = of.cause(cause).setup(0)
    assert isinstance(run, WatchedRun)
    log = run.report().log
    assert log is not None
    ran = max(each.decode_rows + len(each.chunks) for each in log)
    waited = max(each.waiting for each in log)
    shown = boards.panel(watched(of, cause))
    running, waiting = (
        float(shown[f"requests {x}, most"]) for x in ("running", "waiting")
    )
    assert 0.9 * ran < running <= ran
    assert 0 < waiting <= waited < ran
