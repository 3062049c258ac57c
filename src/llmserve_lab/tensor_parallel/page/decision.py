"""One group of eight GPUs or two groups of four: what each is better at, in a table."""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.band import Band, Limit, Unmeasured
from llmserve_lab.page.banded import banded
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import PROMPT, band
from llmserve_lab.tensor_parallel import byhand
from llmserve_lab.tensor_parallel.arguments import MODEL
from llmserve_lab.validation.bands import Predicted

ONE, HALF = 8, 4  # GPUs of the one group, and of each of the two
SERVED = (1, 32, 512)  # requests that decode at a time, over all eight GPUs
Off = Band | Limit | Unmeasured


def _band(kind: Predicted, clients: int, tp: int) -> Off:
    return band(kind, clients=clients, tp=tp, model_key=MODEL.key)


def tokens_per_s(n_gpus: int, batch: int) -> float:
    """Tokens per second of one group whose requests all decode."""
    return batch / byhand.iteration_s(n_gpus, batch=batch)


def prompts_per_s(n_gpus: int) -> float:
    """Usual prompts per second of one group that only reads prompts, one by one."""
    return 1 / byhand.prefill_s(n_gpus)


def _decode(batch: int) -> tuple[object, ...]:
    """Tokens per second of all eight GPUs, either way."""
    if batch == 1:
        name, pair = "1 request", (tokens_per_s(ONE, 1), tokens_per_s(HALF, 1))
        each = 1
    else:
        name, each = f"{batch} requests", batch // 2
        pair = (tokens_per_s(ONE, batch), 2 * tokens_per_s(HALF, each))
    cells = (
        banded((rate, "token/s"), _band("decode_step", clients, tp).inverse())
        for rate, clients, tp in zip(pair, (batch, each), (ONE, HALF), strict=True)
    )
    return (name, *cells, f"{pair[0] / pair[1]:.2f}")


def choice() -> Table:
    """Eight H100s for Llama-3.1-70B in BF16, as one group or as two."""
    read = [byhand.prefill_s(g) for g in (ONE, HALF)]
    rate = [prompts_per_s(ONE), 2 * prompts_per_s(HALF)]
    room = [byhand.cached_tokens(ONE), 2 * byhand.cached_tokens(HALF)]
    rows: list[tuple[Any, ...]] = [
        (
            f"{PROMPT:,}-token prompt",
            *(
                banded((seconds, "s"), _band("ttft", 1, g))
                for seconds, g in zip(read, (ONE, HALF), strict=True)
            ),
            f"{read[1] / read[0]:.2f}",
        ),
        (
            "prompts only",
            *(f"{each:.1f} prompts/s" for each in rate),
            f"{rate[0] / rate[1]:.2f}",
        ),
        *(_decode(batch) for batch in SERVED),
        (
            "room for cache",
            *(f"{each:,} tokens" for each in room),
            f"{room[0] / room[1]:.2f}",
        ),
    ]
    columns = ("what is asked", "TP 8", "2 × TP 4", "TP 8 gains")
    return Table(
        "Eight H100s: one group of eight, or two groups of four", columns, rows
    )
