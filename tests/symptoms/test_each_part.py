"""Each part of the chapter's pictures and tables is what it is called."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from typing import Any

import numpy as np
import pytest

from llmserve_lab.engine import Report
from llmserve_lab.symptoms import measured
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.page import boards, figures, promql, tree
from llmserve_lab.symptoms.served import WatchedRun
from llmserve_lab.symptoms.triage import Branch, Leaf
from llmserve_lab.validation import dense_rows
from tests.each import agrees, numbers, rows, stored
from tests.page import drawn, seen
from tests.page.records import CHAPTERS
from tests.page.test_recomputed import compared


@cache
def report(key: str, cause: str) -> Report:
    """The run of a cause, or of a healthy server."""
    of = case(key)
    run = of.cause(cause).setup(0) if cause else of.healthy(0)
    assert isinstance(run, WatchedRun)
    return run.report()


def gaps(of: Report) -> np.ndarray[Any, Any]:
    gap, many = of.gaps.values()
    return np.repeat(np.asarray(gap, float), np.asarray(many, int))


def steps_of(of: Report) -> Any:
    assert of.log is not None
    return of.log


PANEL: dict[str, Callable[[Report], list[float]]] = {
    "requests running, most": lambda r: [
        max(s.decode_rows + len(s.chunks) for s in steps_of(r))
    ],
    "KV cache in use, most": lambda r: [
        100 * max(s.used_blocks / s.num_blocks for s in steps_of(r))
    ],
    "preemptions per request": lambda r: [r.num_preemptions / r.num_requests],
    "TTFT, P50 / P99": lambda r: [*np.percentile(r.ttft_s, [50, 99])],
    "queue time, share of TTFT": lambda r: [100 * r.queue_s.sum() / r.ttft_s.sum()],
    "ITL, P50 / P99": lambda r: [*np.percentile(gaps(r), [50, 99])],
    "gaps > 0.5 s/request": lambda r: [(gaps(r) > 0.5).sum() / r.num_requests],
}
UNITS = {"ms": 1e-3, "s": 1.0}


def values(cell: str) -> list[float]:
    """Numbers of a cell, times in seconds."""
    found = []
    for part in cell.split(" / "):
        (number,) = numbers(part)
        found.append(number * UNITS.get(part.split()[-1], 1.0))
    return found


def close(panel: str, cell: str, want: list[float]) -> bool:
    """Whether a cell prints it; a gauge is looked at now and then and may miss one."""
    last = 0.51 if "%" in cell else 0.0051 if "per" in panel or "gaps" in panel else 0.0
    if "running" in panel:
        return 0 <= want[0] - values(cell)[0] <= max(2.0, 0.1 * want[0])
    return bool(values(cell) == pytest.approx(want, rel=0.06, abs=last))


def test_each_cell_of_the_two_servers_is_counted_in_their_runs() -> None:
    """By the name of its row; a gauge is looked at now and then."""
    servers = {"healthy": "", "server 1": "preemption",
               "server 2": "long prompts in one piece"}  # fmt: skip
    shown = rows(boards.pair().panel)
    assert {row["panel"] for row in shown} == set(PANEL)
    for row in shown:
        for who, cause in servers.items():
            want = PANEL[row["panel"]](report("pauses", cause))
            assert close(row["panel"], row[who], want), (row["panel"], who)


def test_an_alert_reads_what_its_name_counts_and_fires_above_its_number() -> None:
    servers = {"server 1": "preemption", "server 2": "long prompts in one piece"}
    reads = {
        "preemptions per request": lambda r: r.num_preemptions / r.num_requests,
        "gaps above 0.5 s per request": lambda r: (
            (gaps(r) > 0.5).sum() / r.num_requests
        ),
    }
    *alerts, blind = rows(promql.alerts())
    rules = {rule.splitlines()[0][2:]: rule for rule in promql.rules().split("\n\n")}
    metrics = {"preemptions": "num_preemptions_total", "gaps": "inter_token_latency",
               "iterations": "iteration_tokens_total"}  # fmt: skip
    assert len(alerts) == len(rules) == len(metrics)
    for row in alerts:
        name, _, level = row["query"].rpartition(" > ")
        assert rules[name].endswith(f"> {level}")
        assert metrics[name.split()[0]] in rules[name]
        bound = re.search(r"above ([\d.,]+)", name)
        assert not bound or f'le="{float(bound[1].replace(",", ""))}"' in rules[name]
        for who, cause in servers.items():
            (number,) = numbers(row[who])
            assert ("fires" in row[who]) == (number > float(level))
            if read := reads.get(name):
                assert number == pytest.approx(read(report("pauses", cause)), rel=6e-3)
    assert "P99" in blind["query"] and all(
        numbers(blind[who])[0] < 8192 for who in servers
    )


MORE_IS_BETTER = ("tokens/s", "tokens per GPU", "tokens of all", "drafts accepted",
                  "tokens found", "balancedness", "KV blocks")  # fmt: skip
SHARES = ("share", "in use", "again, of", "empty while", "short over", "accepted",
          "found", "balancedness")  # fmt: skip
TIMES = ("TTFT", "ITL", "latency,", "pause", "wait in", "transfer")


def number(cell: str) -> float:
    (found, *_), unit = numbers(cell), re.search(r"\d (ms|s|µs)\b", cell)
    return found * {"µs": 1e-6, **UNITS}.get(unit[1] if unit else "", 1.0)


def remedies() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    (path,) = (path for path in CHAPTERS if path.stem == "symptoms")
    for table in compared(path):
        if table.heads[0] == "cause and remedies":
            yield table.caption, table.heads, table.rows


def test_a_cell_of_remedies_has_the_unit_of_its_heading() -> None:
    found = list(remedies())
    assert len(found) == 11
    for _, heads, lines in found:
        for line in lines:
            for head, cell in zip(heads[2:], line[2:], strict=True):
                share = any(word in head for word in SHARES) and "looked up" not in head
                time = any(word in head for word in TIMES) and not share
                if cell == "–":
                    continue
                assert ("%" in cell) == share, (head, cell)
                assert bool(re.search(r"\d m?s\b", cell)) == time, (head, cell)
                assert ("×" in cell) == (", over those" in head), (head, cell)
            pair = [line[heads.index(f"ITL, {q}")] for q in ("median", "P99")
                    if f"ITL, {q}" in heads]  # fmt: skip
            assert len(pair) < 2 or number(pair[0]) <= number(pair[1])


def test_a_verdict_and_a_mark_compare_a_remedy_with_its_cause() -> None:
    """The goal stands in the caption; what is marked is worse than without a remedy."""
    for caption, heads, lines in remedies():
        judged = caption.split("judged by ")[1]
        goals = [head for head in heads if judged.startswith(f"{head} (")]
        goal = goals[0] if goals else "tokens/s"
        before: dict[str, str] = {}
        for name, verdict, *cells in lines[1:]:
            now = dict(zip(heads[2:], cells, strict=True))
            if verdict == "as it is":
                before = now
                continue
            assert name.startswith("→ ")
            for head, cell in now.items():
                if "–" in (cell, before[head]):
                    continue
                better = number(cell) - number(before[head])
                better *= 1 if head.startswith(MORE_IS_BETTER) else -1
                if "(worse)" in cell:
                    assert better < 0, (caption, name, head)
                if head == goal and verdict.startswith("helps"):
                    assert better > 0, (caption, name, head)
            assert (verdict == "helps, at a price") == (
                verdict != "in vain" and any("(worse)" in cell for cell in cells)
            )


def test_the_arrows_between_the_staircases_are_as_long_as_their_words() -> None:
    """Upright as many as wait, across as long as the one that arrives then waits."""
    (panel,) = drawn.panels(figures.arrivals)
    of = figures.overloaded()
    arrows = [text for text in panel.texts if not text.get_text()]
    spans = [(np.array(a.xyann), np.array(a.xy)) for a in arrows]
    (up,) = (abs(b - a)[1] for a, b in spans if a[0] == b[0])
    (across,) = (abs(b - a)[0] for a, b in spans if a[1] == b[1])
    words = {text.get_text().split(maxsplit=1)[1]: numbers(text.get_text())[0]
             for text in panel.texts if text.get_text()}  # fmt: skip
    assert set(words) == {"wait", "s in the queue"}
    assert words["wait"] == up and words["s in the queue"] == pytest.approx(
        across, abs=0.51
    )
    here = np.flatnonzero(of.arrival_s <= 100.0)
    started = of.arrival_s + of.queue_s
    assert up == (started[here] > 100.0).sum()
    assert across == pytest.approx(np.sort(started)[len(here) - 1] - 100)
    area = panel.collections[0]
    assert seen._name(area.get_facecolor()) == "idle"
    after, come, let_in, wait, more = numbers(figures.arrivals().sentence)
    assert (after, come - let_in, wait) == (100, wait, up)
    assert more == pytest.approx(across, abs=0.51)


def test_what_is_marked_in_the_pause_is_a_preemption_of_its_server() -> None:
    panels = drawn.panels(lambda: boards.pair.__wrapped__().picture)
    right = [panel for panel in panels if panel.collections]
    for panel, cause in zip(right, boards.PAIR.values(), strict=True):
        of = report("pauses", cause)
        lost = [e.time_s for e in steps_of(of).events if e.kind == "preempted"]
        marks = [line.get_xdata() for line in panel.lines if line.get_marker() == "v"]
        assert (
            bool(marks)
            == bool(lost)
            == any("preempted" in t.get_text() for t in panel.texts)
        )
        if marks:
            apart = np.diff(np.sort(marks[0]))
            own = np.diff(np.sort(lost))
            assert all(min(abs(own - each)) < 1e-6 for each in apart)
    titles = [panel.get_title() for panel in panels if panel.get_title()]
    assert titles == ["one answer", "tokens of an iteration"]
    names = [
        p.get_ylabel().split("\n")[0] for p in panels if "written" in p.get_ylabel()
    ]
    assert names == ["Server 1", "Server 2"]


def test_both_measured_rows_have_their_own_times() -> None:
    """An answer takes the first token's time, and so many gaps more."""
    table = stored("symptoms", "Llama-3-70B")
    found = measured.jump()
    for row, one in zip(table, (found.calm, found.full), strict=True):
        assert any(one == each for each in dense_rows())
        assert (int(row["clients"]), row["TPOT"].split()[1]) == (one.clients, "ms")
        assert agrees(row["TTFT"][:-2], one.ttft_s)
        assert agrees(row["TPOT"][:-3], 1e3 * one.tpot_s)
        whole = numbers(row["mean latency (computed)"])[0]
        tokens = (whole - one.ttft_s) / one.tpot_s
        assert tokens == pytest.approx(0.9 * one.output_len, rel=0.01)


def test_every_panel_of_a_dashboard_has_the_number_of_its_run() -> None:
    """Those that are asked about: what is most in words is most in the run."""
    for who in boards.GAME:
        of, cause = boards.place(who)
        for row in rows(boards.dashboard(who)):
            if row["panel"] in PANEL:
                want = PANEL[row["panel"]](report(of.key, cause))
                assert close(row["panel"], row["now"], want), (who, row["panel"])


def test_of_each_question_yes_leads_to_its_cause_and_no_to_the_next() -> None:
    """In the text, where yes is indented, and in the drawing, side by side."""
    shown = tree.first_measurement()
    lines, html = repr(shown).splitlines(), shown._repr_html_()
    of: Branch | Leaf = shown.root
    at = 1
    while isinstance(of, Branch):
        assert lines[at].startswith(of.words)
        if isinstance(of.yes, Leaf):
            assert lines[at + 1].strip().startswith(f"→ {of.yes.cause}: ")
        else:
            assert lines[at + 1] == f"    {of.yes.words} ({of.yes.metric})"
        here = html.index(escape(of.words))
        first = of.yes.cause if isinstance(of.yes, Leaf) else of.yes.words
        assert here < html.index("yes →", here) < html.index(escape(first), here)
        assert html.index(escape(first), here) < html.index("no ↓", here)
        at += 1
        while lines[at].startswith("    "):
            at += 1
        of = of.no
    assert lines[at] == f"→ {of.cause}: {of.remedy}" and "yes ↓" not in html
