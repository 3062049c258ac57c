"""Article 07, sections 1 to 3: what is said about the numbers in words."""

from __future__ import annotations

from functools import partial

from llmserve_lab.catalog.records.ffn import SwigluFfn
from llmserve_lab.claims.article_07.setting import TABLE, read_ratio
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Passages, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain
from llmserve_lab.moe.models import DEEPSEEK, LLAMA, QWEN, per_layer
from llmserve_lab.tensor_parallel import article

in_section_1 = partial(Claim, section="§1")
in_section_3 = partial(Claim, section="§3")


def ffn_share() -> float:
    """Share of Llama-2-7B's parameters that lies in its FFNs."""
    return LLAMA.n_layers * per_layer(LLAMA)[0] / LLAMA.params_total


def shares() -> tuple[float, float]:
    """Share of DeepSeek-V3 that a token touches: of the model, of an MoE layer."""
    stored, touched = per_layer(DEEPSEEK)
    return DEEPSEEK.params_active / DEEPSEEK.params_total, touched / stored


def _bytes_read(label: str, n_rows: int) -> Size:
    """Bytes of a layer that are read, over the bytes that are active for one token."""
    return Size(
        "what is active",
        lambda: 1.0,
        lambda: read_ratio(n_rows),
        label=f"read for {label}, over what is active:",
    )


CLAIMS = (
    in_section_1(
        id="07-03",
        says="Well over half of the model lies in the FFNs",
        parts=(
            Statement(
                "well over half",
                lambda: ffn_share() >= 0.6,
                lambda: f"{plain(100 * ffn_share())} %",
                limit="at least 60 %",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Nearly two thirds.",
    ),
    in_section_3(
        id="07-14",
        says="From stored to active is just the ratio in the picture",
        parts=(
            Size(
                "just the ratio",
                lambda: 100 * shares()[1],
                lambda: 100 * shares()[0],
                label="per cent of the model, and of an MoE layer:",
            ),
        ),
        verdict=Ruling.WRONG,
        why="The ratio is one layer's; attention, dense layers and LM head are always "
        "active and make up a good third of what a token touches.",
    ),
    in_section_3(
        id="07-33",
        says="The last row but one of the table shows the routing combinations",
        parts=(Passages("routing combinations", TABLE[-2], "the last row but one"),),
        verdict=Ruling.INCONSISTENT,
        why="They stand one row further up.",
    ),
    in_section_3(
        id="07-34",
        says="The bandwidth bill of decoding is set by what is active, not stored",
        parts=(
            _bytes_read("one request", 1),
            _bytes_read("a batch of 64", 64),
        ),
        verdict=Ruling.WRONG,
        why="It holds for the FLOPs, and for the bytes of a single request; the tokens "
        "of a batch choose different experts, and every one of these is read.",
    ),
    in_section_1(
        id="07-36",
        says="Article 03 walked through an FFN with a SwiGLU",
        parts=(
            Statement(
                "SwiGLU",
                lambda: isinstance(article.SHAPE.ffn, SwigluFfn),
                lambda: f"there it is a {type(article.SHAPE.ffn).__name__}",
            ),
        ),
        verdict=Ruling.WRONG,
        why="It had two matrices and a GeLU.",
    ),
    in_section_3(
        id="07-38",
        says="A layer's active part is smaller than that of the dense model",
        parts=(
            Statement(
                "smaller",
                lambda: per_layer(DEEPSEEK)[1] < per_layer(QWEN)[1],
                lambda: f"{plain(per_layer(DEEPSEEK)[1] / per_layer(QWEN)[1])} of it",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Layer by layer; there are fewer layers too.",
    ),
)
