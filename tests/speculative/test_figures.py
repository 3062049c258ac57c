"""What the figures and tables show is what runs, and what was published."""

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    CURVES,
    DRAFTS,
    EAGLE_CURVES,
    HEAD_RUNS,
    LLAMA_32_1B,
    TEXT_CURVES,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative import measured, toy
from llmserve_lab.speculative.page import charts, figures, rounds, stills, tables
from llmserve_lab.speculative.verification import residual
from tests.page import drawn


def test_the_steps_are_those_of_the_run() -> None:
    """Words, chances and numbers of every frame, from the rounds themselves."""
    figure = figures.one_round()
    for log, played in figure.logs.items():
        done = rounds.first_pass(log)
        last = played.frames[-1]
        assert last.counters == (len(done.verdict.tokens), 1)
        assert toy.WORDS[done.verdict.last] in last.sentence
        texts = [row["text"] for row in played.tables["cells"] if row["text"]]
        for token, law, p in zip(
            done.drafts.tokens, done.drafts.laws, rounds.target_laws(done), strict=False
        ):
            assert toy.WORDS[token] in texts
            assert f"{law[token]:.3f}" in texts and f"{p[token]:.3f}" in texts
        for check in done.verdict.checks:
            assert f"{check.drawn:.2f}" in texts
    failed = rounds.first_pass(rounds.REJECTED).verdict
    assert len(failed.kept) == 1 and not failed.bonus
    assert rounds.first_pass(rounds.KEPT).verdict.bonus


def test_the_gold_part_of_the_bars_is_the_residual() -> None:
    done = rounds.first_pass(rounds.REJECTED)
    place = len(done.verdict.kept)
    p, q = rounds.target_laws(done)[place], done.drafts.laws[place]
    gold = [
        row["y2"] - row["y"]
        for row in figures.one_round().logs[rounds.REJECTED].tables["bars"]
        if row["ink"] == "compute"
    ]
    order = np.argsort(-np.maximum(p, q), kind="stable")
    first, rest = order[: rounds.SHOWN], order[rounds.SHOWN :]
    more = [residual(p, q)[i] for i in first if p[i] > q[i]]
    more.append(residual(p, q)[rest].sum())  # of the words that have no bar
    assert sum(more) == pytest.approx(1)
    np.testing.assert_allclose(
        np.array(gold) / gold[0], np.array(more) / more[0], atol=0.01
    )


def test_the_gold_part_begins_where_the_blue_bar_ends() -> None:
    """Of one word or of a group, as the legend says: the part of p above q."""
    bars = figures.one_round().logs[rounds.REJECTED].tables["bars"]
    gold = [row for row in bars if row["ink"] == "compute"]
    assert len(gold) >= 3
    for row in gold:
        (q,) = [
            bar
            for bar in bars
            if bar["ink"] == "A"
            and bar["since"] == row["since"]
            and 0 < row["x"] - bar["x"] < 0.5 * (rounds.N_DRAFT + 1 - rounds.LEFT) / 7
        ]
        assert row["y2"] == pytest.approx(q["y"], abs=0.002)


def test_the_figure_is_the_machine() -> None:
    """At the draft cost that the machine has at a batch, both say the same."""
    figure = figures.when_drafts_lose()
    for batch in (1, 16, 128):
        cost = m.drafting_s(batch, 1, m.SMALL) / m.plain_s(batch)
        for drafts in (1, 4, 8):
            known = figure.values(
                n_draft=float(drafts), draft_cost=cost, batch=float(batch)
            )
            gain = m.speedup(batch, drafts, m.usual(), m.SMALL)
            assert known["speculative_speedup"] == pytest.approx(gain, rel=2e-3)


def test_the_figure_loses_where_the_text_says() -> None:
    """As it opens, eight drafts lose first at the batch that is printed beside it."""
    figure = figures.when_drafts_lose()
    first = m.break_even(8, m.usual(), m.SMALL)
    gains = {
        batch: figure.values(batch=float(batch))["speculative_speedup"]
        for batch in figures.BATCHES
    }
    assert next(batch for batch, gain in gains.items() if gain < 1) == first
    assert first is not None and first - 1 in figures.BATCHES


def test_the_engine_is_near_the_formula() -> None:
    """Requests end at different times in the engine, so that it is not the same."""
    for drafts in (1, 2, 4):
        gain = m.engine_gain(16, drafts, m.usual(), m.SMALL)
        assert gain == pytest.approx(
            m.speedup(16, drafts, m.usual(), m.SMALL), rel=0.05
        )


def test_the_points_are_the_published_ones() -> None:
    assert len(CURVES) == 14 and all(len(curve.tokens) == 8 for curve in CURVES)
    spec = figures.tokens_of_a_pass().spec
    shown = {row["tokens"] for layer in spec["layer"] for row in _rows(spec, layer)}
    assert shown == {tokens for curve in CURVES for tokens in curve.tokens}


def test_each_law_stands_at_its_label() -> None:
    """Drafts are kept one after the other, each with its own chance, to the eighth."""
    figure = figures.tokens_of_a_pass()
    label = {r.name: r.label for r in figure.readouts if isinstance(r, Readout)}
    assert len(label) == 3
    for curve in CURVES:
        known = figure.values(curve=curve.name)
        shown = {label[name]: known[name] for name in label}
        for word, fall in (("constant", 1.0), ("falling", known["accept_fall"])):
            chances = known["accept_rate"] * fall ** np.arange(8)
            kept = 1 + np.cumprod(chances).sum()
            (called,) = [text for text in shown if word in text]
            assert shown[called] == pytest.approx(kept, rel=1e-9)
        (called,) = [text for text in shown if "measured" in text]
        assert shown[called] == curve.tokens[-1]


def _rows(spec: dict, layer: dict) -> list[dict]:  # type: ignore[type-arg]
    data = layer.get("data", {})
    values = data.get("values", spec.get("datasets", {}).get(data.get("name"), []))
    return [row for row in values if "tokens" in row]


def test_the_small_model_has_the_size_of_its_card() -> None:
    said = float(LLAMA_32_1B.published["params_total"])
    assert LLAMA_32_1B.params_total == pytest.approx(said, rel=0.01)
    assert LLAMA_32_1B.params_read == LLAMA_32_1B.params_total  # its table is its head


def test_predictions_beside_the_published_times() -> None:
    assert measured.plain_off() == pytest.approx(-0.011, abs=0.002)
    for name, best in (("EAGLE", 3), ("EAGLE-3", 4)):
        run = measured.run_of(name)
        assert measured.measured_best(run) == best
        offs = [measured.off(run, k) for k in DRAFTS]
        assert all(-0.41 < off < -0.1 for off in offs)
        spent = [run.tokens[k] * run.tpot_ms[k] for k in DRAFTS]
        ends = (spent[-1] - spent[0]) / (DRAFTS[-1] - DRAFTS[0])
        fixed, slope = measured.measured_line(run)
        assert slope == pytest.approx(ends, rel=0.03)
        assert fixed + slope * np.mean(DRAFTS) == pytest.approx(np.mean(spent))
        assert fixed > measured.predicted_line(run)[0] + 0.5
        assert slope > measured.predicted_line(run)[1] + 0.1
        gain = 7.07 / run.tpot_ms[best]
        assert measured.measured_gain(run, best) == pytest.approx(gain)
        assert measured.predicted_gain(run, best) > 1.1 * gain
    with pytest.raises(ValueError, match="name must be one of EAGLE, EAGLE-3, got 'x'"):
        measured.run_of("x")


def test_the_parts_of_a_pass_add_up_to_it() -> None:
    for batch in (1, 7, 64, 256):
        assert sum(m.parts_s(batch, 0).values()) == pytest.approx(m.plain_s(batch))
        for drafts in (1, 4, 8):
            parts = m.parts_s(batch, drafts)
            assert sum(parts.values()) == pytest.approx(m.verify_s(batch, drafts))
        draft = m.parts_s(batch, 0, source=m.SMALL)
        assert sum(draft.values()) == pytest.approx(m.drafting_s(batch, 1, m.SMALL))
        assert draft["CPU, for each request"] == 0
    least = m.parts_s(1, 0)[m.LONGER]
    assert m.parts_s(int(m.free_rows()) - 1, 0)[m.LONGER] == least
    assert m.parts_s(int(m.free_rows()) + 1, 0)[m.LONGER] > least
    small = m.parts_s(1, 0, source=m.SMALL)  # its layers cost more than its bytes
    assert small["starting the layers"] > small[m.LONGER]


def test_more_rows_touch_more_experts_by_drawing_them() -> None:
    """Rows that draw 8 of 256 experts each, independently."""
    rng = np.random.default_rng(0)
    for rows in (1, 5, 9):
        drawn = [
            len({int(e) for _ in range(rows) for e in rng.permutation(256)[:8]})
            for _ in range(300)
        ]
        assert m.touched(rows) == pytest.approx(np.mean(drawn), rel=0.02)


def test_the_rows_of_the_table_are_the_chain_and_one_more() -> None:
    rows = tables.rows_of_a_pass().rows
    drafts = [toy.WORDS[t] for t in rounds.first_pass(rounds.REJECTED).drafts.tokens]
    assert [row[2] for row in rows] == [*drafts, "bonus word"]
    assert all(str(row[1]).endswith(str(row[0]).split()[-1]) for row in rows)


def test_a_row_is_wrong_if_it_saw_a_word_that_the_text_does_not_hold() -> None:
    """The row of the rejected draft is the first of them."""
    done = rounds.first_pass(rounds.REJECTED)
    text = [toy.WORDS[token] for token in (*done.text, *done.verdict.tokens)]
    newest = len(done.text) - 1
    for row in tables.rows_of_a_pass().rows:
        seen = str(row[1]).removeprefix("… ").split()
        right = text[newest : newest + len(seen)] == seen
        assert row[3] == ("right" if right else "wrong")


def test_the_tables_say_what_the_machine_says() -> None:
    rows = tables.best_drafts().rows
    assert [row[0] for row in rows] == [str(batch) for batch in tables.SIZES]
    for row, size in zip(rows, tables.SIZES, strict=True):
        for rate, at in ((m.usual().rate, 2), (m.POORER[0], 4), (m.POORER[1], 6)):
            law = Acceptance(rate, m.usual().falls)
            number, gain = m.best(size, law, m.SMALL)
            assert row[at] == f"{gain:.2f} ({number})"
            assert row[at + 1] == f"{m.speedup(size, m.MOST, law, m.SMALL):.2f}"
    assert len(tables.laws().rows) == 14 and len(tables.heads().rows) == 12
    for run in HEAD_RUNS:  # at its best number of drafts it is quickest
        times = run.tpot_ms
        assert times[measured.measured_best(run)] == min(times.values())
    assert len(tables.batches().rows) == 16
    for column in range(1, 7):
        shown = [float(row[column]) for row in tables.pass_parts().rows[1:]]
        assert sum(shown[:-1]) == pytest.approx(shown[-1], abs=0.0015)


def test_the_sources_are_those_that_were_measured() -> None:
    """Tokens with three drafts, walked through twice; a draft as the lines have it."""
    rows = {row[0]: row[1:] for row in tables.sources().rows}
    for run, curve in zip(BATCH_RUNS, EAGLE_CURVES, strict=True):
        assert run.task == curve.name
        assert curve.tokens[2] == pytest.approx(run.tokens, abs=0.005)
    assert rows["EAGLE"][2:-1] == ("2.25", "2.33", "2.35")
    for name in ("EAGLE", "EAGLE-3"):
        head = measured.run_of(name)
        lines = measured.predicted_line(head)[1], measured.measured_line(head)[1]
        assert [float(each) for each in rows[name][:2]] == pytest.approx(
            lines, abs=0.006
        )
    for eagle, text in zip(EAGLE_CURVES, TEXT_CURVES, strict=True):
        assert all(a > b > 1 for a, b in zip(eagle.tokens, text.tokens, strict=True))
    edits, guessed = TEXT_CURVES[2].tokens[2], EAGLE_CURVES[2].tokens[2]
    run = BATCH_RUNS[2]
    assert run.tokens == pytest.approx(guessed, abs=0.005)
    copied = measured.copying_gain(run, 1)
    assert copied < edits  # the rows to check, and the prompt, take time
    headed = measured.batch_gain(run, 1)
    assert copied > headed  # fewer tokens, but no pass
    drafts = measured.measured_best(measured.run_of("EAGLE"))
    error = abs(measured.off(measured.run_of("EAGLE"), drafts))
    assert copied / headed - 1 < error  # so it is a tie
    assert copied / run.gains[1] - 1 < error
    (row,) = [row for row in tables.batches().rows if row[0] == f"{run.task}, 1"]
    assert row[3] == f"{headed:.2f}"  # one prediction, in the text and in the table
    assert [rows[name][-1] for name in ("EAGLE", "EAGLE-3")] == ["2.29", "2.79"]


def test_the_stills_say_their_numbers() -> None:
    assert "-1%" in stills.heads().sentence
    assert "3 drafts are best" in stills.gains(32, m.usual(), m.SMALL).title
    none = stills.gains(256, Acceptance(0.2), m.SMALL)
    assert "no chain gains" in none.title


def test_what_the_machine_refuses() -> None:
    with pytest.raises(ValueError, match=r"source must be one of Llama-3\.2-1B"):
        m.draft_cost("an oracle")
    with pytest.raises(ValueError, match="batch must be at least 1 request, got 0"):
        m.plain_s(0)
    assert m.speedup(4, 0, m.usual(), m.SMALL) == 1.0


def test_the_batch_axis_ends_where_memory_does() -> None:
    assert charts.LARGEST == max(figures.BATCHES) <= m.fits(m.SMALL)


@pytest.mark.parametrize("name", [fit.curve.name for fit in m.published()])
def test_a_measured_point_stands_at_its_number_of_drafts(name: str) -> None:
    """The line of falling acceptance passes the points that it was fitted at."""
    fit = next(each for each in m.published() if each.curve.name == name)
    figure = figures.tokens_of_a_pass()
    points = drawn.marks(figure, "symbol", curve=name)
    assert len(points) == len(fit.curve.tokens)
    lines = drawn.marks(figure, "line", curve=name)
    left, right = min(each["x"] for each in lines), max(each["x"] for each in lines)
    for drafts, point in enumerate(points, start=1):  # the axis runs from one to MOST
        wide = (right - left) / (m.MOST - 1)
        assert point["x"] - left == pytest.approx((drafts - 1) * wide, abs=1)
