"""What to guess beside each reveal, and what to work out at the end."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.catalog.evidence.servers import VLLM_MEMORY_SHARE
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import (
    BATCH,
    MEAN_CONTEXT,
    bound_s,
    decode,
)
from llmserve_lab.running_example import PROMPT, ideal, model

EXAMPLE = ideal()
H200 = machine(catalog.accelerator("h200-sxm"))
BIG = catalog.model("llama-3.1-70b")
LLAMA_70 = workload(BIG)
FP8_70 = workload(BIG, precision="fp8")
KV_BYTES = float(LLAMA_70["kv_bytes_per_token"])
KV_BYTES_8B = float(EXAMPLE["kv_bytes_per_token"])
HBM_BYTES = float(H200["hbm_bytes"])
EIGHT_K, SIXTEEN_K = 2**13, 2**14
VLLM_SHARE = float(VLLM_MEMORY_SHARE)  # of the memory that vLLM takes
FEW, TWICE = 14, 28  # requests of 16K tokens that fit
FP8_H200 = machine(catalog.accelerator("h200-sxm"), precision="fp8")
KV_HEADS = BIG.kv_elements_per_token // (2 * BIG.n_layers * BIG.attention.d_head)
TIMES = (
    "about 32 times as long",
    "about three times as long",
    "about 30% longer",
)
GROWTHS = ("it halves", "it grows by about a fifth", "it doubles")


def longer() -> float:
    """The bound for a batch over that for a request alone."""
    return bound_s(BATCH) / bound_s(1)


def growth() -> float:
    """How much decode's intensity gains from twice the batch, at long context."""
    one, two = (
        float(f.INTENSITY.at(EXAMPLE, decode(batch, SIXTEEN_K)))
        for batch in (FEW, TWICE)
    )
    return two / one


def _closest(found: float, *choices: float) -> float:
    """Index of the choice that is off by the smallest factor."""
    off = [max(found / choice, choice / found) for choice in choices]
    return float(off.index(min(off)))


def tokens_per_s() -> float:
    """The bound on one request's tokens per second: 70B in FP8 on one H200."""
    return 1 / float(f.ITERATION_S_APART.at(FP8_70, FP8_H200, decode(1, PROMPT)))


predict_batch = Question(
    name="roofline.predict-batch",
    kind="predict",
    prompt=lambda: (
        f"One request of Llama-3.1-8B on an H100, with {MEAN_CONTEXT:,} tokens in "
        f"its cache, needs at least {si(bound_s(1), 's')} for a token. Now {BATCH} "
        "such requests decode together: each adds its own row, and its own cache of "
        f"{si(MEAN_CONTEXT * KV_BYTES_8B, 'byte')}. How long does the iteration take "
        "at least?"
    ),
    choices=TIMES,
    answer=lambda: _closest(longer(), 32.0, 3.0, 1.3),
    why=lambda: (
        f"At least {si(bound_s(BATCH), 's')}, {longer():.2f} times as long, for "
        f"{BATCH} tokens instead of one. The weights are read once for all rows; "
        "only the caches are added."
    ),
    hints=(
        Hint(lambda: 0.0, "Are the weights read once for each request, or once?"),
        Hint(lambda: 1.0, "How many bytes are all the caches, beside the weights?"),
    ),
)
predict_ridge = Question(
    name="roofline.predict-ridge",
    kind="predict",
    prompt=lambda: (
        f"An H100 computes {EXAMPLE['peak_flops'].shown(3)} in BF16 and reads "
        f"{EXAMPLE['hbm_bw'].shown(3)}. How many FLOPs must it do with every byte it "
        "reads, so that neither side waits for the other?"
    ),
    answer=lambda: f.RIDGE.at(EXAMPLE),
    unit="FLOP/byte",
    rel_tol=0.1,
    why=lambda: (
        f"Peak compute over bandwidth is {si(f.RIDGE.at(EXAMPLE), 'FLOP/byte')}. "
        "With fewer FLOPs per byte the arithmetic waits, with more the memory does."
    ),
)
predict_long = Question(
    name="roofline.predict-long",
    kind="predict",
    prompt=lambda: (
        f"{FEW} requests of Llama-3.1-8B decode on an H100, each with a long context "
        f"of {SIXTEEN_K:,} tokens: more cache than weights. You double the batch to "
        f"{TWICE}, and memory is nearly full. What happens to the FLOPs per byte?"
    ),
    choices=GROWTHS,
    answer=lambda: _closest(growth(), 0.5, 1.2, 2.0),
    why=lambda: (
        "Every request brings its own cache. Twice the requests are twice the FLOPs "
        "and nearly twice the bytes: the intensity grows by a factor of "
        f"{growth():.2f}."
    ),
    hints=(
        Hint(
            lambda: 2.0,
            "That holds for the weights, which the batch shares. And the cache?",
        ),
        Hint(lambda: 0.0, "The FLOPs double too."),
    ),
)
kv_per_token = Question(
    name="roofline.kv-per-token",
    prompt=(
        f"How many kilobytes does one token of {BIG.name} leave in a 16-bit cache? "
        f"It has {BIG.n_layers} layers, {BIG.attention.n_heads} query heads and "
        f"{KV_HEADS} key–value heads, all of width {BIG.attention.d_head}."
    ),
    answer=lambda: KV_BYTES,
    unit="byte/token",
    asked_in="kB/token",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: KV_BYTES * BIG.attention.n_heads / KV_HEADS,
            "That counts the query heads; only key–value heads are cached.",
        ),
        Hint(lambda: KV_BYTES / BIG.n_layers, "That is one layer."),
    ),
    why=lambda: (
        "Two vectors (key and value) for each key–value head in each layer, two bytes "
        f"a number: {si(KV_BYTES, 'byte/token')}."
    ),
)
speed = Question(
    name="roofline.speed",
    prompt=lambda: (
        f"Estimate by hand: {BIG.name} in FP8 (one byte a parameter) reads "
        f"{si(float(f.WEIGHT_BYTES.at(FP8_70)), 'byte')} of weights for a token. One "
        f"request with {PROMPT:,} tokens in its cache, which is small beside them, "
        f"decodes on one H200 ({H200['hbm_bw'].shown(3)}). How many tokens a second "
        "can it get at most?"
    ),
    answer=tokens_per_s,
    unit="1/s",
    rel_tol=0.05,
    hints=(
        Hint(
            lambda: tokens_per_s() / 2,
            "In FP8 a parameter is one byte, not two.",
        ),
    ),
    why=lambda: (
        f"Bandwidth over bytes: at most {si(tokens_per_s(), '1/s')}. A server stays "
        "below that; the measured ones above reach a half to two thirds "
        "of their bound."
    ),
)
fits = Question(
    name="roofline.fits",
    prompt=(
        f"How many requests of {EIGHT_K:,} tokens fit beside {model().name} "
        f"({si(model().weight_bytes(), 'byte')}), all in 16 bits, on one H200 of "
        f"{H200['hbm_bytes'].shown(3)}? A token's cache takes "
        f"{si(KV_BYTES_8B, 'byte', 6)}. Whole requests only."
    ),
    answer=lambda: f.BATCH_FITS.at(ideal() | H200, context=EIGHT_K) // 1,
    unit="request",
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: HBM_BYTES / (KV_BYTES_8B * EIGHT_K) // 1,
            "The weights need room too.",
        ),
    ),
    why=lambda: (
        "What the weights leave of the memory, over the cache of one request, rounded "
        f"down: {si(f.BATCH_FITS.at(ideal() | H200, context=EIGHT_K) // 1, 'request')} "
        "([batch_fits](#eq-batch_fits))."
    ),
)
