"""What to guess before reading about few bits, and to work out after."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.quantization import formulas as f
from llmserve_lab.quantization import outliers
from llmserve_lab.quantization.measured import rate_gain
from llmserve_lab.quantization.schemes import SCALE_BITS, SCHEMES
from llmserve_lab.quantization.speed import (
    Bits,
    asked,
    decode_s,
    prefill_s,
    served,
    sizes,
)
from llmserve_lab.quantization.tables import LONG_PROMPT, TOKENS
from llmserve_lab.running_example import model

SPEEDS = ("about 4 times", "about 3 times", "about 2 times", "not at all")
ERRORS = ("about 10 %", "about 40 %", "about 90 %")
NVFP4 = SCHEMES["nvfp4"]
LARGE = {"group_max": 0.63, "largest_code": 7.0}
OTHER = {"code_bits": 4.0, "scale_bits": 16.0, "group_size": 64.0}


def gain(bits: Bits, batch: int) -> float:
    """How many times as fast a decode step is as in 16 bits."""
    wide, few = (
        decode_s(served(each), batch=batch, context=TOKENS) for each in (Bits(), bits)
    )
    return wide / few


def prompt_gain(bits: Bits, *, head: bool = True) -> float:
    """How many times as fast a long prompt is read as in 16 bits.

    The book's machine multiplies every token by the LM head. Engines do it for the
    last token of a prompt alone: without ``head`` it is left out.
    """
    shape = model()
    share = shape.vocab * shape.d_model / shape.params_active
    left_out = 0.0 if head else served(Bits()).row_s * share
    wide, few = (
        prefill_s(replace(cost, row_s=cost.row_s - left_out), prompt=LONG_PROMPT)
        for cost in map(served, (Bits(), bits))
    )
    return wide / few


def prompt_line(bits: Bits) -> str:
    """The sum of a long prompt in ms: layers, half of reading, attention, fixed."""
    cost, pairs = served(bits), LONG_PROMPT * (LONG_PROMPT + 1) // 2
    layers, attention = LONG_PROMPT * cost.row_s, pairs * cost.pair_s
    reading, whole = (
        (1 - cost.overlap) * cost.weights_s,
        prefill_s(cost, prompt=LONG_PROMPT),
    )
    fixed = whole - layers - reading - attention
    terms = [f"{1e3 * each:.1f}" for each in (layers, reading, attention, fixed, whole)]
    return "({} + {}) + {} + {} = {}".format(*terms)


def _nearest(times: float) -> float:
    """Index of the option that is nearest to this speedup."""
    options = (4.0, 3.0, 2.0, 1.0)
    return float(min(range(4), key=lambda i: abs(options[i] - times)))


def row_error(*, num_outliers: int = outliers.NUM_OUTLIERS) -> float:
    """Error of INT4 with a scale a row, on columns that are no outliers."""
    found = outliers.by_group(outliers.matrix(num_outliers=num_outliers))
    return found["a scale a row"]


def _option(error: float) -> float:
    """Index of the option that is nearest to this error."""
    shares = [float(text.split()[1]) / 100 for text in ERRORS]
    return float(min(range(len(ERRORS)), key=lambda i: abs(shares[i] - error)))


def stored_bytes() -> float:
    """Bytes of the book's model with NVFP4 weights."""
    bits = float(f.EFFECTIVE_BITS(code_bits=4, scale_bits=8, group_size=16))
    known = sizes(Bits("nvfp4"), model()) | {"bytes_quantized": bits / 8}
    return asked(f.STORED_BYTES, known)


def _all_in_four() -> float:
    """The usual slip: every parameter in half a byte."""
    return 0.5 * float(model().params_total)


predict_one = Question(
    name="quantization.predict-one",
    kind="predict",
    prompt=(
        "Llama-3.1-8B decodes one request of 1,100 tokens on one H100. The weights of "
        "its transformer blocks go from 16 bits to INT4 in groups of 128. The "
        "embedding table (a vector for each token) and the LM head (the last matrix) "
        "stay as they are. Unpacking the codes costs nothing. How much faster is a "
        "step by the formula that follows?"
    ),
    choices=SPEEDS,
    answer=lambda: _nearest(gain(Bits("int4"), 1)),
    why=lambda: (
        f"The formula makes it {gain(Bits('int4'), 1):.2f} times as fast. A server "
        f"measured on one H200 (TensorRT-LLM 0.15, the whole run) gained "
        f"{rate_gain('int4', 1)[0]:.2f} times, where the formula has "
        f"{rate_gain('int4', 1)[1]:.2f} for that run. Reading the weights takes "
        f"{1e3 * served(Bits()).weights_s:.1f} ms in 16 bits and "
        f"{1e3 * served(Bits('int4')).weights_s:.1f} ms in INT4, but about "
        f"{1e3 * served(Bits()).overhead_s:.1f} ms stay as they are."
    ),
    hints=(
        Hint(lambda: 0.0, "Less: only the reading shrinks, and not all of it."),
        Hint(lambda: 1.0, "Less: the fixed time of a step stays as long as before."),
        Hint(lambda: 3.0, "More: at one request most of a step is reading weights."),
    ),
)
predict_prompt = Question(
    name="quantization.predict-prompt",
    kind="predict",
    prompt=(
        "The same model reads a prompt of 8,192 tokens on the same H100, its weights "
        "in INT4 and its products in 16 bits. How much faster than with 16-bit weights?"
    ),
    choices=SPEEDS,
    answer=lambda: _nearest(prompt_gain(Bits("int4"))),
    why=lambda: (
        f"It is {prompt_gain(Bits('int4')):.2f} times as fast. The weights are read "
        "once for all rows, and the time goes into the products, which still run in 16 "
        f"bits. FP8, which multiplies in 8, is {prompt_gain(Bits('fp8')):.2f} times as "
        "fast by the book's formula."
    ),
    hints=(
        Hint(lambda: 0.0, "The bytes shrink; a long prompt does not wait for them."),
        Hint(lambda: 1.0, "The weights are read once for all rows of the prompt."),
        Hint(lambda: 2.0, "That is a decode of one request; a prompt has many rows."),
    ),
)
predict_group = Question(
    name="quantization.predict-group",
    kind="predict",
    prompt=(
        "A matrix of normal random numbers has 256 rows and 512 columns, and four of "
        "the columns are 20 times as large. It is rounded to INT4, with one scale for "
        "each row. What is the error of the numbers in the other 508 columns?"
    ),
    choices=ERRORS,
    answer=lambda: _option(row_error()),
    why=lambda: (
        f"It is {row_error():.0%}. Each row has four large numbers in it, so its scale "
        "is some seven times too large, and most ordinary numbers become zero. Without "
        f"the four columns it would be {row_error(num_outliers=0):.0%}."
    ),
    hints=(
        Hint(lambda: 0.0, "That is the error without the large columns."),
        Hint(lambda: 1.0, "More: the large columns are in every row."),
    ),
)
bits = Question(
    name="quantization.bits",
    prompt=(
        "A format has codes of 4 bits and a scale of 16 bits for each group of 64 "
        "numbers. How many bits does a number take, the scale included?"
    ),
    answer=lambda: f.EFFECTIVE_BITS(**OTHER),
    rel_tol=0.005,
    hints=(
        Hint(lambda: 4.0, "The scales are stored, too."),
        Hint(lambda: 20.0, "The scale is shared by the whole group."),
    ),
    why=lambda: (
        f"{f.EFFECTIVE_BITS.link}: 4 + 16 / 64 = {float(f.EFFECTIVE_BITS(**OTHER)):g}. "
        f"NVFP4 has {SCALE_BITS[NVFP4.kind]} bits for {NVFP4.group} numbers, so "
        f"{NVFP4.bits_per_number(0):g}."
    ),
)
stored = Question(
    name="quantization.stored",
    prompt=(
        "Llama-3.1-8B again: of 8.03 billion parameters, embedding table and LM head "
        "with 0.525 billion each keep 16 bits, the others go to NVFP4: codes of 4 bits "
        "in groups of 16, a scale of 8 bits for each group (the one scale of a whole "
        "matrix is too small to count). How many bytes are stored?"
    ),
    answer=stored_bytes,
    unit="byte",
    rel_tol=0.01,
    hints=(
        Hint(_all_in_four, "That is half a byte for each; two tables keep two bytes."),
    ),
    why=lambda: (
        "6.98 billion parameters of 4.5 bits are 3.93 GB, and twice 0.525 billion of "
        f"16 bits are 2.10 GB: {si(stored_bytes(), 'byte')} together."
    ),
)
worst = Question(
    name="quantization.worst",
    prompt=(
        "The largest weight of a group is 0.63, its sign left out. The group is "
        "rounded to INT4, whose codes go from −7 to 7. How far may a weight of the "
        "group be off at most?"
    ),
    answer=lambda: f.ROUNDING_BOUND(**LARGE),
    rel_tol=0.01,
    hints=(
        Hint(lambda: f.GROUP_SCALE(**LARGE), "That is the scale, a whole step."),
        Hint(
            lambda: LARGE["group_max"] / 16 / 2,
            "Four bits have 16 codes, but the largest weight becomes the code 7.",
        ),
    ),
    why=lambda: (
        f"{f.ROUNDING_BOUND.link}: the scale is 0.63 / 7 = 0.09, and half of it is "
        f"{float(f.ROUNDING_BOUND(**LARGE)):.3f}."
    ),
)
