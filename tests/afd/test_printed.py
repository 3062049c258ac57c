"""What the chapter's code cells print, computed again in another way.

The stored outputs are read, so that a cell that prints another number fails also once
its output was stored again; none of the package's rules is asked.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog import accelerator, model
from tests.each import numbers, stored

ROOT = Path(__file__).resolve().parents[2]
ATTN, FIXED, ROW, WIRE = 0.00165, 50, 0.083, 0.022 * 256 + 20  # cycles
B, FFN_FIXED = 256, 100


def printed(cell: str) -> list[str]:
    """Lines that a cell of the chapter printed."""
    (output,) = outputs(cell)
    return "".join(output["text"]).splitlines()


def outputs(cell: str) -> Any:
    """What a cell of the chapter has stored."""
    notebook = json.loads((ROOT / "chapters/attention_ffn.ipynb").read_text("utf8"))
    (found,) = (each for each in notebook["cells"] if each.get("id") == cell)
    return found["outputs"]


@cache
def slots() -> Any:
    """Tokens in a slot: play one for long, a step at a time, and look at every step."""
    rng, held = np.random.default_rng(5), []
    for _ in range(60_000):
        prompt, answer = rng.integers(0, 201), rng.geometric(1 / 501) - 1
        held.append(prompt + np.arange(answer + 1))  # the last step finds its end
    return np.concatenate(held)


def periods(r: int, m: int, *, draws: int = 20_000) -> Any:
    """Cycles between two batches for loads drawn at random, by the three times."""
    rng = np.random.default_rng(r + 100 * m)
    mean, sd = float(slots().mean()), float(slots().std())
    attn = ATTN * (B * mean + B**0.5 * sd * rng.standard_normal((draws, m, r))) + FIXED
    ffn = ROW * r * B + FFN_FIXED
    loop = (attn.max(axis=(1, 2)) + WIRE + ffn) / m
    return np.maximum(np.maximum(attn.mean(axis=1).max(axis=1), ffn), loop)


def test_theta_and_the_spread_are_those_of_a_slot_that_was_played() -> None:
    (first, best) = printed("0fbe2ab6")
    theta, spread = numbers(first)
    assert first.startswith("θ: ") and "spread of a slot: " in first
    assert theta == pytest.approx(slots().mean(), rel=0.02)
    assert spread == pytest.approx(slots().std(), rel=0.02)
    rates = {r: r / (r + 1) / periods(r, 2).mean() for r in range(2, 16)}
    assert numbers(best) == [max(rates, key=rates.__getitem__)]


def test_the_simulator_waits_as_loads_drawn_at_random_do() -> None:
    lines = printed("959fd6e8")
    mean = ATTN * B * float(slots().mean()) + FIXED
    for m, line in zip((1, 2, 3), lines, strict=True):
        said, attn, ffn = numbers(line)
        period = float(periods(8, m).mean())
        assert said == m
        assert attn == pytest.approx(100 * (1 - mean / period), abs=2.1)
        assert ffn == pytest.approx(100 * (1 - 269.984 / period), abs=2.1)


def test_the_fitted_line_is_that_of_least_squares_and_its_intervals_student_s() -> None:
    """Solved by normal equations; 38 degrees of freedom."""
    rng = np.random.default_rng(1)
    x = rng.uniform(2e4, 2e5, 40)
    y = (ATTN * x + FIXED) * 1e-6 + rng.normal(0, 5e-6, 40)
    design = np.column_stack([x, np.ones(40)])
    inverse = np.linalg.inv(design.T @ design)
    line = inverse @ design.T @ y
    left = float(((y - design @ line) ** 2).sum()) / 38
    wide = 2.0244 * np.sqrt(left * np.diag(inverse))
    (slope, cut, sure) = printed("6d5e216e")
    for shown, middle, half in zip((slope, cut), line, wide, strict=True):
        words = re.findall(r"[\d.]+e-\d+", shown)
        values = [float(word) for word in words]
        assert values == pytest.approx([middle, middle - half, middle + half], rel=2e-3)
    assert sure == "95% confidence"


def test_the_checks_say_when_each_pipeline_ends() -> None:
    """Three of attention, three of the FFN, one of wire: played step by step."""
    (said, ends) = printed("c62af8e5")
    attn, ffn, wire = numbers(said)
    free = {"attn": 0.0, "ffn": 0.0}
    back = [0.0, 0.0]
    for n in range(60):
        free["attn"] = max(free["attn"], back[n % 2]) + attn
        free["ffn"] = max(free["ffn"], free["attn"] + wire) + ffn
        back[n % 2] = free["ffn"] + wire
    alone = 60 * (attn + ffn + 2 * wire) - wire
    assert numbers(ends) == [2, 60, free["ffn"], alone]
    assert printed("9b607589")[0].startswith("well done: all 6 ")


def counted_share(n_requests: int) -> float:
    """Share of all slot-steps that are tokens of the first 80% to complete.

    One step in 501 ends an answer. Missing are these steps and what the 512 slots of an
    instance hold then, 500 tokens each.
    """
    ended = 0.8 * n_requests
    return 1 - (ended + 2 * B * 500) / (501 * ended)


def test_worked_formulas_are_counted_step_by_step() -> None:
    (share,) = (json.dumps(outputs("5f5b1a6b")),)
    (found,) = set(re.findall(r"counted_share = ([\d.]+)", share))
    assert float(found) == pytest.approx(counted_share(4000), abs=6e-4)


def test_each_rate_of_one_setting_is_what_its_row_counts() -> None:
    rows = stored("attention_ffn", "8A–1F with two batches")
    rates = [float(row["tokens per 1,000 µs and machine"]) for row in rows]
    alike, steady, simulated, fresh, completed, longer = rates
    assert alike == pytest.approx(8e3 * B / 9 / (ATTN * B * 600 + FIXED), abs=0.6)
    assert steady == pytest.approx(8e3 * B / 9 / periods(8, 2).mean(), rel=0.005)
    low, high = numbers(rows[2]["what is counted"])[-2:]
    assert low < simulated < high and low < steady < high
    assert completed / fresh == pytest.approx(counted_share(4000), abs=0.01)
    assert steady < longer / counted_share(10_000) < fresh


def test_attention_takes_the_longer_of_reading_and_computing() -> None:
    """Heads × (latent, rotary, latent again), of two rows; bytes of a latent."""
    names = {"DeepSeek-V3": ("deepseek-v3", 128), "Kimi K2": ("kimi-k2", 64)}
    chips = {"H800 SXM": "h800-sxm", "B200 SXM": "b200-sxm", "MI300X": "mi300x"}
    *shown, _ = stored("attention_ffn", "Slopes from first principles")
    slower = []
    for row in shown:
        of, on = row["one layer"].split(" on ")
        key, heads = names[of]
        chip = accelerator(chips[on])
        flops = 2 * 2 * heads * (512 + 64 + 512)
        reads, computes = float(row["attention reads"]), float(row["computes"])
        assert model(key).n_layers == 61
        assert reads == pytest.approx(1152e9 / float(chip.hbm_bw), rel=5e-3)
        assert computes == pytest.approx(
            flops * 1e9 / float(chip.peak("bf16")), rel=5e-3
        )
        slower += [of] * (computes > reads)
    assert slower == ["DeepSeek-V3"] * 3
