"""A goal is reached where its sentence says: a bit beyond each limit it is not.

A condition that is turned round, or has another threshold, still holds at the example
beside it and not as the figure opens. Here each limit is taken from the sentence, in
its numbers or in its words, and the condition is asked on both sides of it.
"""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from llmserve_lab.page.live.registry import figures, steps

Known = dict[str, float]
Limits = tuple[Known, list[Known]]  # where it is just reached, and what just misses it
ELSEWHERE = {"afd", "capacity", "deepseek", "parallelism"}  # chapters
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?")
NEAR, FAR = 0.999, 1.001

SAID: dict[str, Callable[..., Limits]] = {
    "continuous_batching.lanes": lambda: (
        {"longest_gap_s": 0.05, "next_gap_s": 0.051, "tbt_target": 0.05},
        [{"longest_gap_s": 0.0501}, {"next_gap_s": 0.05}],
    ),
    "disaggregation.goodput": lambda ms: (  # more than ten percent
        {
            "tpot_target": ms / 1e3,
            "pools_goodput": 11.01,
            "large_goodput": 10,
            "small_goodput": 10,
        },
        [
            {"tpot_target": (ms + 5) / 1e3},
            {"tpot_target": (ms - 5) / 1e3},
            {"large_goodput": 10.02},
            {"small_goodput": 10.02},
        ],
    ),
    "disaggregation.links": lambda: (  # 200 Gbit/s
        {"link_bw": 25e9, "eff_link": 0.8, "made_kv_made_per_s": 20.1e9},
        [{"made_kv_made_per_s": 19.9e9}, {"link_bw": 12.5e9}, {"link_bw": 50e9}],
    ),
    "disaggregation.promises": lambda: (  # less than ten percent more
        {"one_shared_rate": 10, "two_best_pools_rate": 10.99, "two_decode_batch": 1},
        [{"two_best_pools_rate": 11.01}, {"two_decode_batch": 0.99}],
    ),
    "end_to_end.again_or_once": lambda: (  # less than half of the work
        {"flops_ratio": 1.99},
        [{"flops_ratio": 2.01}],
    ),
    "flash_attention.decode_splits": lambda tokens: (  # four requests, a twentieth
        {
            "decode_attn_s": 1.05 * NEAR,
            "least_read_s": 1,
            "batch": 4,
            "context": tokens,
            "n_split": 4,
        },
        [
            {"decode_attn_s": 1.05 * FAR},
            {"batch": 3},
            {"batch": 5},
            {"context": tokens - 1},
            {"context": tokens + 1},
            {"n_split": 5},
        ],
    ),
    "flash_attention.traffic": lambda intensity: (
        {"tiled_intensity": intensity * FAR, "chip_share": 1},
        [{"tiled_intensity": intensity * NEAR}, {"chip_share": FAR}],
    ),
    "how_wrong.ladder": lambda: (  # below ten per cent, two of the five
        {
            **dict.fromkeys(("shares", "link", "layers", "requests", "client"), 0),
            "tpot_error": 9.99,
            "layers": 1,
            "client": 1,
        },
        [
            {"tpot_error": 10.01},
            *({each: 1.0} for each in ("shares", "link", "requests")),
        ],
    ),
    "kv_memory.capacity": lambda requests, tokens: (
        {"batch_fits": requests, "mean_held": tokens},
        [{"batch_fits": requests - 1}, {"mean_held": tokens - 1}],
    ),
    "moe.group": lambda tokens: (  # the smallest: half of it is not compute-bound
        {"gpu_rows": tokens, "layer_read_s": 0.501, "layer_compute_s": 1},
        [
            {"gpu_rows": tokens + 1},
            {"gpu_rows": tokens - 1},
            {"layer_read_s": FAR},
            {"layer_read_s": 0.499},
        ],
    ),
    "moe.memory": lambda gigabytes: (  # H800: the first of the GPUs; half does not fit
        {
            "gpu": 0,
            "reserved_bytes": gigabytes * 1e9,
            "ep": 16,
            "least_ep": 8.01,
        },
        [
            {"gpu": 1},
            {"reserved_bytes": (gigabytes - 1) * 1e9},
            {"reserved_bytes": (gigabytes + 1) * 1e9},
            {"least_ep": 16.01},
            {"least_ep": 8},
        ],
    ),
    "quantization.few_bits": lambda requests, tokens, times, _sixteen: (
        {
            "batch": requests,
            "context": tokens,
            "few_bits_gain": times * FAR,
            "held": 1,
            "multiplied": 0,
        },
        [
            {"batch": requests - 1},
            {"context": tokens - 1},
            {"few_bits_gain": times * NEAR},
            {"held": 0},
            {"multiplied": 1},
        ],
    ),
    "roofline.batch_and_context": lambda: (  # more than half, below a twentieth
        {"decode_intensity": 14.9, "ridge": 300, "held_bytes": 40.1, "hbm_bytes": 80},
        [{"decode_intensity": 15.1}, {"held_bytes": 39.9}, {"held_bytes": 80.1}],
    ),
    "roofline.roofline": lambda: (  # idle share below a third
        {"decode_mfu": 0.667, "held_bytes": 80, "hbm_bytes": 80},
        [{"decode_mfu": 0.666}, {"held_bytes": 80.1}],
    ),
    "speculative.when_drafts_lose": lambda: (  # eight drafts; at a batch less they win
        {"n_draft": 8, "accepted": 0.699, "accepted_needed": 0.7},
        [{"n_draft": 7}, {"accepted": 0.701}, {"accepted": 0.692}],
    ),
    "tensor_parallel.tp_time": lambda requests, tokens, ms: (  # 70B: the middle one
        {
            "model": 1,
            "batch": requests,
            "context": tokens,
            "tp_s": ms / 1e3 * NEAR,
            "rank_bytes": 79.9,
            "hbm_bytes": 80,
        },
        [
            {"model": 0},
            {"model": 2},
            {"batch": requests - 1},
            {"context": tokens - 1},
            {"tp_s": ms / 1e3 * FAR},
            {"rank_bytes": 80.1},
        ],
    ),
    "varlen.attention_square": lambda: (
        {"padded_pairs": 99, "masked_pairs": 100},
        [{"padded_pairs": 101}],
    ),
}
OWN = {  # see below: a computed minimum, and what steps come to
    *("how_wrong.residuals", "end_to_end.heat"),
    *("roofline.reuse", "roofline.tile_reuse"),
}


def limits(name: str) -> tuple[Any, Limits]:
    """The goal of a figure, and its limits by the numbers of its sentence."""
    goal: Any = figures()[name]().goal
    found = NUMBER.findall(goal.sentence)
    return goal, SAID[name](*(float(each.replace(",", "")) for each in found))


@pytest.mark.parametrize("name", SAID)
def test_a_goal_is_reached_up_to_what_its_sentence_says(name: str) -> None:
    goal, (reached, missed) = limits(name)
    assert goal.met(reached)
    assert [each for each in missed if goal.met(reached | each)] == []


@pytest.mark.parametrize("name", SAID)
def test_every_part_of_a_condition_is_asked(name: str) -> None:
    """Each comparison has a case of its own that misses it."""
    goal, (_, missed) = limits(name)
    assert len(missed) >= goal.expression().count("&&") + 1


def test_the_choice_with_the_smallest_error_is_the_goal() -> None:
    """Of the time per output token the choice with the least mean error, no other."""
    figure: Any = figures()["how_wrong.residuals"]()
    kind, left = ({c.name: c for c in figure.controls}[n] for n in ("kind", "left"))
    seen = {
        (of, out): figure.values(kind=of, left=out)
        for of, out in product(kind.options, left.options)
    }
    (tpot,) = (each for each in kind.options if "per output token" in each)
    errors = {
        at: float(known["mean_error"]) for at, known in seen.items() if at[0] == tpot
    }
    assert [at for at, known in seen.items() if figure.goal.met(known)] == [
        min(errors, key=lambda at: errors[at])
    ]


def met(figure: Any) -> set[tuple[str, int]]:
    """Logs and frames of a step figure at which its goal is reached."""
    return {
        (name, frame)
        for at, (name, log) in enumerate(figure.logs.items())
        for frame in range(len(log.frames))
        if figure.goal.met({"log": at, "frame": frame})
    }


def test_the_rare_word_is_drawn_often_while_few_may_be() -> None:
    figure: Any = steps()["end_to_end.heat"]()
    often, most = (float(each) for each in NUMBER.findall(figure.goal.sentence))
    (may,) = (
        at for at, each in enumerate(figure.counters) if each.label.startswith("words")
    )
    reached = {
        (name, frame)
        for name, log in figure.logs.items()
        for frame, each in enumerate(log.frames)
        for bar in log.tables["bars"]
        if bar["word"] == "worm" and bar["since"] <= frame < bar["until"]
        if 100 * (bar["end"] - bar["start"]) > often and each.counters[may] <= most
    }
    assert met(figure) == reached != set()


@pytest.mark.parametrize("name", ["roofline.reuse", "roofline.tile_reuse"])
def test_the_fewest_rows_that_keep_the_tensor_cores_busy(name: str) -> None:
    figure: Any = steps()[name]()
    (busy,) = (at for at, each in enumerate(figure.counters) if "busy" in each.label)
    ends = {each: log.frames[-1].counters[busy] for each, log in figure.logs.items()}
    rows = next(each for each, cell in ends.items() if float(cell.rstrip("%")) >= 90)
    assert met(figure) == {(rows, len(figure.logs[rows].frames) - 1)}


def test_every_goal_is_asked() -> None:
    made = figures() | steps()
    goals = {
        name
        for name, make in made.items()
        if name.partition(".")[0] not in ELSEWHERE and make().goal
    }
    assert goals == {*SAID, *OWN}
