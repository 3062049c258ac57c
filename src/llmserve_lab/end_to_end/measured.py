"""A published measurement of the loop with and without a cache, beside the count."""

from __future__ import annotations

from llmserve_lab.catalog import Cited
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table

SOURCE = (
    "S. Raschka, LLMs-from-scratch, ch04/03_kv-cache/README.md (2025): GPT-2 small, "
    "untrained, on the CPU of a Mac mini M4"
)
AGAIN = Cited(27, "token/s", "measured", SOURCE, "everything again for each token")
CACHED = Cited(110, "token/s", "measured", SOURCE, "keys and values concatenated")
PARAMETERS = Cited(124e6, "parameter", "measured", SOURCE, "GPT-2 small")
WEIGHT_BYTES = Cited(4, "byte/parameter", "convention", SOURCE, "PyTorch's float32")
PROMPT = Cited(4, "token", "measured", SOURCE)
ANSWER = Cited(200, "token", "measured", SOURCE)


def speed_up() -> float:
    """How many times as fast the cache made it."""
    return float(CACHED) / float(AGAIN)


def counted() -> float:
    """How many times fewer rows it computes, by the formula."""
    size = {"prompt_len": float(PROMPT), "new_tokens": float(ANSWER)}
    return float(f.ROWS_RATIO.at(size))


def flops_per_s(*, cached: bool) -> float:
    """FLOPs a second in the matrices, at two for each parameter and row that is run."""
    size = {"prompt_len": float(PROMPT), "new_tokens": float(ANSWER)}
    rows = (f.CACHED_ROWS if cached else f.RECOMPUTE_ROWS).at(size)
    tokens_per_s = float(CACHED if cached else AGAIN)
    return 2 * float(PARAMETERS) * float(rows) / float(ANSWER) * tokens_per_s


def bytes_per_s() -> float:
    """Bytes of weights read a second with the cache, all of them for each token."""
    return float(PARAMETERS) * float(WEIGHT_BYTES) * float(CACHED)


def table() -> Table:
    """What was measured, and what was counted."""
    size = {"prompt_len": float(PROMPT), "new_tokens": float(ANSWER)}
    rows = [
        (
            name,
            f"{si(float(speed), 'token/s')}",
            f"{formula.at(size):,.0f}",
        )
        for name, speed, formula in (
            ("everything again", AGAIN, f.RECOMPUTE_ROWS),
            ("with a cache", CACHED, f.CACHED_ROWS),
        )
    ]
    rows.append(("ratio", f"{speed_up():.1f}", f"{counted():.0f}"))
    columns = ("loop", "measured", "rows, counted")
    return Table(
        "GPT-2 small on a Mac mini M4, a prompt of 4 and an answer of 200 tokens",
        columns,
        rows,
    )
