"""Article 01, an LLM end to end, recomputed by running a model; the roadmap with it."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog import MODELS
from llmserve_lab.claims import roadmap
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.counted import COUNTS
from llmserve_lab.claims.parts import Number, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.shapes import step_shape
from llmserve_lab.end_to_end.stability import same_bits
from llmserve_lab.end_to_end.toy import TEXT, WORDS, tokenize, toy
from llmserve_lab.formula.text import plain
from llmserve_lab.tensor_parallel import article

WIDE = {"q_proj": 1, "k_proj": 1, "v_proj": 1, "up_proj": 4, "down_proj": 1}
LONG = 500
TOKENS = tokenize(TEXT)


def shapes(*names: str, place: str = "block 1") -> dict[str, tuple[int, ...]]:
    """Shapes of some intermediates when the toy reads the chapter's text."""
    return {n: step_shape(toy(), TOKENS, place=place, step=n) for n in names}


def scores_grow() -> float:
    """Numbers in the score tensor for twice the tokens, over those for once."""
    sizes = [
        np.prod(step_shape(toy(), tokens, place="block 1", step="scores"))
        for tokens in (TOKENS, TOKENS * 2)
    ]
    return float(sizes[1] / sizes[0])


@cache
def position_five_stays() -> bool:
    """Whether five rows have the same bits alone and in a sequence of 500."""
    tokens = [place % len(WORDS) for place in range(LONG)]
    return same_bits(toy(), tokens, prefix=5)


def pass_lengths() -> list[int]:
    """Rows of each pass of a loop without a cache."""
    passes = both_loops(toy(), TOKENS, len(TOKENS)).recomputed.tally.passes
    return [each.rows for each in passes]


def off_by(prompt: int, new: int) -> float:
    """What (N + K)² / 2 says, over the rows that the loop really runs."""
    return float(_half_square("", prompt, new).ratio)


def _half_square(label: str, prompt: int, new: int) -> Size:
    """What (N + K)² / 2 says, beside the rows that the loop really runs."""
    return Size(
        "(N + K)²/2",
        lambda: (prompt + new) ** 2 / 2,
        lambda: float(f.RECOMPUTE_ROWS(prompt_len=prompt, new_tokens=new)),
        label=f"{label}, rows:",
    )


def widths_that_differ() -> dict[str, tuple[int, int]]:
    """Models whose heads side by side are not as wide as a row: h·d_h and d."""
    sizes = {
        m.name: (m.attention.n_heads * m.attention.d_head, m.d_model)
        for m in MODELS.values()
    }
    return {name: size for name, size in sizes.items() if size[0] != size[1]}


def _shown_widths() -> str:
    found = widths_that_differ().items()
    return "; ".join(f"{name}: {wide} in rows of {d}" for name, (wide, d) in found)


def mentions_of_a_cache() -> int:
    """How often article 01 speaks of a cache."""
    return COUNTS["mentions of a cache in article 01"].found


CLAIMS = (
    *roadmap.CLAIMS,
    Claim(
        id="01-01",
        section="§1",
        says="Looking up N tokens makes a tensor of N rows, d numbers wide",
        parts=(
            Statement(
                "[N × d]",
                lambda: (
                    shapes("embedding", place="model")["embedding"]
                    == (len(TOKENS), toy().shape.d_model)
                ),
                lambda: str(shapes("embedding", place="model")["embedding"]),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Every block takes rows of this shape and returns them in this shape.",
    ),
    Claim(
        id="01-02",
        section="§3",
        says="Widths inside a block: d to 3d for QKV, d to 4d and back in the FFN",
        parts=(
            Statement(
                "3d, 4d, d",
                lambda: all(
                    shapes(name)[name] == (len(TOKENS), times * toy().shape.d_model)
                    for name, times in WIDE.items()
                ),
                lambda: str(shapes(*WIDE)).strip("{}").replace("'", ""),
            ),
        ),
        verdict=Ruling.EXACT,
        why="It is so with as many key–value heads as heads and a GeLU; grouped "
        "queries make keys and values narrower, a SwiGLU has three matrices.",
    ),
    Claim(
        id="01-03",
        section="§5",
        says="Each of h heads is d/h wide",
        parts=(
            Number(
                "64",
                "dimensionless",
                lambda: article.SHAPE.d_model / article.SHAPE.attention.n_heads,
                label="512/8 =",
            ),
        ),
        verdict=Ruling.EXACT,
        why="It defines the width of a head; the sentence after it is judged below.",
        by_definition=True,
    ),
    Claim(
        id="01-03b",
        section="§5",
        says="In real models, too, the heads side by side are as wide as a row",
        parts=(
            Statement("h·d_head = d", lambda: not widths_that_differ(), _shown_widths),
        ),
        verdict=Ruling.WRONG,
        why="It holds for many models; in others the heads side by side are wider than "
        "a row, and the output projection brings them back to d.",
    ),
    Claim(
        id="01-04",
        section="§7",
        says="The scores are h × N × N numbers, quadratic in the sequence length",
        parts=(
            Statement(
                "[h × N × N]",
                lambda: (
                    shapes("scores")["scores"]
                    == (toy().shape.attention.n_heads, len(TOKENS), len(TOKENS))
                    and scores_grow() == 4
                ),
                lambda: (
                    f"{shapes('scores')['scores']}, and {plain(scores_grow())} times "
                    "as many numbers for twice the tokens"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="With a cache a decoding pass has one row of scores a head, not N.",
    ),
    Claim(
        id="01-05",
        section="§6",
        says="Position 5 has the same hidden state in 5 tokens and in 500",
        parts=(
            Statement(
                "the same",
                position_five_stays,
                lambda: f"equal bits alone and in a sequence of {LONG}",
            ),
        ),
        verdict=Ruling.EXACT,
        why="To the last bit if sums are added in a fixed order; a fast matrix product "
        "may round differently for another number of rows.",
    ),
    Claim(
        id="01-06",
        section="§9",
        says="The K-th forward runs on N + K − 1 tokens",
        parts=(
            Statement(
                "N + K − 1",
                lambda: (
                    pass_lengths()
                    == [len(TOKENS) + k - 1 for k in range(1, len(TOKENS) + 1)]
                ),
                lambda: f"passes over {', '.join(map(str, pass_lengths()))} tokens",
            ),
        ),
        verdict=Ruling.EXACT,
        why="The last token generated is never run, so it is not N + K.",
    ),
    Claim(
        id="01-07",
        section="§9",
        says="Recomputing takes about (N + K)²/2 of work, quadratic in the length",
        parts=(
            _half_square("a short prompt", 1, 1000),
            _half_square("a long prompt", 1000, 100),
        ),
        verdict=Ruling.WRONG,
        why="The prompt's own N²/2 must be taken off, which for a prompt much longer "
        "than the answer is nearly all of it; and the pairs of attention are cubic.",
    ),
    Claim(
        id="01-08",
        section="§9–10",
        says="Article 05 sends its reader here for the mechanics of the KV cache",
        parts=(
            Statement(
                "the KV cache is in article 01",
                lambda: mentions_of_a_cache() > 0,
                lambda: f"a cache is mentioned there {mentions_of_a_cache()} times",
            ),
        ),
        verdict=Ruling.WRONG,
        why="It ends with the question what to remember and where, and has no word on "
        "a cache: the loop that it describes runs everything again.",
    ),
)
