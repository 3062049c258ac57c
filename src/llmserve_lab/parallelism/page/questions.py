"""What to guess before reading about the axes, and to work out after."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import MODEL, attention_bytes, sizes_of
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.page import stills

FASTER = ("about four times as fast", "about twice as fast", "not faster at all")
TWELVE = {"n_stages": 4.0, "n_batches": 12.0}
EIGHT = {"n_ranks": 8.0}
BIG = MODELS["llama-3.1-405b"]
BIG_SIZES = sizes_of(BIG)
BIG_KV = float(BIG_SIZES["kv_bytes_per_token"])
BIG_QUERY = float(f.QUERY_BYTES_PER_TOKEN.at(BIG_SIZES))
ASKED, CACHED = 4_000, 20_000
EXPERTS = MODELS["qwen3-235b-a22b"]
EXPERT_SIZES = sizes_of(EXPERTS)
EXPERT_KV = float(EXPERT_SIZES["kv_bytes_per_token"])
COPIED = {
    "attn_bytes": round(float(attention_bytes(EXPERTS)), -8),
    "n_ranks": 8.0,
    "kv_bytes_per_token": EXPERT_KV,
    "kv_copies": 8 / float(EXPERT_SIZES["n_kv_heads"]),
}


def _gain() -> float:
    """Token time of one request in four stages over that in one."""
    one, four = (GpuLayout(stages=p).decode(1, 1000, 1).token_s for p in (1, 4))
    return four / one


predict_alone = Question(
    name="parallelism.predict-alone",
    kind="predict",
    prompt=(
        f"The {MODEL.n_layers} layers of {MODEL.name} stand on four H100s, a quarter "
        "on each. A single request decodes, alone in the pipeline. How fast do its "
        "tokens come, compared with one GPU that had memory enough for all layers?"
    ),
    choices=FASTER,
    answer=lambda: 2.0,
    why=lambda: (
        "Each layer still waits for the one before it, so the four GPUs work one "
        f"after another: a token takes {_gain():.2f} times as long as on one GPU. "
        "The pipeline adds memory and room for other requests, not faster tokens."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Four GPUs work, but never two at the same time on this request.",
        ),
        Hint(lambda: 1.0, "No two stages can work on the same token at once."),
    ),
)
predict_runs = Question(
    name="parallelism.predict-runs",
    kind="predict",
    prompt=(
        "A very long prompt is dealt in stretches: GPU 0 has its first eighth, GPU 7 "
        "its last. A token looks at all tokens before it. How many times the mean of "
        "all eight does GPU 7 compute in attention?"
    ),
    answer=lambda: f.BUSIEST_ENDLESS.at(EIGHT),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: 8 * float(f.BUSIEST_ENDLESS.at(EIGHT)),
            "That is how many times more than GPU 0 it would be near; the question "
            "asks for the mean of all eight.",
        ),
        Hint(lambda: 1.0, "Equal numbers of tokens are not equal work."),
    ),
    why=lambda: (
        "The last eighth of a triangle has 15 of 64 equal parts, the mean of eight "
        f"GPUs is 8 of 64: {si(f.BUSIEST_ENDLESS.at(EIGHT), 'dimensionless')} "
        "times. All others wait for it in every layer."
    ),
)
READERS = ("TP 8", "TP 4 × DP 2", "PP 8")
predict_layout = Question(
    name="parallelism.predict-layout",
    kind="predict",
    prompt=(
        f"These eight H100s read prompt after prompt with {MODEL.name}, in chunks of "
        f"{stills.CHUNK:,} tokens. Which layout is predicted to read "
        "far the fewest tokens per second?"
    ),
    choices=READERS,
    answer=lambda: float(READERS.index(min(READERS, key=stills.prefill_rate))),
    why=lambda: (
        "TP 8: all 160 all-reduces of a chunk cross the network. "
        f"{stills.prefill_rate('TP 8'):,.0f} tokens per second, against "
        f"{stills.prefill_rate('TP 4 × DP 2'):,.0f} for two replicas and "
        f"{stills.prefill_rate('PP 8'):,.0f} for PP 8."
    ),
    hints=(
        Hint(lambda: 1.0, "Its all-reduces stay inside a server, on NVLink."),
        Hint(lambda: 2.0, "Only a row a border is sent, and no all-reduce is left."),
    ),
)
bubble = Question(
    name="parallelism.bubble",
    prompt=(
        "A prompt is read in twelve chunks of equal cost through four stages. What "
        "share of the time does a stage stand idle (a number between 0 and 1)?"
    ),
    answer=lambda: f.PREFILL_BUBBLE.at(TWELVE),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: 3 / 12,
            "That is idle time over working time; asked is idle over all time.",
        ),
    ),
    why=lambda: (
        f"Equation {f.PREFILL_BUBBLE.link}: three of fifteen ticks, "
        f"{si(f.PREFILL_BUBBLE.at(TWELVE), 'dimensionless')}."
    ),
)
follow_up = Question(
    name="parallelism.follow-up",
    prompt=(
        f"A user has pasted a report of {CACHED:,} tokens, which is cached on "
        f"a ring of GPUs, and asks a question of {ASKED:,} tokens more. In {BIG.name} "
        f"a token leaves {BIG_KV:,.0f} bytes of keys and values, and pass-Q sends "
        f"{BIG_QUERY:,.0f} "
        "bytes for a new token. What share of the bytes of pass-Q does pass-KV send?"
    ),
    answer=lambda: BIG_KV * (CACHED + ASKED) / (BIG_QUERY * ASKED),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: BIG_KV * CACHED / (BIG_QUERY * ASKED),
            "The new tokens have keys and values, too.",
        ),
        Hint(
            lambda: BIG_KV / BIG_QUERY,
            "That is for a prompt of which nothing is cached.",
        ),
    ),
    why=lambda: (
        f"Pass-KV sends the keys and values of all {CACHED + ASKED:,} tokens, pass-Q "
        f"the queries of {ASKED:,}: "
        f"{BIG_KV * (CACHED + ASKED) / (BIG_QUERY * ASKED):.3f} times. More than one "
        "token in sixteen is new, so here pass-KV sends less."
    ),
)
even = Question(
    name="parallelism.even",
    prompt=(
        f"Eight H200 serve {EXPERTS.name}, a mixture of experts, in 16 bits. The "
        "attention weights that tensor parallelism would cut have "
        f"{COPIED['attn_bytes'] / 1e9:.1f} GB; a token leaves {EXPERT_KV:,.0f} bytes. "
        "With four KV heads, two tensor-parallel ranks must keep each of them. With "
        "how many cached tokens in all do cut attention and data-parallel attention "
        "take the same memory?"
    ),
    answer=lambda: f.EVEN_TOKENS(**COPIED),
    unit="token",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: float(f.EVEN_TOKENS(**COPIED)) / 2,
            "Cut, each token is kept twice; uncut, once. One copy is the difference.",
        ),
    ),
    why=lambda: (
        f"Equation {f.EVEN_TOKENS.link}: seven more copies of the weights against "
        f"one more copy of the cache, {si(f.EVEN_TOKENS(**COPIED), 'token', 5)}."
    ),
)
