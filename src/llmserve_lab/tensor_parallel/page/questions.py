"""What to guess before reading the chapter on cuts, and what to work out after it."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.collectives import ENGINE_LIMITS
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.roofline.formulas import STORED_BYTES
from llmserve_lab.running_example import PROMPT
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import (
    DEFAULT,
    DEVICE,
    MODEL,
    sizes_of,
)

BLOCK = sizes_of(article.SHAPE) | {"batch": 1.0, "chunk": float(article.N_ROWS)}
ROWS, RANKS, TWO, FOUR = 2048, 8, 2, 4
CHANGE = ENGINE_LIMITS[FOUR].one_shot


def _token_s(n_gpus: float, batch: float = 1.0) -> float:
    """Seconds of an iteration of decodes with the usual prompt in cache."""
    return worked.iteration_s(n_gpus, batch=batch)


def _cache_tokens(n_gpus: float = TWO) -> float:
    """Tokens of cache in the room that the weights leave."""
    room = n_gpus * float(DEFAULT["hbm_bytes"])
    weights = float(STORED_BYTES.at(DEFAULT))
    return (room - weights) / float(DEFAULT["kv_bytes_per_token"])


def _share() -> float:
    return float(f.PAIRED_SHARE.at(BLOCK))


def _all_reduce_bytes(factor: float = 1.0) -> float:
    """Bytes that leave a rank in a whole prefill, all layers."""
    here = {"batch": 1.0, "chunk": float(ROWS), "n_ranks": float(RANKS)}
    return float(factor * MODEL.n_layers * f.PAIRED_BYTES.at(DEFAULT, **here))


predict_bytes = Question(
    name="tensor-parallel.predict-bytes",
    kind="predict",
    prompt=(
        "Cut by columns everywhere, the block makes four all-gathers. With columns, "
        "then rows, it makes two all-reduces. The bytes that leave each GPU fall …"
    ),
    choices=("to less than half", "to one half", "to more than half"),
    answer=lambda: float(1 + (_share() > 0.5) - (_share() < 0.5)),
    why=lambda: (
        "An all-reduce is a reduce-scatter and then an all-gather: it sends twice what "
        f"a gather of the same rows sends. In this block {plain(_share(), 3)} "
        "of the bytes are left."
    ),
    hints=(
        Hint(lambda: 1.0, "That is the calls. Does each send as much?"),
        Hint(
            lambda: 0.0,
            "There are half as many calls, and each sends more.",
        ),
    ),
)
predict_degree = Question(
    name="tensor-parallel.predict-degree",
    kind="predict",
    prompt=(
        f"{MODEL.name} writes one answer, {PROMPT:,} tokens in its cache. On four "
        f"{DEVICE.name} GPUs a token takes {si(_token_s(4), 's')}. How long does it "
        "take on eight?"
    ),
    choices=(
        "half of that",
        "less, but clearly more than half",
        "as long, or longer",
    ),
    answer=lambda: 1.0 if 0.55 < _token_s(8) / _token_s(4) < 1 else 2.0,
    why=lambda: (
        f"It takes {si(_token_s(8), 's')}. Only the work is halved, "
        f"{si(worked.work_s(4), 's')} to {si(worked.work_s(8), 's')}. The rest, "
        f"{si(_token_s(8) - worked.work_s(8), 's')}, is the fixed time of the layers, "
        "all-reduces included, and stays."
    ),
    hints=(
        Hint(lambda: 0.0, "That would be so if all of it were shared out."),
        Hint(
            lambda: 2.0,
            "It would be so if each all-reduce took long; on eight GPUs one takes "
            "microseconds.",
        ),
    ),
)
predict_head = Question(
    name="tensor-parallel.predict-head",
    kind="predict",
    prompt=(
        "There is one head only, and its features are cut over two GPUs. Each takes "
        "the scores of its half of the features, and the softmax of those. What does "
        "that give, once the outputs are added up?"
    ),
    choices=("the right output", "a wrong output"),
    answer=lambda: 1.0,
    why="Half a score is a partial sum. The softmax of a sum is no sum of softmaxes, "
    "so the scores have to be whole before it.",
    hints=(Hint(lambda: 0.0, "Is the softmax linear?"),),
)
prefill_bytes = Question(
    name="tensor-parallel.prefill-bytes",
    prompt=(
        f"{MODEL.name} reads a prompt of {ROWS} tokens on {RANKS} GPUs in 16 bits; "
        f"its all-reduces go round a ring. It has {MODEL.n_layers} layers; a token is "
        f"a vector of {MODEL.d_model} numbers. How many bytes leave each GPU?"
    ),
    answer=_all_reduce_bytes,
    unit="byte",
    asked_in="GB",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: _all_reduce_bytes(0.5), "An all-reduce is two rounds of the ring."
        ),
        Hint(lambda: _all_reduce_bytes(1 / MODEL.n_layers), "That is one block."),
    ),
    why=lambda: (
        f"In an all-reduce each GPU sends {2 * (RANKS - 1)}/{RANKS} of the vectors. "
        f"There are two in each layer ({f.PAIRED_BYTES.link}): times the layers, "
        f"{si(_all_reduce_bytes(), 'byte')}."
    ),
)
fits = Question(
    name="tensor-parallel.fits",
    prompt=(
        f"Two {DEVICE.name} GPUs hold {MODEL.name} in 16 bits: "
        f"{float(STORED_BYTES.at(DEFAULT)) / 1e6:,.0f} MB of weights. On each GPU "
        f"{float(DEFAULT['hbm_bytes']) / 1e6:,.0f} MB may be used, and a cached token "
        f"takes {float(DEFAULT['kv_bytes_per_token']) / 1e6} MB on both together. "
        "How many tokens of cache fit?"
    ),
    answer=_cache_tokens,
    unit="token",
    rel_tol=0.04,
    hints=(
        Hint(
            lambda: float(DEFAULT["hbm_bytes"]) / float(DEFAULT["kv_bytes_per_token"]),
            "The weights have to fit as well.",
        ),
        Hint(lambda: _cache_tokens() / 2, "A token's cache is cut over both GPUs."),
    ),
    why=lambda: (
        "Twice the room of a GPU, less the weights, over the bytes of a token: "
        f"{si(_cache_tokens(), 'token')}, enough for "
        f"{_cache_tokens() // (PROMPT + 200):.0f} of the book's usual requests of "
        f"{PROMPT + 200:,} tokens. Two GPUs hold the model, but serve few."
    ),
)
turn = Question(
    name="tensor-parallel.turn",
    prompt=(
        f"On four H100s a one-shot all-reduce takes {worked.line('one-shot', FOUR)}, a "
        f"two-shot one {worked.line('two-shot', FOUR)}, where Q is the tensor that "
        f"each GPU holds. The vector of a token of {MODEL.name} has "
        f"{si(worked.row_bytes(), 'byte')}. From how many tokens in an iteration are "
        "two shots faster?"
    ),
    answer=lambda: worked.second_shot_rows(FOUR),
    unit="token",
    rel_tol=0.05,
    hints=(
        Hint(
            lambda: worked.second_shot_rows(8),
            "That is on eight GPUs: on four, three tensors arrive.",
        ),
    ),
    why=lambda: (
        "Set both equal: the difference of the starts over that of the times per byte "
        f"is {si(worked.second_shot_bytes(FOUR), 'byte')}, the vectors of "
        f"{si(worked.second_shot_rows(FOUR), 'token')}. vLLM changes over at "
        f"{float(CHANGE) / 1024:g} KiB, those of "
        f"{si(float(CHANGE) / worked.row_bytes(), 'token')}: near that, and there the "
        "two differ by little."
    ),
)
