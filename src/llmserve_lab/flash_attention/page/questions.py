"""What to guess before reading about tiles and splits, and to work out after."""

from __future__ import annotations

import math

from llmserve_lab.catalog import model
from llmserve_lab.catalog.evidence.attention import SHARED_PER_BLOCK
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention.arguments import BOOK, decode, head, heads, tile
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question

LONG = head(32_000)
FITS = (
    "all of it, beside the parameters",
    "a few heads at a time, not all 32",
    "not even one head",
)
DOUBLED = ("they halve", "they stay as they are", "they double")
NARROW, ROWS = 96, 128  # a narrow head, and the queries of its tile
STEP = 16  # keys by which a tile grows
BATCH, TP = 4, 8
SCORES = ((1.0, 3.0), (2.0, 5.0))


def _one_head(prompt_len: int) -> float:
    """Bytes of the scores of one head."""
    return float(f.SQUARE_BYTES.at(head(prompt_len) | {"n_heads": 1}))


def _busy() -> float:
    return float(f.BUSY_SHARE.at(decode(BOOK)))


def _keys_that_fit() -> float:
    """The largest tile of keys, in steps of 16, for the narrow head."""
    keys = STEP
    room = float(SHARED_PER_BLOCK)
    known = {"d_head": NARROW}
    while float(f.SHARED_BYTES.at(tile(ROWS, keys + STEP) | known)) <= room:
        keys += STEP
    return float(keys)


def _splits_for_all() -> float:
    """Splits with which a batch on a rank of 70B has a block for every SM."""
    kv_heads = float(heads(model("llama-3.1-70b"))["n_kv_heads"]) / TP
    return math.ceil(float(decode(BOOK)["n_sms"]) / (BATCH * kv_heads))


def _running_sum() -> float:
    """The running sum after the second tile of the four scores."""
    top = [max(scores) for scores in SCORES]
    first, second = (
        sum(math.exp(x - m) for x in scores)
        for scores, m in zip(SCORES, top, strict=True)
    )
    known = {"max_before": top[0], "max_now": top[1]}
    return float(f.RUNNING_SUM(sum_before=first, tile_sum=second, **known))


predict_square = Question(
    name="flash-attention.predict-square",
    kind="predict",
    prompt=(
        f"A prompt of {BOOK:,} tokens, Llama-3.1-8B in 16 bits: its 32 query heads of "
        "a layer each score every query against every key. An H100 has 80 GB, of "
        "which the parameters take 16. How much of a layer's score matrix fits?"
    ),
    choices=FITS,
    answer=lambda: 1.0,
    why=lambda: (
        f"One head has {BOOK:,}² scores of 2 bytes: {si(_one_head(BOOK), 'byte')}. "
        f"All 32 take {si(float(f.SQUARE_BYTES.at(head(BOOK))), 'byte')}."
    ),
    hints=(
        Hint(lambda: 0.0, "All heads together have 307 billion scores."),
        Hint(lambda: 2.0, "One head has 9.6 billion scores of 2 bytes each."),
    ),
)
predict_tile = Question(
    name="flash-attention.predict-tile",
    kind="predict",
    prompt=(
        "A kernel doubles its tile of queries from 128 to 256 and leaves its tile of "
        "keys as it is. What happens to the bytes read of keys and values?"
    ),
    choices=DOUBLED,
    answer=lambda: 0.0,
    why=lambda: (
        "They halve: keys and values go by once for each tile of queries, and there "
        "are half as many. The tile of keys only decides in how many pieces they come."
    ),
    hints=(
        Hint(lambda: 1.0, "How often does a key come by? Once a tile of queries."),
        Hint(
            lambda: 2.0, "Fewer tiles of queries: each key has to come by less often."
        ),
    ),
)
predict_busy = Question(
    name="flash-attention.predict-busy",
    kind="predict",
    prompt=(
        "One request decodes with Llama-3.1-8B on an H100. A kernel gives each of the "
        "8 key–value heads to one of 132 multiprocessors, with the four queries that "
        "share it. What share of the multiprocessors has work (between 0 and 1)?"
    ),
    answer=_busy,
    rel_tol=0.05,
    hints=(
        Hint(
            lambda: 4 * _busy(),
            "That counts a block for each query head; the four of a group share one.",
        ),
    ),
    why=lambda: (
        f"8 of 132: {si(_busy(), 'dimensionless')}. The others wait, however long the "
        "cache is."
    ),
)
square = Question(
    name="flash-attention.square",
    prompt=(
        "How many bytes are the scores of one head for a prompt of 32,000 tokens, in "
        "16 bits? Work it out by hand."
    ),
    answer=lambda: _one_head(32_000),
    unit="byte",
    rel_tol=0.03,
    hints=(
        Hint(
            lambda: _one_head(32_000) / 2,
            "So many scores there are; each has two bytes.",
        ),
        Hint(
            lambda: float(f.SQUARE_BYTES.at(LONG)),
            "So much are all 32 heads of a layer.",
        ),
    ),
    why=lambda: (
        "32,000² is about a billion scores, of two bytes each: "
        f"{si(_one_head(32_000), 'byte')}."
    ),
)
running = Question(
    name="flash-attention.running-sum",
    prompt=(
        "A row's first tile has the scores 1 and 3, its second 2 and 5. What is the "
        "running sum after the second?"
    ),
    answer=_running_sum,
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: 1 + math.exp(-2) + math.exp(-3) + 1,
            "The first sum was not rescaled to the new maximum.",
        ),
        Hint(
            lambda: 1 + math.exp(-3),
            "That is the second tile alone; the first one counts, too.",
        ),
    ),
    why=lambda: (
        "The first tile leaves maximum 3 and sum 1.135. The second raises the maximum "
        "to 5: 1.135 · exp(−2) + exp(−3) + 1 = "
        f"{si(_running_sum(), 'dimensionless')}."
    ),
)
keys_that_fit = Question(
    name="flash-attention.keys-that-fit",
    prompt=(
        "Heads of 96 in 16 bits, 128 queries a tile, two tiles of keys and two of "
        "values on chip at a time. A thread block may take 232,448 bytes of shared "
        "memory. How many keys may a tile have, if the number grows in steps of 16?"
    ),
    answer=_keys_that_fit,
    unit="token",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: 2 * _keys_that_fit() + STEP,
            "On chip are keys and values: two tiles of each.",
        ),
        Hint(
            lambda: _keys_that_fit() + STEP,
            "The tile of queries takes 24,576 bytes; one step less fits.",
        ),
    ),
    why=lambda: (
        "The queries take 128 · 96 · 2 = 24,576 bytes, each key with its value 384, "
        "twice for two stages: 207,872 / 768 = 270.7. In steps of 16 that is "
        f"{si(_keys_that_fit(), 'token')}."
    ),
)
splits = Question(
    name="flash-attention.splits",
    prompt=(
        "Llama-3.1-70B is spread over eight H100 so that each GPU holds one of its 8 "
        "key–value heads in every layer. Four requests decode. With how many splits "
        "has each of the 132 multiprocessors of a GPU at least one thread block?"
    ),
    answer=_splits_for_all,
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: _splits_for_all() * BATCH,
            "Each of the four requests brings a block for each split.",
        ),
        Hint(
            lambda: math.ceil(_splits_for_all() / TP),
            "A GPU holds one key–value head, not all eight.",
        ),
    ),
    why=lambda: (
        "Four requests times one head give 4 blocks a split: 132 / 4 = "
        f"{si(_splits_for_all(), 'dimensionless')}."
    ),
)
