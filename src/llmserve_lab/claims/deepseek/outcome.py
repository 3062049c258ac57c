"""Section 4: what fits, what a service level leaves, and what was measured."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    NODE_INPUT_COMPUTED,
    NODE_INPUT_TOKENS,
)
from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    MIXED,
    ROUNDED,
    SMALL,
    V3,
    WRONG,
    number,
    size,
    statement,
    untold,
)
from llmserve_lab.claims.parts import Size
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.setup import SETUPS
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import si

H100 = accelerator("h100-sxm")
LONG, LEVEL = 32_768, 20.0
KAPPA = V3.kv_bytes_per_token()
PAPER_ROOM = 20e9  # bytes: its own assumption, in the claim about requests


def twin(place: str) -> Twin:
    """The twin of one of the paper's setups."""
    return Twin(setup=SETUPS[place], assumptions=book_assumptions())


def rate(place: str, batch: float) -> float:
    """Tokens per second and GPU with the context of the measurements."""
    return float(
        twin(place).gpu_tokens_per_s(batch=batch, context=2000, in_memory=False)
    )


def room(usable: float | None = None) -> float:
    """Bytes left for the cache on a GPU of the small setup."""
    small = Twin(setup=SMALL, assumptions=book_assumptions())
    share = small.assumptions.usable_memory if usable is None else usable
    return share * float(H100.hbm_bytes) - small.resident_bytes()


def requests(kappa: float) -> float:
    """Requests in all of the room that the paper assumes."""
    return PAPER_ROOM * SMALL.n_gpus / (kappa * LONG)


def level(place: str) -> int:
    """Largest batch at the service level, in halves or one after another."""
    ours = twin(place)
    turn = replace(ours, assumptions=replace(ours.assumptions, overlap="none"))
    return max(way.batch_at(LEVEL, context=4096) for way in (ours, turn))


CLAIMS = (
    statement(
        "004-71",
        "§4",
        "At batch 512 a GPU of 4 × 8 makes more than one of 9 × 8",
        "higher at 512",
        lambda: rate("4 × 8 H100", 512) > rate("9 × 8 H100", 512),
        lambda: " and ".join(
            si(rate(p, 512), "token/s") for p in ("4 × 8 H100", "9 × 8 H100")
        ),
        EXACT,
        "Fewer nodes leave more of the copies at home.",
    ),
    number(
        "004-72",
        "§4",
        "Requests of 32,768 tokens in 20 GB on each of 32 GPUs",
        "≈ 279",
        "dimensionless",
        lambda: requests(V3.kv_bytes_per_token()),
        ROUNDED,
        "The cache of a token was rounded first, as the printed product says.",
    ),
    number(
        "004-73",
        "§4",
        "Memory left for the cache on a GPU of 4 × 8 H100",
        "≈ 20 GB",
        "byte",
        room,
        MIXED,
        "It depends on how much the engine keeps for itself, which is not said.",
        A_quarter_kept_for_the_engine=lambda: room(0.75),
    ),
    untold(
        "004-74",
        "§3.6",
        "Requests are evicted beyond batch 1024",
        "A run of the authors; context and memory settings are not printed.",
    ),
    number(
        "004-76",
        "§4",
        "Mean context that DeepSeek reports",
        "4989 tokens",
        "token",
        lambda: float(DEEPSEEK_DECODE.context),
        EXACT,
        "As published.",
    ),
    number(
        "004-77",
        "§4",
        "Percent of input tokens that hit the cache",
        "56.3",
        "dimensionless",
        lambda: 100 * (1 - float(NODE_INPUT_COMPUTED) / float(NODE_INPUT_TOKENS)),
        ROUNDED,
        "From the input of a node with and without the hits.",
    ),
    size(
        "004-81",
        "Table 1",
        "B is the global batch, and each GPU holds and reads B caches",
        Size(
            "B undivided",
            lambda: requests(KAPPA) * KAPPA * LONG,
            lambda: PAPER_ROOM,
            unit="byte",
            where="§4, room on a GPU",
        ),
        WRONG,
        "Attention is data-parallel: memory and FLOPs of a GPU are those of its share, "
        "as the source itself reckons in section 4.",
    ),
    statement(
        "004-82",
        "§3.5 (50)",
        "Tokens per second of a request are one over the step",
        "1/T",
        lambda: float(f.USER_TOKENS_PER_S(accepted=1, twin_step_s=0.25)) == 4,
        lambda: "a step of a quarter of a second makes four",
        EXACT,
        "Without drafts.",
        by_definition=True,
    ),
    statement(
        "004-84",
        "Fig. 17",
        "At 20 tokens per second the rack takes the largest batch",
        "outshines",
        lambda: max(SETUPS, key=level) == "12 × 4 GB200",
        lambda: ", ".join(f"{name}: {level(name)}" for name in SETUPS),
        EXACT,
        "Its wire is as fast between trays as inside one.",
    ),
    untold(
        "004-85",
        "§3.6",
        "The model agrees reasonably with measurements",
        "Figures show it, no number is printed; the chapter prints its own errors.",
    ),
)
