"""Article 06, section 3: the bytes that a token leaves in the cache."""

from __future__ import annotations

from functools import partial

from llmserve_lab.catalog import MODELS, ModelShape
from llmserve_lab.claims.article_06.setting import at, kib_as_kb, setting
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain
from llmserve_lab.roofline import formulas as f

DEEPSEEK = MODELS["deepseek-v3"]

in_section_3 = partial(Claim, section="§3")


def kappa() -> float:
    """KV bytes per token from the shape, as the article multiplies them."""
    return at(f.KV_BYTES_PER_TOKEN)


def times_smaller(model: ModelShape) -> float:
    """KV bytes if every head of ``model`` cached key and value, over its own."""
    heads = {"n_layers": model.n_layers, "d_head": model.attention.d_head}
    full = at(f.KV_BYTES_PER_TOKEN, n_kv_heads=model.attention.n_heads, **heads)
    return full / model.kv_bytes_per_token(setting()["bytes_kv"])


def savings(*kinds: str) -> tuple[float, float]:
    """Least and most that attention of these kinds saves, over the catalog's models."""
    found = [times_smaller(m) for m in MODELS.values() if m.attention.kind in kinds]
    return min(found), max(found)


def against_llama(model: ModelShape) -> float:
    """KV bytes per token of Llama-2-7B over those of ``model``."""
    return kappa() / model.kv_bytes_per_token(setting()["bytes_kv"])


CLAIMS = (
    in_section_3(
        id="06-03",
        says="KV bytes per token of Llama-2-7B, from its layers, heads and head width",
        parts=(
            Number(
                "≈ 512 KB/token",
                "byte/token",
                kappa,
                readings={"KiB printed as KB": lambda: kib_as_kb(kappa())},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It is 512 KiB, printed beside 14 GB, which counts in thousands.",
    ),
    in_section_3(
        id="06-38",
        says="How many times smaller GQA and MLA make the cache of a token",
        parts=(
            Number("4–8×", "dimensionless", lambda: savings("GQA"), label="GQA"),
            Number("4–8×", "dimensionless", lambda: savings("MLA"), label="MLA"),
        ),
        verdict=Ruling.WRONG,
        why=lambda: (
            "Against as many heads that each cache a key and a value, GQA saves that "
            "much in most models and more in Llama-3.1-405B, MLA several times more; "
            "only beside the cache of Llama-2-7B is DeepSeek-V3's no more than "
            f"{plain(against_llama(DEEPSEEK))}× smaller."
        ),
    ),
)
