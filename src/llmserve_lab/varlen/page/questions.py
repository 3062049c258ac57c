"""What to guess before reading about unlike requests, and to work out after."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of, square_share

TWO, THREE = batch_of((10, 30)), batch_of((20, 50, 80))
LONG, SHORT = batch_of((1000,)), batch_of((100,) * 10)
ARTICLE = workload(catalog.model("tiny-512"), absorbed=False)
LLAMA = workload(catalog.model("llama-3-8b"), absorbed=False)
H100 = machine(catalog.accelerator("h100-sxm"))
MIXED = batch_of((100, 100, 100, 3700))
BRANCHES = ("attention", "the linear layers")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


predict_masked = Question(
    name="varlen.predict-masked",
    kind="predict",
    prompt=(
        "Requests of 10 and 30 tokens are laid end to end, and attention computes the "
        "whole square of rows by rows before it masks. How many query–key pairs does "
        "it compute, per layer and head?"
    ),
    answer=lambda: f.MASKED_PAIRS.at(TWO),
    unit="pair",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: f.VARLEN_PAIRS.at(TWO),
            "That is what the two requests need; the square has more in it.",
        ),
    ),
    why=lambda: (
        f"All {si(f.PACKED_ROWS.at(TWO), 'token')} meet each other: "
        f"{si(f.MASKED_PAIRS.at(TWO), 'pair', 6)}. The blocks of the two requests "
        f"are {si(f.VARLEN_PAIRS.at(TWO), 'pair', 6)}."
    ),
)
predict_dominates = Question(
    name="varlen.predict-dominates",
    kind="predict",
    prompt=(
        "One request of 1,000 tokens goes through a model of width 512 with eight "
        "layers. Where are most of the FLOPs?"
    ),
    choices=BRANCHES,
    answer=lambda: float(f.ATTN_SHARE.at(LONG, ARTICLE) < 0.5),
    why=lambda: (
        "In the linear layers: attention does "
        f"{_percent(f.ATTN_SHARE.at(LONG, ARTICLE))} of the FLOPs, or "
        f"{_percent(square_share(LONG, ARTICLE))} where the masked half is computed "
        f"too. It draws level at {si(f.OVERTAKE_PROMPT.at(ARTICLE), 'token')}."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Attention grows with the square of the length, but from a small start.",
        ),
    ),
)
predict_split = Question(
    name="varlen.predict-split",
    kind="predict",
    prompt=(
        "The same 1,000 tokens come as ten requests of 100 each. By what factor does "
        "varlen attention compute fewer pairs?"
    ),
    answer=lambda: f.VARLEN_PAIRS.at(LONG) / f.VARLEN_PAIRS.at(SHORT),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: (f.VARLEN_PAIRS.at(LONG) / f.VARLEN_PAIRS.at(SHORT)) ** 2,
            "Each block is that much smaller, but there are ten of them.",
        ),
    ),
    why=lambda: (
        "A block is a hundredth of the square and there are ten: "
        f"{si(f.MASKED_RATIO.at(SHORT), 'dimensionless')} times fewer, the number "
        "of requests."
    ),
)
waste = Question(
    name="varlen.waste",
    prompt=(
        "Requests of 20, 50 and 80 tokens are padded to the longest. Which share of "
        "the rows is padding (a number between 0 and 1)?"
    ),
    answer=lambda: f.PADDING_SHARE.at(THREE),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: f.PADDED_ROWS.at(THREE) / f.PACKED_ROWS.at(THREE) - 1,
            "That is padding over tokens; it was asked for padding over rows.",
        ),
    ),
    why=lambda: (
        "Equation [padding_share](#eq-padding_share), one minus mean over longest: "
        f"{si(f.PADDING_SHARE.at(THREE), 'dimensionless')}."
    ),
)
row = Question(
    name="varlen.row",
    prompt=(
        "Three requests of 100 tokens and one of 3,700 are packed. How long is the "
        "request that a row, picked at random, belongs to, on average?"
    ),
    answer=lambda: f.ROW_PROMPT.at(MIXED),
    unit="token",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: MIXED["mean_prompt"],
            "That is the mean over requests; most rows belong to the long one.",
        ),
    ),
    why=lambda: (
        "Equation [row_prompt](#eq-row_prompt), mean square over mean: "
        f"{si(f.ROW_PROMPT.at(MIXED), 'token')}."
    ),
)
overtake = Question(
    name="varlen.overtake",
    prompt=(
        "Llama-3-8B prefills one prompt with a kernel that computes only what the "
        "causal mask allows. From which length on is more of the work in attention?"
    ),
    answer=lambda: f.OVERTAKE_PROMPT.at(LLAMA),
    unit="token",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: f.OVERTAKE_SQUARE.at(LLAMA),
            "So it is if the masked half of the square is computed too.",
        ),
    ),
    why=lambda: (
        f"Equation {f.OVERTAKE_PROMPT.link}: "
        f"{si(f.OVERTAKE_PROMPT.at(LLAMA), 'token')}."
    ),
)
ridge_rows = Question(
    name="varlen.ridge-rows",
    prompt=(
        "Llama-3-8B in 16 bits on an H100, requests of 100 tokens. How many packed "
        "rows does it take to be compute-bound, attention counted?"
    ),
    answer=lambda: f.PACKED_RIDGE_ROWS.at(LLAMA, H100, row_prompt=100.0),
    unit="token",
    rel_tol=0.02,
    why=lambda: (
        "Equation [packed_ridge_rows](#eq-packed_ridge_rows): "
        f"{si(f.PACKED_RIDGE_ROWS.at(LLAMA, H100, row_prompt=100.0), 'token')}, "
        "a handful of requests."
    ),
)
