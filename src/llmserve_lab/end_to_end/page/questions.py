"""What to guess while reading the chapter, and what to work out after it."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.arguments import (
    block_of,
    matrices_of,
    token_of,
)
from llmserve_lab.end_to_end.example import example
from llmserve_lab.end_to_end.page.rows import Looking
from llmserve_lab.end_to_end.stability import same_bits
from llmserve_lab.end_to_end.story import SENTENCE, model, tokenize
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.running_example import ANSWER as ANSWER
from llmserve_lab.running_example import PROMPT as PROMPT

LLAMA = catalog.model("llama-3.1-8b")
BIG = catalog.model("llama-3.1-70b")
OTHER = example("Give dog the")
LOOKS_BACK = 8_000.0  # tokens in the cache of the exercise on FLOPs
REQUEST: dict[str, float] = {"prompt_len": PROMPT, "new_tokens": ANSWER}


def _twice(formula: Formula) -> float:
    """How much a cost grows when an answer to a short prompt is twice as long."""
    short = {"prompt_len": 1.0, "new_tokens": 4096.0}
    return float(formula.at(short, new_tokens=8192.0) / formula.at(short))


def _same_the() -> float:
    """Choice 0: more to the first "the"; 1: to the second; 2: to both the same."""
    weights = example().weights[-1]
    if weights[1] == weights[3]:
        return 2.0
    return float(weights[3] > weights[1])


predict_the = Question(
    name="end-to-end.predict-the",
    kind="predict",
    prompt=(
        "The sentence has the word “the” twice: once before “dog”, once before “ball”. "
        "We are in the first block, with these matrices and nothing else. To "
        "which “the” does the last row, “ball”, give more weight?"
    ),
    choices=("to the first", "to the second, its own article", "to both the same"),
    answer=_same_the,
    hints=(
        Hint(lambda: 0.0, "What could the row compare? Only its query and two keys."),
        Hint(
            lambda: 1.0,
            "That is what a reader would do. But what do the two keys differ in?",
        ),
    ),
    why=(
        "A weight depends on the query and the key alone, and the two keys are equal. "
        "Without a notion of position one query sees a bag of words. Rotary positions, "
        "below, mend that."
    ),
)
predict_past = Question(
    name="end-to-end.predict-past",
    kind="predict",
    prompt=(
        "The model has read “Give the dog the”. Then “ball” is appended, and the model "
        "runs again over all five tokens. What happens to the first four rows, after "
        "the last block?"
    ),
    choices=(
        "they change a lot: the meaning of a sentence depends on its end",
        "mathematically they stay exactly the same",
        "all change a little, because the weights must add up to 1",
    ),
    answer=lambda: float(
        0 if not same_bits(model(), tokenize(SENTENCE), prefix=4) else 1
    ),
    hints=(
        Hint(lambda: 0.0, "Which rows may an earlier row look at?"),
        Hint(lambda: 2.0, "Does the new row take part in the softmax of an old one?"),
    ),
    why=(
        "The causal mask lets a row see itself and earlier rows only, in every block. "
        "Nothing that comes later enters its arithmetic. (An engine may add in another "
        "order when there are more rows; then last digits differ by rounding.)"
    ),
)
predict_rows = Question(
    name="end-to-end.predict-rows",
    kind="predict",
    prompt=(
        f"A prompt has {PROMPT:,} tokens and the answer gets {ANSWER}. The loop runs "
        "the whole sequence again for every token. How many times more rows go through "
        "the model than if each of them went through only once?"
    ),
    answer=lambda: f.ROWS_RATIO.at(REQUEST),
    rel_tol=0.15,
    hints=(
        Hint(
            lambda: (PROMPT + ANSWER) / PROMPT,
            "That is how much longer the text becomes. How often is it run?",
        ),
    ),
    why=lambda: (
        f"Counted, it is {si(f.ROWS_RATIO.at(REQUEST))} times: each of the {ANSWER} "
        f"passes runs more than {PROMPT:,} rows, where one row would do."
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
per_token = Question(
    name="end-to-end.per-token",
    prompt=(
        f"{BIG.name} has {BIG.n_layers} blocks, "
        f"{int(block_of(BIG)['n_kv_heads'])} key–value heads of "
        f"{BIG.attention.d_head} numbers, and keeps 2 bytes a number. How many kB "
        "(1,000 bytes) does one token leave in its KV cache?"
    ),
    answer=BIG.kv_bytes_per_token,
    unit="byte",
    asked_in="kB",
    rel_tol=0.03,
    hints=(
        Hint(
            lambda: BIG.kv_bytes_per_token() / 2,
            "A token leaves a key and a value.",
        ),
        Hint(
            lambda: BIG.kv_bytes_per_token() / BIG.n_layers,
            "That is one block.",
        ),
        Hint(
            lambda: (
                BIG.kv_bytes_per_token()
                * BIG.attention.n_heads
                / block_of(BIG)["n_kv_heads"]
            ),
            "Query heads share their keys and values.",
        ),
    ),
    why=lambda: (
        "Two vectors, a head and a block at a time: "
        f"{si(BIG.kv_bytes_per_token(), 'byte')}."
    ),
)
dog = Question(
    name="end-to-end.dog",
    prompt=(
        "With the matrices of this page, another text of three words: “Give dog the”, "
        "without positions. The query of “dog” is (0, 3, 2, 0), as before. What "
        "attention weight does “dog”, the second row, give to “Give”?"
    ),
    answer=lambda: float(OTHER.weights[1, 0]),
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: float(Looking(divided=False).of(OTHER)[1, 0]),
            "Divide the scores by 2 before the exponential function.",
        ),
        Hint(
            lambda: float(Looking(masked=False).of(OTHER)[1, 0]),
            "That looks at a later row as well.",
        ),
    ),
    why=lambda: f"It is {si(float(OTHER.weights[1, 0]))}.",
)
token = Question(
    name="end-to-end.token",
    prompt=(
        f"{BIG.name}: {BIG.n_layers} blocks, rows {BIG.d_model:,} wide, "
        f"{BIG.attention.n_heads} query heads and "
        f"{int(block_of(BIG)['n_kv_heads'])} key–value heads of "
        f"{BIG.attention.d_head} numbers, a SwiGLU that is "
        f"{int(block_of(BIG)['d_ff']):,} wide inside, {BIG.vocab:,} tokens in the "
        "vocabulary. How many GFLOP does one token cost after "
        f"{LOOKS_BACK:,.0f} others, LM head included?"
    ),
    answer=lambda: f.TOKEN_FLOPS.at(token_of(BIG), context=LOOKS_BACK),
    unit="FLOP",
    asked_in="GFLOP",
    rel_tol=0.02,
    hints=(
        Hint(lambda: 2.0 * BIG.params_active, "That is the matrices. And the pairs?"),
        Hint(
            lambda: BIG.params_active,
            "Each parameter multiplies, and its product is added.",
        ),
        Hint(
            lambda: f.TOKEN_FLOPS.at(
                token_of(BIG) | {"params_active": matrices_of(BIG, ffn_matrices=2)},
                context=LOOKS_BACK,
            ),
            "A SwiGLU has three matrices: gate, up and down.",
        ),
    ),
    why=lambda: (
        "Blocks, LM head and pairs together: "
        f"{si(float(f.TOKEN_FLOPS.at(token_of(BIG), context=LOOKS_BACK)), 'FLOP')}."
    ),
)
