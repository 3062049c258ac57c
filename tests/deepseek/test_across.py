"""The decodes across nodes as the page lists them, and what their errors leave open."""

from itertools import combinations

import numpy as np
import pytest

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, scored
from llmserve_lab.deepseek.evaluation.group_size import fits_as_served, rate_with
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import across, evidence, group
from tests.deepseek.twins import twin
from tests.each import agrees, numbers, rows

TARGETS = (33, 50, 100)


def measured() -> list[tuple[DecodeSetting, float]]:
    """Small groups first, each with the error of its step."""
    found = [(run, error) for run, error in scored() if run.across]
    return sorted(found, key=lambda each: (each[0].ep, each[0].batch))


def test_each_row_is_one_measured_run_with_the_error_of_its_rate() -> None:
    shown, table = rows(across.runs()), across.runs()
    assert len(shown) == len(across.RUNS) == 8
    for row, (run, step) in zip(shown, measured(), strict=True):
        assert row["GPUs"] == f"{run.ep} {run.name}"
        assert numbers(row["requests on each"])[0] == pytest.approx(run.batch, abs=0.51)
        (cached,) = numbers(row["context"])
        assert cached == pytest.approx(run.context, abs=0.51)
        assert agrees(row["error"], 100 * (1 / (1 + step) - 1))
    assert table.caption.startswith("The 8 published")


def test_a_row_is_called_what_its_run_is() -> None:
    """By error: the same run stands in the figure of all runs under its own name."""
    runs = [run for run in evidence.runs() if run.kind == evidence.ACROSS]
    words = {"TensorRT": "trtllm", "Kimi": "Kimi", "SGLang": "SGLang",
             "DeepSeek's profile": "profile", "DeepSeek's day": "EP144"}  # fmt: skip
    for row in rows(across.runs()):
        (error,) = numbers(row["error"])
        (run,) = (r for r in runs if abs(100 * r.error - error) < 0.051)
        (own,) = (v for k, v in words.items() if row["run"].startswith(k))
        assert own in run.name, row
        assert (run.status == "blind") == ("blind" in row["run"])
        assert ("drafts" in run.name) == ("drafts" in row["run"])


def test_a_note_stands_at_the_run_that_it_is_about() -> None:
    notes = across.notes()
    at = {row["run"]: row for row in rows(across.runs())}
    told = {name.partition(" [")[0]: int(name[-2]) for name in at if "[" in name}
    about = {"TensorRT-LLM, blind": "caches do not fit in BF16",
             "SGLang, drafts simulated": "slowed down",
             "DeepSeek's profile": "an H800 is",
             "DeepSeek's day": "a day's mean"}  # fmt: skip
    assert {name: notes[n - 1].find(about[name]) >= 0 for name, n in told.items()} == (
        dict.fromkeys(about, True)
    )
    assert list(told.values()) == [1, 2, 3, 4]
    far = max(measured(), key=lambda each: 1 / (1 + each[1]))[0]
    gb = far.batch * far.context * 70_272 / 1e9
    assert numbers(notes[0])[:2] == [pytest.approx(gb, abs=0.051), 85]
    assert far.batch == pytest.approx(251.4, abs=0.1)


def test_small_groups_were_too_fast_and_wide_ones_too_slow() -> None:
    errors = {run.ep: [] for run, _ in measured()}  # type: ignore[var-annotated]
    for run, step in measured():
        errors[run.ep].append(1 / (1 + step) - 1)
    assert min(errors[16]) > 0.2 and len(errors[16]) == 3
    assert all(max(errors[ep]) < 0 for ep in (72, 128, 144))
    assert 32 not in errors


def test_a_ninth_run_lies_among_eight_like_it_in_seven_of_nine_cases() -> None:
    draws = np.random.default_rng(2).standard_normal((100_000, 9))
    last, others = draws[:, -1], draws[:, :-1]
    inside = (others.min(axis=1) < last) & (last < others.max(axis=1))
    assert inside.mean() == pytest.approx(7 / 9, abs=0.005)


def test_the_example_turns_the_order() -> None:
    """Each rate from the largest batch whose real step keeps the target, by walking."""
    made = across.supposed()
    for ep, error, rate in zip((32, 72), (-0.1329, 0.009), made, strict=True):
        ways = [twin(setup("h100-sxm", ep), overlap=way) for way in ("none", "halves")]
        real = [
            min(float(one.step_s(batch=n, context=4e3)) for one in ways) * (1 + error)
            for n in range(1, fits_as_served(ways[0], 4000.0) + 1)
        ]
        most = max(n for n, step_s in enumerate(real, 1) if step_s <= 0.033)
        assert rate == pytest.approx(most / real[most - 1], rel=2e-3)
    assert made[0] > made[1]
    usual = [group.best_of("h100-sxm", ep, 33).tokens_per_s for ep in (32, 72)]
    assert usual[0] < usual[1]


@pytest.mark.parametrize("ms", TARGETS)
def test_only_with_the_error_of_kimi_k2_does_the_order_turn(ms: int) -> None:
    """Of all loans, smaller run to smaller group; at 100 ms with none of them."""
    at = {"context": 4000.0, "tpot_s": ms / 1e3}
    turned = []
    for (few, less), (many, more) in combinations(measured(), 2):
        if few.ep == many.ep:
            continue
        made = [
            rate_with("h100-sxm", ep, **at, error=error)
            for ep, error in ((32, less), (72, more))
        ]
        if made[0] > made[1]:
            turned.append((few.ep, many.ep))
    assert turned == ([] if ms == 100 else [(72, 96), (72, 96)])


def gains(ms: int) -> list[float]:
    """What 72 GPUs make more than 32: as served, with scattered loads, and lean."""
    few, many = (group.best_of("h100-sxm", ep, ms).tokens_per_s for ep in (32, 72))
    scattered = decisions.rate_at(
        72, 4000.0, ms / 1e3, balancedness=decisions.balance_of(72)
    )
    lean = [
        group.best_of("h100-sxm", ep, ms, lean=True).tokens_per_s for ep in (32, 72)
    ]
    return [many / few - 1, scattered / few - 1, lean[1] / lean[0] - 1]


def test_the_recommendation_is_as_wide_as_its_three_columns() -> None:
    strict, middle, loose = (gains(ms) for ms in TARGETS)
    assert min(strict) > 0.3 and max(strict) < 0.55
    assert middle[1] < 0 < middle[0] and max(map(abs, middle)) < 0.08
    said = across.fives(*loose).replace("\N{NO-BREAK SPACE}", " ")
    assert said == "5 to 30 %"
    assert min(loose) > 0.04 and max(loose) < 0.31


def test_two_batches_hide_behind_a_wire_that_is_the_shorter() -> None:
    """Where two halves begin to pay, so that the charge is one on the wire."""
    half = worked.layer_ms("halves", worked.fewest())
    assert half.dispatch < half.attention and half.dispatch < half.experts
    assert half.combine < half.attention and half.combine < half.experts


def test_on_eight_gpus_the_experts_alone_fill_more_than_the_memory() -> None:
    place = setup("h100-sxm", 8)
    held = place.local_experts(book_assumptions().n_redundant) + 1
    assert held == 37
    assert held * 58 * 3 * 7168 * 2048 > float(place.accelerator.usable_bytes)
