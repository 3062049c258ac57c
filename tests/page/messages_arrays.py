"""Answers of checks that look at arrays, beside sums over their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from llmserve_lab.flash_attention import exercise as softmax
from llmserve_lab.quantization import exercise as rounding
from llmserve_lab.speculative import exercise as drafts
from llmserve_lab.tensor_parallel import exercise as ranks
from llmserve_lab.varlen import exercise as kernel
from tests.page.messages import answer


def off(weights: Sequence[float], codes: Any, scales: Any) -> list[float]:
    """Groups that are off too far, all, the first of them, by how much, allowed."""
    wrong = list[list[float]]()
    for at, scale in enumerate(scales):
        group = range(8 * at, 8 * at + 8)
        most = max(abs(weights[i] - codes[i] * scale) for i in group)
        allowed = max(abs(weights[i]) for i in group) / 7 / 2
        if most > allowed + 1e-9:
            wrong.append([at + 1, most, allowed])
    return [len(wrong), len(scales), *wrong[0]]


def one_scale() -> list[float]:
    weights = [float(each) for each in rounding.row()]
    scale = max(map(abs, weights)) / 7
    return off(weights, [round(each / scale) for each in weights], [scale] * 4)


def third_cut(weights: Any, group: int) -> tuple[Any, Any]:
    """The solution, but the weights of the third group are cut to whole codes."""
    codes, scales = rounding.a_scale_a_group(weights, group)
    here = slice(2 * group, 3 * group)
    if len(scales) > 2:
        codes[here] = np.trunc(weights[here] / scales[2])
    return codes, scales


def unscaled() -> list[float]:
    """Softmax of the first trial of falling scores, and what forgets to rescale."""
    rng = np.random.default_rng(7)
    scores = sorted((float(each) for each in rng.normal(0, 2, 15)), reverse=True)
    rows = rng.standard_normal((15, 2))
    found = list[float]()
    for tiles in (3, 15):  # the maximum of each tile, of all
        peaks = [max(scores[i - i % tiles : i - i % tiles + tiles]) for i in range(15)]
        parts = np.exp([s - m for s, m in zip(scores, peaks, strict=True)])
        mixed = [
            math.fsum(p * r for p, r in zip(parts, c, strict=True)) for c in rows.T
        ]
        found += [each / math.fsum(map(float, parts)) for each in mixed]
    return found


def forgets(tiles: Any) -> Any:
    """The maximum of each tile, and no rescaling."""
    total, mixed = 0.0, np.zeros(2)
    for scores, values in tiles:
        weights = np.exp(scores - scores.max())
        total, mixed = total + weights.sum(), mixed + weights @ values
    return mixed / total


def all_but(places: Sequence[int]) -> Callable[..., Any]:
    """The kernel of the solution, with some rows of what it returns spoiled."""

    def attend(*given: Any) -> Any:
        out = kernel.aligned_at_the_end(*given)
        out[list(places)] += 1
        return out

    return attend


def raising(*_: Any) -> Any:
    raise RuntimeError("no idea")


def third_is_off(rank: Any, x: Any, up: Any, down: Any) -> Any:
    return ranks.columns_then_rows(rank, x, up, down) + (rank.index == 2)


def by_zero(weights: Any, group: int) -> tuple[Any, Any]:
    """The solution, but a group of zeros has a scale of zero."""
    scales = np.abs(weights.reshape(-1, group)).max(axis=1) / 7
    return np.rint(weights / np.repeat(scales, group)), scales


def three_numbers(x: int, p: Any, q: Any, dice: Any) -> int:
    return int(dice.random() + dice.random() + dice.random())


def draft_kept(x: int, *_: Any) -> int:
    return x


TEA = 0.25 + (1 - 0.25 - 0.25 - 0.25) * 0.5  # kept at once, or drawn from the target
SENT = 3 * 8 * 2 * 3 // 4  # numbers of a ring's all-reduce: 3 x 8, twice 3/4 of it
TWICE = 3 * 3 * (32 + 8) // 4  # two gathers, of three other ranks' columns
ANSWERS = [
    answer("flash_attention", forgets,
           "not yet: with falling scores the output is #, #, not #, #.",
           unscaled),
    answer("flash_attention", lambda _: np.zeros(1),
           "output must have shape (#,), got (#,)", 2, 1),
    answer("flash_attention", softmax.online_softmax,
           "well done: the same as a softmax over all scores, and none was kept."),
    answer("quantization", rounding.a_scale_a_group,
           "well done: every weight is within half the scale of its group."),
    answer("quantization", by_zero,
           "not yet: a group of zeros needs a scale above zero."),
    answer("quantization", rounding.one_scale, OFF := (
           "not yet: # of # groups are off by more than half of the scale that they "
           "need; group # by #, allowed #."), one_scale),
    answer("quantization", third_cut, OFF,
           lambda: off(rounding.row().tolist(), *third_cut(rounding.row(), 8))),
    answer("quantization", lambda x, _: (x, np.ones(4)),
           "not yet: codes must be whole numbers from -# to #.", 7, 7),
    answer("quantization", lambda x, _: (x[:3], x[:1]),
           "codes and scales must have shapes (#,) and (#,), got (#,) and (#,)",
           32, 4, 3, 1),
    answer("speculative_decoding", drafts.redrawn_from_the_target,
           "not yet: tea comes with chance #, the target gives it #.", TEA, 0.5),
    answer("speculative_decoding", drafts.drawn_from_the_residual,
           "well done: every word comes with the target's chance, exactly."),
    answer("speculative_decoding", three_numbers,
           "at most two random numbers may be drawn, got a third"),
    answer("speculative_decoding", draft_kept,
           "not yet: tea comes with chance #, the target gives it #.", 0.25, 0.5),
    answer("speculative_decoding", lambda *_: 7,
           "token must be 0 to #, got #", 2, 7),
    answer("speculative_decoding", "a text", "accept must be a function, got 'a text'"),
    answer("tensor_parallel", raising,
           "not yet: the ranks stopped: ranks 0, 1, 2 and 3 raised RuntimeError: no "
           "idea"),
    answer("tensor_parallel", lambda _rank, x, *_: x[:, :1],
           "not yet: rank # has shape (#, #), not (#, #)", 0, 3, 1, 3, 8),
    answer("tensor_parallel", third_is_off,
           "not yet: rank # has other numbers than one GPU would", 2),
    answer("tensor_parallel", lambda _rank, x, up, down: np.maximum(x @ up, 0) @ down,
           "not yet: nothing was exchanged, so a rank must hold whole matrices"),
    answer("tensor_parallel", ranks.by_columns_twice,
           "not yet: the numbers are right, but there are # exchanges, and each GPU "
           "sends # numbers; one exchange is enough.", 2, TWICE),
    answer("tensor_parallel", ranks.columns_then_rows,
           "well done: one exchange, and each GPU sends # numbers.", SENT),
    answer("varlen_batching", kernel.aligned_at_the_end,
           "well done: every row is what it would be alone."),
    answer("varlen_batching", kernel.aligned_at_the_start,
           "not yet: # of # rows are wrong in request A, a chunk after # cached "
           "tokens; its last row may see all # keys.", 3, 3, 6, 3 + 6),
    answer("varlen_batching", all_but([4, 6]),
           "not yet: # of # rows are wrong in request A, a chunk after # cached "
           "tokens; its last row may see all # keys.", 2, 3, 6, 3 + 6),
    answer("varlen_batching", all_but([7]),
           "not yet: # of # rows are wrong in request B, a decode after # cached "
           "tokens; its last row may see all # keys.", 1, 1, 5, 1 + 5),
    answer("varlen_batching", all_but([0, 3]),
           "not yet: # of # rows are wrong in request C, a fresh prompt; its last row "
           "may see all # keys.", 2, 4, 4),
    answer("varlen_batching", lambda *_: np.zeros((1, 2)),
           "out must have shape (#, #), got (#, #)", 4 + 3 + 1, 8, 1, 2),
]  # fmt: skip
