"""What to guess before reading the chapter, and what to work out after it."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import workload
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.arguments import block_of
from llmserve_lab.end_to_end.stability import same_bits
from llmserve_lab.end_to_end.toy import TEXT, tokenize, toy
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question

PROMPT, ANSWER = 1024, 256
LLAMA = catalog.model("llama-3-8b")
BIG = catalog.model("llama-3-70b")
REQUEST: dict[str, float] = {"prompt_len": PROMPT, "new_tokens": ANSWER}


def _twice(formula: Formula) -> float:
    """How much a cost grows when an answer to a short prompt is twice as long."""
    short = {"prompt_len": 1.0, "new_tokens": 4096.0}
    return float(formula.at(short, new_tokens=8192.0) / formula.at(short))


predict_rows = Question(
    name="end-to-end.predict-rows",
    kind="predict",
    prompt=(
        f"A prompt has {PROMPT} tokens and the answer gets {ANSWER}. The loop runs the "
        "whole sequence again for every token. How many times more rows go through the "
        "linear layers than if each token were run once?"
    ),
    answer=lambda: f.ROWS_RATIO.at(REQUEST),
    rel_tol=0.15,
    why=lambda: (
        f"Counted, it is {si(f.ROWS_RATIO.at(REQUEST))} times. The long prompt "
        "goes through once for every token of the answer."
    ),
)
predict_growth = Question(
    name="end-to-end.predict-growth",
    kind="predict",
    prompt=(
        "The prompt is short, and you ask for an answer twice as long. Nothing is "
        "cached. The query–key pairs that attention meets grow by a factor of about …"
    ),
    choices=("two", "four", "eight"),
    answer=lambda: float(
        min(range(3), key=lambda i: abs(_twice(f.RECOMPUTE_PAIRS) - 2.0 ** (i + 1)))
    ),
    hints=(
        Hint(lambda: 1.0, "That is how the rows grow. Each row also sees more."),
        Hint(lambda: 0.0, "That would be so if a token cost the same wherever it is."),
    ),
    why=lambda: (
        "Twice as many passes, over sequences twice as long, whose rows each see twice "
        f"as much: {si(_twice(f.RECOMPUTE_PAIRS))}."
    ),
)
predict_past = Question(
    name="end-to-end.predict-past",
    kind="predict",
    prompt=(
        "A model has read five tokens. Then a sixth is appended, and the model runs "
        "again. What happens to the rows of the first five, after the last block?"
    ),
    choices=(
        "they change a lot: the meaning of a sentence depends on its end",
        "they change a little, by rounding",
        "not a bit of them changes",
    ),
    answer=lambda: float(1 + same_bits(toy(), tokenize(TEXT), prefix=5)),
    hints=(
        Hint(lambda: 0.0, "Which positions may an earlier one look at?"),
        Hint(lambda: 1.0, "So it may be if sums are added in another order."),
    ),
    why=(
        "The causal mask lets a position see itself and earlier ones. Nothing that "
        "comes later enters its arithmetic, and below we compare the bits."
    ),
)
block = Question(
    name="end-to-end.block",
    prompt=(
        f"{BIG.name}: d = {BIG.d_model}, {BIG.attention.n_heads} query heads, "
        f"{int(block_of(BIG)['n_kv_heads'])} key–value heads, d_h = "
        f"{BIG.attention.d_head}, SwiGLU with d_ff = {int(block_of(BIG)['d_ff'])}, "
        "RMSNorm. How many parameters has a block?"
    ),
    answer=lambda: f.BLOCK_PARAMS.at(block_of(BIG)),
    unit="parameter/layer",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: f.BLOCK_PARAMS.at(block_of(BIG), ffn_matrices=2),
            "A SwiGLU has three matrices: gate, up and down.",
        ),
        Hint(
            lambda: f.BLOCK_PARAMS.at(block_of(BIG), n_kv_heads=BIG.attention.n_heads),
            "Keys and values have fewer heads than queries here.",
        ),
    ),
    why=lambda: (
        "Equation [block_params](#eq-block_params) gives "
        f"{si(f.BLOCK_PARAMS.at(block_of(BIG)), 'parameter/layer')}."
    ),
)
held = Question(
    name="end-to-end.held",
    prompt=(
        f"{LLAMA.name} has answered a prompt of {PROMPT} tokens with {ANSWER}. How "
        "many bytes does its 16-bit cache hold then?"
    ),
    answer=lambda: f.KV_HELD_BYTES.at(workload(LLAMA) | REQUEST),
    unit="byte",
    asked_in="MB",
    rel_tol=0.005,
    hints=(
        Hint(
            lambda: f.KV_HELD_BYTES.at(workload(LLAMA) | REQUEST, new_tokens=1),
            "That is the prompt alone.",
        ),
    ),
    why=lambda: (
        "Equation [kv_held_bytes](#eq-kv_held_bytes): "
        f"{si(f.KV_HELD_BYTES.at(workload(LLAMA) | REQUEST), 'byte')}."
    ),
)
pairs = Question(
    name="end-to-end.pairs",
    prompt=(
        "A prompt of a single token, an answer of a thousand. How many times more "
        "query–key pairs does the loop without a cache meet?"
    ),
    answer=lambda: float(f.PAIRS_RATIO(prompt_len=1, new_tokens=1000)),
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: float(f.ROWS_RATIO(prompt_len=1, new_tokens=1000)),
            "That is the ratio of the rows. Pairs grow with the cube.",
        ),
    ),
    why=lambda: (
        "Equation [pairs_ratio](#eq-pairs_ratio) gives "
        f"{si(float(f.PAIRS_RATIO(prompt_len=1, new_tokens=1000)))}, and "
        "[long_answer_pairs](#eq-long_answer_pairs) told "
        "so: about a third of the answer's length."
    ),
)
