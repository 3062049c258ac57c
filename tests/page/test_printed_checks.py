"""What the checks of exercises say of a start and of a solution, played once more.

The functions that readers begin with fail in numbers; simple loops come to the same.
"""

import math
import random

import numpy as np

from llmserve_lab import catalog, running_example
from llmserve_lab.moe import exercise as placing
from llmserve_lab.quantization import exercise as rounding
from tests.page.test_printed_runs import read, says


def test_a_pipeline_without_a_second_batch_takes_twice_as_long() -> None:
    """Step n leaves the FFN: one batch after the other, or two that fill each other."""
    attn, ffn, wire, many, steps = 3, 3, 1, 2, 60
    turn = attn + wire + ffn + wire
    assert turn >= many * max(attn, ffn)  # the loop decides, not a machine
    ready = [0] * many
    free = {"attn": 0, "ffn": 0}
    for step in range(steps):
        batch = step % many
        free["attn"] = max(free["attn"], ready[batch]) + attn
        free["ffn"] = max(free["ffn"], free["attn"] + wire) + ffn
        ready[batch] = free["ffn"] + wire
    words = (
        "Attention #, FFN #, wire # each way, # in flight: step # leaves the FFN at #; "
    )
    said = (attn, ffn, wire, many, steps, free["ffn"], steps * turn - wire)
    assert says("attention_ffn", words + "yours at #.", *said)


def delays(way: str) -> float:
    """Mean time until a request can decode, in s, by the rule that chooses its GPU."""
    link = float(running_example.share().link)
    per_s = [
        float(catalog.link(key).bandwidth) * link
        for key in ("nvlink4", "nvlink4", "infiniband-ndr", "infiniband-ndr")
    ]
    rng, now, waits = random.Random(0), 0.0, list[float]()
    free, held = [0.0] * 4, [list[int]() for _ in per_s]
    for _ in range(400):
        now += rng.expovariate(80.0)
        talk = rng.randrange(12)
        queue = [max(0.0, each - now) for each in free]
        tokens = [2000 if talk in has else 8000 for has in held]
        sent = [n * 131_072 / rate for n, rate in zip(tokens, per_s, strict=True)]
        by = {
            "first": [0.0, 1.0, 1.0, 1.0],
            "least loaded": queue,
            "nearest": [*free[:2], math.inf, math.inf],
            "most cached": [
                1e6 * n + each for n, each in zip(tokens, free, strict=True)
            ],
            "soonest": [*map(max, zip(queue, sent, strict=True))],
        }[way]
        at = by.index(min(by))
        waits.append(max(queue[at], sent[at]))
        free[at] = now + waits[-1] + 0.020
        held[at] = [*(each for each in held[at] if each != talk), talk][-3:]
    return sum(waits) / len(waits)


def test_routers_delay_as_when_each_request_is_sent_again() -> None:
    first, best = delays("first"), delays("soonest")
    simple = min(map(delays, ("nearest", "least loaded", "most cached")))
    words = "not yet: the mean delay is # s; weighing both gives # ms"
    assert says("disaggregation", words, first, 1e3 * best)
    words = "well done: the mean delay is # ms; the best simple rule takes # ms"
    assert says("disaggregation", words, 1e3 * best, 1e3 * simple)


def test_a_gpu_with_a_slice_of_the_experts_has_the_choices_of_that_slice() -> None:
    rows = placing.batch_rows()
    loads = [sum(rows[8 * gpu : 8 * gpu + 8]) for gpu in range(32)]
    most = max(loads)
    words = "not yet: GPU # has # times the mean load"
    assert says("mixture_of_experts", words, loads.index(most), 32 * most / sum(rows))
    words = "well done: the busiest GPU has # times the mean load"
    ((over, off),) = read("mixture_of_experts", words)
    assert 1 - off <= over <= placing.MOST


def test_groups_that_share_a_scale_are_off_by_more_than_their_own_half() -> None:
    weights = [float(each) for each in rounding.row()]
    scale = max(map(abs, weights)) / 7
    wrong = []
    for start in range(0, 32, 8):
        group = weights[start : start + 8]
        off = max(abs(w - scale * round(w / scale)) for w in group)
        allowed = max(map(abs, group)) / 7 / 2
        if off > allowed + 1e-9:
            wrong.append((start // 8 + 1, off, allowed))
    words = "not yet: # of # groups are off … group # by #, allowed #."
    assert says("quantization", words, len(wrong), 4, *wrong[0])


def test_a_draw_from_the_target_gives_tea_too_seldom() -> None:
    draft, target = (0.25, 0.5, 0.25), (0.5, 0.25, 0.25)
    kept = [min(q, p) for q, p in zip(draft, target, strict=True)]
    tea = kept[0] + (1 - sum(kept)) * target[0]
    words = "tea comes with chance #, the target gives it #."
    assert says("speculative_decoding", words, tea, target[0])


def test_scores_near_a_thousand_have_a_softmax_all_the_same() -> None:
    rng = np.random.default_rng(7)
    scores = sorted(map(float, rng.normal(0, 2, 15)))
    values = rng.standard_normal((15, 2))
    parts = [math.exp(score) for score in scores]
    right = [
        sum(part * float(each[i]) for part, each in zip(parts, values, strict=True))
        / sum(parts)
        for i in (0, 1)
    ]
    assert says("flash_attention", "the output is nan, nan, not #, #.", *right)


def test_the_fewest_words_that_reach_p_are_fewer_than_all() -> None:
    words = "not yet: [#, #, #, #, #], p = #: # words do, you keep #."
    *chances, p, few, kept = (value for value, _ in read("end_to_end", words))
    assert chances == sorted(chances, reverse=True)
    reaching = [n for n in range(1, 6) if sum(chances[:n]) >= p - 1e-9]
    assert (few, kept) == (reaching[0], len(chances))


def test_a_chunk_may_see_what_is_cached_and_itself() -> None:
    words = (
        "# of # rows are wrong in request A, a chunk after # cached tokens; its last "
    )
    found = [
        value for value, _ in read("varlen_batching", words + "row may see all # keys")
    ]
    wrong, rows, cached, keys = found
    assert wrong <= rows and cached + rows == keys
