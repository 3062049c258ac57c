"""The steps of the opening's run: two libraries, two schedules, two measurements."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from llmserve_lab.catalog.evidence.deployments import OVERLAP_GAINS, SGLANG_DECODE
from llmserve_lab.claims import three_models
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import ablations
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.published_runs import rate_as_run
from named_links import glued

CHAPTER = Path(__file__).resolve().parents[2] / "chapters" / "deepseek_twin.ipynb"


def page_ms(name: str) -> float:
    number, unit = glued(json.loads(CHAPTER.read_text("utf8")))[name].split()
    assert unit == "ms"
    return float(number)


def page_rate(name: str) -> float:
    """Tokens/s of a table whose caption has the unit."""
    return float(
        glued(json.loads(CHAPTER.read_text("utf8")))[name].split()[0].replace(",", "")
    )


def test_the_older_library_s_one_batch_is_its_two_halves_times_the_gain() -> None:
    """A step is requests over a rate; without overlap it is longer by the gain."""
    halves_s = 256 / rate_as_run(SGLANG_DECODE, book_assumptions())
    gain = ablations.overlap_gain(SGLANG_DECODE, book_assumptions(), batch=256)
    lone_s = three_models.by_twin("none", SGLANG_DECODE).total_s
    assert lone_s == pytest.approx(halves_s * gain, rel=1e-6)
    assert page_rate("dt_older_said_rate") == pytest.approx(256 / lone_s, abs=5)
    assert page_rate("dt_as_run_rate") == pytest.approx(256 / halves_s, abs=5)


def test_the_measured_rate_without_overlap_is_lower_by_the_gain() -> None:
    halves = float(SGLANG_DECODE.gpu_tokens_per_s)
    assert page_rate("dt_measured") == pytest.approx(halves, abs=0.5)
    lone = halves / float(OVERLAP_GAINS[256])
    assert page_rate("dt_older_rate") == pytest.approx(lone, abs=5)


def test_without_links_inside_a_node_one_batch_waits_for_all_copies() -> None:
    """By hand: the ninth of the copies that stays takes the port, too."""
    new = worked.step_ms(256, "none")
    through = 3.312 / 44.49 * 1e3
    by_hand = new - through * 8 / 9 + through
    assert page_rate("dt_older_said_rate") == pytest.approx(256e3 / by_hand, abs=12)
    far = replace(book_assumptions(), overlap="none")
    older_s = 256 / rate_as_run(SGLANG_DECODE, far)
    assert 1e3 * older_s == pytest.approx(by_hand, rel=1e-3)


@pytest.mark.parametrize(("requests", "name"), [(256, "dt_bf16_many")])
def test_what_bf16_adds_follows_from_the_widths(requests: int, name: str) -> None:
    """One more byte of 129,280 words by 7,168, and of all keys and values' matrices."""
    params = 129_280 * 7168 + 61 * 512 * 128 * (128 + 128)
    read = params / 2.87e12
    computed = 2 * params * requests / 1189e12  # as long again as at the rate of FP8
    by_hand = 1e3 * (read + computed)
    assert worked.in_bf16_ms(requests) == pytest.approx(by_hand, rel=5e-3)
    assert page_ms(name) == pytest.approx(by_hand, abs=0.05)
