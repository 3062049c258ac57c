"""What to guess before reading about iterations and chunks, and to work out after."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.article_machine import (
    CONTEXT,
    DECODES,
    article_setting,
)
from llmserve_lab.continuous_batching.outcomes import longest_gap_s
from llmserve_lab.continuous_batching.serving import LONG, convoy, serve, stalled
from llmserve_lab.engine import Static
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.roofline import formulas as roofline

ARTICLE = article_setting()
LLAMA_3 = workload(catalog.model("llama-3-8b"))
H100 = machine(catalog.accelerator("h100-sxm"))
CALM = {"n_decodes": float(DECODES), "decode_context": float(CONTEXT)}
CHUNK, TARGET_S, HALF_WAY = 2048, 0.05, 50_000
WAITS = ("about 50 ms", "about half a second", "about eight seconds")
PRICES = ("next to nothing", "twice the time", "more than twenty times the time")


def late_s() -> float:
    """Time to first token of the request that comes late to a frozen batch."""
    run = serve(convoy(), Static(2))
    return float(run.ttft_s[run.id == len(convoy()) - 1][0])


def _wait() -> float:
    gap = longest_gap_s(stalled(LONG))
    return float(gap > 0.1) + float(gap > 2)


def _reread() -> float:
    return float(f.REREADS.at(prompt_len=LONG, chunk=CHUNK))


def _price() -> float:
    """Index into ``PRICES``: the prefill in chunks over the prefill in one piece."""
    cut, whole = (
        f.PROMPT_S.at(ARTICLE, prompt_len=LONG, chunk=c) for c in (CHUNK, LONG)
    )
    return float(cut / whole > 1.5) + float(cut / whole > 20)


def fits(context: float) -> float:
    """Rows of a chunk that keeps the target after a prefix."""
    fitting = f.CHUNK_FITS.at(ARTICLE, CALM, context=context, tbt_target=TARGET_S)
    return float(fitting // 1)


predict_late = Question(
    name="continuous-batching.predict-late",
    kind="predict",
    prompt=(
        "Two requests start together; their answers have 50 and 1000 tokens. The batch "
        "is frozen. A third request comes after 200 ms; an iteration takes about 4 ms. "
        "How long does it wait for its first token?"
    ),
    answer=late_s,
    unit="s",
    rel_tol=0.15,
    hints=(
        Hint(
            lambda: late_s() / 20,
            "That is when the short answer is done; its slot stays taken.",
        ),
    ),
    why=lambda: (
        f"{si(late_s(), 's')} in the engine: it waits for the last token of the "
        "longest answer, though a slot has been idle almost all the time."
    ),
)
predict_stall = Question(
    name="continuous-batching.predict-stall",
    kind="predict",
    prompt=(
        f"Eight requests decode, one token each every 5 ms. A prompt of {LONG:,} "
        "tokens joins their next iteration. How long until their next token?"
    ),
    choices=WAITS,
    answer=_wait,
    why=lambda: (
        f"{si(longest_gap_s(stalled(LONG)), 's')}: nobody gets a token before the "
        "iteration is over, and it lasts as long as its largest piece."
    ),
)
predict_price = Question(
    name="continuous-batching.predict-price",
    kind="predict",
    prompt=lambda: (
        f"Cut into chunks of {CHUNK}, this prompt reads its cache again and again, "
        f"the average token {_reread():.0f} times. What does that add to the "
        "time of its prefill?"
    ),
    choices=PRICES,
    answer=_price,
    why=lambda: (
        "Reading goes on beside computing, and computing takes "
        f"{si(f.PROMPT_COMPUTE_S.at(ARTICLE, prompt_len=LONG), 's')}. All that is read "
        "again takes "
        f"{si(f.PROMPT_KV_S.at(ARTICLE, prompt_len=LONG, chunk=CHUNK), 's')}."
    ),
)
num_chunks = Question(
    name="continuous-batching.num-chunks",
    prompt=(
        f"A prompt of 100,000 tokens, {CHUNK} rows of it in each iteration. How many "
        "iterations?"
    ),
    answer=lambda: f.NUM_CHUNKS(prompt_len=100_000, chunk=CHUNK),
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: f.NUM_CHUNKS(prompt_len=100_000, chunk=CHUNK) - 1,
            "The last chunk is not full, and takes an iteration all the same.",
        ),
    ),
    why=lambda: (
        f"Equation {f.NUM_CHUNKS.link}, rounded up: "
        f"{si(f.NUM_CHUNKS(prompt_len=100_000, chunk=CHUNK))}."
    ),
)
reread = Question(
    name="continuous-batching.reread",
    prompt=(
        "A prompt of 32,768 tokens in chunks of 1024. How many cached tokens are read "
        "again, in each layer?"
    ),
    answer=lambda: f.REREAD_TOKENS(prompt_len=32_768, chunk=1024),
    unit="token",
    rel_tol=0.001,
    hints=(
        Hint(
            lambda: f.REREAD_TOKENS(prompt_len=32_768 + 1024, chunk=1024),
            "The first chunk finds nothing in the cache.",
        ),
    ),
    why=lambda: (
        f"Equation {f.REREAD_TOKENS.link}: "
        f"{si(f.REREAD_TOKENS(prompt_len=32_768, chunk=1024), 'token')}."
    ),
)
chunk_fits = Question(
    name="continuous-batching.chunk-fits",
    prompt=(
        "Llama-2-7B on an H100 that reaches 500 TFLOP/s, eight decodes with a context "
        f"of {CONTEXT}. How many rows may a chunk have after a prefix of {HALF_WAY:,} "
        "tokens, if the iteration is to take 50 ms at most?"
    ),
    answer=lambda: fits(HALF_WAY),
    unit="token",
    rel_tol=0.02,
    hints=(Hint(lambda: fits(0), "So many fit at the start of the prompt."),),
    why=lambda: (
        f"Equation {f.CHUNK_FITS.link}, rounded down: {si(fits(HALF_WAY), 'token')}."
    ),
)
hiding = Question(
    name="continuous-batching.hiding",
    prompt=(
        "Llama-3-8B on an H100, datasheet peaks. From which chunk on does reading the "
        "prefix hide behind the arithmetic on it?"
    ),
    answer=lambda: f.HIDING_CHUNK.at(LLAMA_3, H100),
    unit="token",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: roofline.RIDGE.at(H100),
            "That is the ridge; four query heads share the bytes of a cached head.",
        ),
    ),
    why=lambda: (
        f"Equation {f.HIDING_CHUNK.link}: "
        f"{si(f.HIDING_CHUNK.at(LLAMA_3, H100), 'token')}."
    ),
)
