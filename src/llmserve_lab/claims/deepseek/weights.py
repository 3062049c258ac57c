"""Section 3.1: the bytes of weights and activations."""

from __future__ import annotations

from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    MIXED,
    PLACE,
    ROUNDED,
    V3,
    WRONG,
    all_expert_bytes,
    attention_bytes,
    expert_bytes,
    moe_layers,
    number,
    statement,
)
from llmserve_lab.formula.text import plain, si

SECTION, LATENT, FFN = "§3.1.1", PLACE.latent, PLACE.experts
HEADS = LATENT.n_heads
MATRICES = (
    ("query down", "11.0 MB", V3.d_model, LATENT.d_q or 0),
    ("query up", "25.2 MB", LATENT.d_q or 0, HEADS * LATENT.d_head),
    ("rotary query", "12.6 MB", LATENT.d_q or 0, HEADS * LATENT.d_rope),
    ("latent", "3.7 MB", V3.d_model, LATENT.d_latent),
    ("key up", "8.4 MB", LATENT.d_latent, HEADS * LATENT.d_head),
    ("value up", "8.4 MB", LATENT.d_latent, HEADS * LATENT.d_v),
    ("rotary key", "0.5 MB", V3.d_model, LATENT.d_rope),
    ("output", "117.4 MB", HEADS * LATENT.d_v, V3.d_model),
)


def _matrix(index: int) -> Claim:
    name, printed, rows, columns = MATRICES[index]
    return number(
        f"004-{index + 1:02}",
        SECTION,
        f"Bytes of the {name} matrix of attention",
        printed,
        "byte",
        lambda: float(rows * columns),
    )


def rounded_sum() -> float:
    """The printed matrices, added up as printed."""
    return sum(round(rows * columns / 1e5) for *_, rows, columns in MATRICES) * 1e5


def first_above() -> int:
    """GPUs from which attention's weights outweigh an even share of the experts."""
    gpus = 1
    while all_expert_bytes() / gpus >= attention_bytes():
        gpus += 1
    return gpus


def dense_bytes() -> float:
    """One matrix of a dense layer."""
    return float(FFN.d_ff_dense * V3.d_model)


CLAIMS = (
    *(_matrix(index) for index in range(len(MATRICES))),
    number(
        "004-09",
        SECTION,
        "Bytes of attention's weights in a layer",
        "187.2 MB",
        "byte",
        lambda: attention_bytes() / V3.n_layers,
        MIXED,
        "The parts are added up as they were rounded.",
        The_rounded_parts_added=rounded_sum,
    ),
    number(
        "004-10",
        SECTION,
        "Bytes of attention's weights in all layers",
        "11.4 GB",
        "byte",
        attention_bytes,
    ),
    number(
        "004-11",
        "§2.4",
        "Weights of attention that every GPU holds",
        "≈ 10 GB",
        "byte",
        attention_bytes,
        MIXED,
        "A later section prints three digits, and they are right.",
        elsewhere="11.4 GB",
    ),
    number(
        "004-28",
        SECTION,
        "Activations of a row that attention reads and writes",
        "≈ 0.9 MB",
        "byte",
        lambda: 2.0 * V3.d_model * V3.n_layers,
    ),
    number(
        "004-29",
        "§3.1.2",
        "Activations of a row that experts read and write",
        "≈ 1.4 MB",
        "byte",
        lambda: 3.0 * V3.d_model * V3.n_layers,
        WRONG,
        "The product beside it is smaller by more than rounding.",
    ),
    number(
        "004-30",
        "§3.1.2",
        "Bytes of one matrix of an expert",
        "≈ 14.7 MB",
        "byte",
        lambda: expert_bytes() / 3,
    ),
    number(
        "004-31",
        "§3.1.2",
        "Bytes of one expert",
        "≈ 45 MB",
        "byte",
        expert_bytes,
        MIXED,
        "Its three matrices were rounded before they were added.",
        Three_matrices_rounded_first=lambda: 3 * round(expert_bytes() / 3e6) * 1e6,
    ),
    statement(
        "004-32",
        "§3.1.2",
        "Every expert has a router",
        "in each expert",
        lambda: PLACE.params("router") > V3.d_model * FFN.n_experts * FFN.n_experts,
        lambda: f"{moe_layers()} routers of {si(V3.d_model * FFN.n_experts, 'byte')}",
        WRONG,
        "A layer has one router for all its experts; the size beside it is that one's.",
    ),
    number(
        "004-33",
        "§3.1.2",
        "Bytes of one matrix of a dense layer",
        "≈ 132 MB",
        "byte",
        dense_bytes,
    ),
    number(
        "004-34",
        "§3.1.2",
        "Bytes of the FFN of a dense layer",
        "≈ 396 MB",
        "byte",
        lambda: 3 * dense_bytes(),
    ),
    number(
        "004-35",
        "§3.1.2",
        "Bytes of the FFNs of all dense layers",
        "≈ 1.2 GB",
        "byte",
        lambda: float(PLACE.params("dense.")),
    ),
    number(
        "004-41",
        "§3.1.3",
        "Bytes of embedding and LM head",
        "≈ 1.9 GB",
        "byte",
        lambda: 2.0 * V3.vocab * V3.d_model,
        ROUNDED,
        "Both are stored; but a look-up reads one row of the table, not all of it.",
    ),
    statement(
        "004-27",
        "§2.4",
        "Attention's weights outweigh a GPU's experts in groups beyond 64",
        "exceeding 64",
        lambda: first_above() <= 65,
        lambda: f"from {first_above()} GPUs on",
        EXACT,
        lambda: (
            "Experts spread evenly, shared one included; with redundant copies it "
            f"takes more than {plain(first_above())}."
        ),
    ),
)
