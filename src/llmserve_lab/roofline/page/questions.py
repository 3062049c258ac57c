"""What to guess before reading the roofline chapter, and what to work out after it."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.roofline import formulas as f

H100 = machine(catalog.accelerator("h100-sxm"))
H200 = machine(catalog.accelerator("h200-sxm"))
BIG = catalog.model("llama-3-70b")
LLAMA_2 = workload(catalog.model("llama-2-7b"))
LLAMA_3 = workload(catalog.model("llama-3-8b"))
LLAMA_70 = workload(BIG)
KV_BYTES = float(LLAMA_70["kv_bytes_per_token"])
KV_BYTES_8B = float(LLAMA_3["kv_bytes_per_token"])
HBM_BYTES = float(H200["hbm_bytes"])
LONG, MILLION, EIGHT_K = 2**17, 2**20, 2**13
CHUNK, BATCH = 2048, 64
KV_HEADS = BIG.kv_elements_per_token // (2 * BIG.n_layers * BIG.attention.d_head)
SIDES = ("memory-bound", "compute-bound")


def side(intensity: float, ridge: float) -> float:
    """Index into ``SIDES``: the ridge itself counts as compute-bound."""
    return float(intensity >= ridge)


def _one_million_prefill() -> float:
    return float(f.INTENSITY.at(LLAMA_2, batch=1, chunk=CHUNK, context=MILLION))


def _growth(batch: float) -> float:
    """How much the article's decode intensity gains from twice the batch."""
    one, two = (
        f.LINEAR_INTENSITY.at(LLAMA_2, batch=b, chunk=1, context=LONG)
        for b in (batch, 2 * batch)
    )
    return float(two / one)


predict_ridge = Question(
    name="roofline.predict-ridge",
    kind="predict",
    prompt=lambda: (
        f"An H100 computes {H100['peak_flops'].shown(3)} in 16 bits and reads "
        f"{H100['hbm_bw'].shown(3)}. How many FLOPs must it do with every byte it "
        "reads, so that neither side waits for the other?"
    ),
    answer=lambda: f.RIDGE.at(H100),
    unit="FLOP/byte",
    rel_tol=0.1,
    why=lambda: (
        f"Peak compute over bandwidth is {si(f.RIDGE.at(H100), 'FLOP/byte')}. "
        "With fewer FLOPs per byte the arithmetic waits, with more the memory does."
    ),
)
predict_batch = Question(
    name="roofline.predict-batch",
    kind="predict",
    prompt=(
        "Llama-2-7B decodes with a long context, far more cache than weights. You "
        "double the batch. What happens to the FLOPs per byte?"
    ),
    choices=("they halve", "they stay nearly the same", "they double"),
    answer=lambda: float(
        min(range(3), key=lambda i: abs(_growth(32) - 2.0 ** (i - 1)))
    ),
    why=lambda: (
        "Every request brings its own cache. Twice the requests are twice the FLOPs "
        "and nearly twice the bytes: the intensity grows by a factor of "
        f"{_growth(32):.3f}."
    ),
    hints=(
        Hint(
            lambda: 2.0,
            "That holds for the weights, which the batch shares. And the cache?",
        ),
        Hint(lambda: 0.0, "The FLOPs double too."),
    ),
)
predict_prefill = Question(
    name="roofline.predict-prefill",
    kind="predict",
    prompt=(
        f"A chunk of {CHUNK:,} new tokens attends to {MILLION:,} cached ones. Count "
        "all FLOPs, those of attention too. On an H100 this iteration is …"
    ),
    choices=SIDES,
    answer=lambda: side(_one_million_prefill(), f.RIDGE.at(H100)),
    why=lambda: (
        f"It does {si(_one_million_prefill(), 'FLOP/byte')}: every cached byte is used "
        "by all rows of the chunk. Leave the FLOPs of attention out, as the article "
        "does, and the same iteration seems to sink below the ridge."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "With one new token it would be. Here all rows of the chunk use each byte "
            "of the cache.",
        ),
    ),
)
kv_per_token = Question(
    name="roofline.kv-per-token",
    prompt=(
        f"How many bytes does one token of {BIG.name} leave in a 16-bit cache? It has "
        f"{BIG.n_layers} layers, {BIG.attention.n_heads} query heads and "
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
        "Equation [kv_bytes_per_token](#eq-kv_bytes_per_token) gives "
        f"{si(KV_BYTES, 'byte/token')}."
    ),
)
crossover = Question(
    name="roofline.crossover",
    prompt=(
        f"{BIG.name} decodes {BATCH} requests in 16 bits. From which context on does "
        "an iteration read more cache than weights?"
    ),
    answer=lambda: f.CROSSOVER_CONTEXT.at(LLAMA_70, batch=BATCH),
    unit="token",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: f.CROSSOVER_TOKENS.at(LLAMA_70),
            "That is the sum over all requests.",
        ),
    ),
    why=lambda: (
        "Equation [crossover_context](#eq-crossover_context): "
        f"{si(f.CROSSOVER_CONTEXT.at(LLAMA_70, batch=BATCH), 'token')}."
    ),
)
fits = Question(
    name="roofline.fits",
    prompt=(
        f"How many requests of {EIGHT_K} tokens fit beside Llama-3-8B, all in 16 bits, "
        "on one H200? Whole requests only."
    ),
    answer=lambda: f.BATCH_FITS.at(LLAMA_3, H200, context=EIGHT_K) // 1,
    unit="request",
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: HBM_BYTES / (KV_BYTES_8B * EIGHT_K) // 1,
            "The weights need room too.",
        ),
    ),
    why=lambda: (
        "Equation [batch_fits](#eq-batch_fits), rounded down, gives "
        f"{si(f.BATCH_FITS.at(LLAMA_3, H200, context=EIGHT_K) // 1, 'request')}."
    ),
)
ceiling = Question(
    name="roofline.ceiling",
    prompt=(
        "Llama-3-8B decodes on an H100, attention FLOPs left out. From which context "
        "on can no batch, however large, bring decode to the ridge?"
    ),
    answer=lambda: f.RIDGE_CONTEXT.at(LLAMA_3, H100, chunk=1),
    unit="token",
    rel_tol=0.03,
    why=lambda: (
        "Equation [ridge_context](#eq-ridge_context): "
        f"{si(f.RIDGE_CONTEXT.at(LLAMA_3, H100, chunk=1), 'token')}. In an "
        "endless batch the weights cost nothing; what is left is one request's FLOPs "
        "over one request's cache."
    ),
)
