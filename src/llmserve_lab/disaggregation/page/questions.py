"""What to guess before reading about the split, and what to work out after it."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.capacity_sim import pool_rates
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.question.question import Hint, Question

H100 = machine(catalog.accelerator("h100-sxm"))
LLAMA_2 = workload(catalog.model("llama-2-7b")) | H100
LLAMA_3 = workload(catalog.model("llama-3-8b")) | H100
HDR = {"link_bw": float(catalog.link("infiniband-hdr").bandwidth), "eff_link": 1.0}
PROMPT, LONG, ANSWER, BATCH, TARGET = 4096, 8192, 200, 32, 0.025
RATE = 20
PRICE_PER_HOUR, SPEED = 2.0, 2000.0
FLEET = {"new_tokens": ANSWER, "tbt_target": TARGET, "overhead_s": 0.0, "overlap": 1.0}


def _free_rows() -> float:
    return float(f.FREE_ROWS.at(LLAMA_2, batch=BATCH, context=1024))


def _pools_over_shared() -> float:
    """What two pools carry at best over what one engine carries, under the roofline."""
    known = LLAMA_3 | FLEET | {"prompt_len": LONG, "n_prefill": 1, "n_decode": 1}
    wire = {"link_bw": float(catalog.link("nvlink4").bandwidth), "eff_link": 1.0}
    best = f.BEST_POOLS_RATE.at(known, **pool_rates(known, wire))
    return float(best / f.SHARED_RATE.at(known))


predict_free = Question(
    name="disaggregation.predict-free",
    kind="predict",
    prompt=(
        f"An H100 decodes {BATCH} requests of Llama-2-7B, 1024 tokens in cache each. "
        "While it reads, its tensor cores are nearly idle. How many rows of somebody's "
        "prompt could they compute in that time, the step becoming no longer?"
    ),
    choices=("none", "about ten", "several hundred"),
    answer=lambda: 2.0 if _free_rows() > 200 else 1.0,
    why=lambda: (
        f"{plain(_free_rows())} rows, equation [free_rows](#eq-free_rows). A decode "
        "step that carries a "
        "chunk of that size costs nothing more, as long as computing and reading "
        "overlap. That is what two pools give up."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Compare the rows of a decode step with the ridge: computing ends long "
            "before reading does.",
        ),
        Hint(
            lambda: 1.0,
            "The ridge is at hundreds of rows, and decode fills few of them.",
        ),
    ),
)
predict_hide = Question(
    name="disaggregation.predict-hide",
    kind="predict",
    prompt=(
        "A prompt's cache can be sent layer by layer while the prefill still runs. "
        "Twice as long a prompt makes twice the cache. Does it take a faster link to "
        "hide the sending?"
    ),
    choices=("yes, twice as fast", "no, hardly a different one"),
    answer=lambda: float(
        f.KV_MADE_PER_S.at(LLAMA_2, prompt_len=LONG)
        < 1.5 * f.KV_MADE_PER_S.at(LLAMA_2, prompt_len=PROMPT)
    ),
    why=lambda: (
        "Twice the cache is made in twice the time: "
        f"{si(f.KV_MADE_PER_S.at(LLAMA_2, prompt_len=PROMPT), 'byte/s')} at {PROMPT} "
        f"tokens and {si(f.KV_MADE_PER_S.at(LLAMA_2, prompt_len=LONG), 'byte/s')} at "
        f"{LONG}, a little less because attention takes its share of the time."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Twice the prompt also takes twice the time to compute, so the link has "
            "twice the time.",
        ),
    ),
)
predict_rate = Question(
    name="disaggregation.predict-rate",
    kind="predict",
    prompt=(
        f"Llama-3-8B, prompts of {LONG} tokens. If computing and reading overlap "
        "perfectly, who carries more requests on the same GPUs?"
    ),
    choices=("two pools", "one engine on each GPU", "both the same"),
    answer=lambda: 1.0 if _pools_over_shared() < 0.9 else 2.0,
    why=lambda: (
        f"Two pools carry {_pools_over_shared():.0%} of what one engine does: in each "
        "pool one half of the machine waits, compute here and memory there. The split "
        "needs other reasons, and there are some."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "That is the hope. But in each pool one half of the machine waits.",
        ),
        Hint(
            lambda: 2.0,
            "The work is the same, but only an iteration that mixes prefill and "
            "decode can read and compute at once.",
        ),
    ),
)
handoff = Question(
    name="disaggregation.handoff",
    prompt=(
        f"How long does InfiniBand HDR, one port, take to send the cache of {PROMPT} "
        "tokens of Llama-2-7B in 16 bits?"
    ),
    answer=lambda: f.TRANSFER_S.at(LLAMA_2, HDR, prompt_len=PROMPT),
    unit="s",
    asked_in="ms",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: f.TRANSFER_S.at(LLAMA_2, HDR, prompt_len=PROMPT) / 2,
            "That counts both directions of the link.",
        ),
    ),
    why=lambda: (
        "Equation [transfer_s](#eq-transfer_s): "
        f"{si(f.TRANSFER_S.at(LLAMA_2, HDR, prompt_len=PROMPT), 's')}. HDR sends "
        f"{si(HDR['link_bw'], 'byte/s')} one way."
    ),
)
decode_pool = Question(
    name="disaggregation.decode-pool",
    prompt=(
        f"{RATE} requests per second of Llama-3-8B, prompts of {LONG} and answers of "
        f"{ANSWER} tokens, on H100s. How many of them must decode so that no step "
        f"takes longer than {si(TARGET, 's')}? Round up."
    ),
    answer=lambda: -(-_decode_gpus() // 1),
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: (
                -(-f.PREFILL_GPUS.at(LLAMA_3, prompt_len=LONG, arrival_rate=RATE) // 1)
            ),
            "That is how many prefill.",
        ),
    ),
    why=lambda: (
        f"Equation [decode_gpus](#eq-decode_gpus) gives {plain(_decode_gpus())}, so "
        f"{plain(-(-_decode_gpus() // 1))}."
    ),
)


def _decode_gpus() -> float:
    known = LLAMA_3 | FLEET
    return float(f.DECODE_GPUS.at(known, prompt_len=LONG, arrival_rate=RATE))


def _million() -> float:
    price = {"gpu_price": PRICE_PER_HOUR / 3600, "tokens_per_s": SPEED}
    return 1e6 * float(f.TOKEN_COST(**price))


token_cost = Question(
    name="disaggregation.token-cost",
    prompt=(
        f"A GPU costs {PRICE_PER_HOUR:g} dollars an hour and sustains {SPEED:,.0f} "
        "tokens per second. What do a million tokens cost, in dollars?"
    ),
    answer=_million,
    rel_tol=0.02,
    why=lambda: f"Equation {f.TOKEN_COST.link}: {plain(_million())} dollars.",
)
