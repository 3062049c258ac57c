"""What to guess before reading about the cache's memory, and to work out after."""

from __future__ import annotations

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.formula.text import si
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.machine import (
    BLOCK,
    num_blocks,
    room,
    served,
    slots_that_fit,
)
from llmserve_lab.kv_memory.serving import REPLICAS, SYSTEM, step_s, warm
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, wasted
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.running_example import ANSWER, PROMPT, cost, model

SAMPLES = 4  # answers to one prompt
SCOUT = CACHE_LAYERS["llama-4-scout"]
FAR, FARTHER = 32_768, 131_072  # tokens
GIB = float(1 << 30)
SHARES = ("about 30 %", "about 60 %", "about 90 %")
SHARED = {
    "num_samples": float(SAMPLES),
    "prompt_len": float(PROMPT - PROMPT % BLOCK),
    "new_tokens": float(ANSWER - ANSWER % BLOCK),
}
EASY = {
    "num_samples": float(SAMPLES),
    "prompt_len": float(PROMPT),
    "new_tokens": float(ANSWER),
}


def _foreseen() -> float:
    found = wasted(SERVICES[0])
    return found.share(found.powers)


def _rounded() -> float:
    found = wasted(SERVICES[0])
    return found.final / found.powers


def _written() -> float:
    found = wasted(SERVICES[0])
    return found.used / found.final


def _few() -> int:
    return served(LIMIT)


def _many() -> int:
    return slots_that_fit(wasted(SERVICES[0]).paged[BLOCK])


def _faster() -> float:
    held = wasted(SERVICES[0]).used
    return _many() / step_s(_many(), held) / (_few() / step_s(_few(), held))


def _tokens() -> float:
    return float(num_blocks() * BLOCK)


predict_waste = Question(
    name="kv-memory.predict-waste",
    kind="predict",
    prompt=(
        "Suppose a server knew the final length of each request, prompt and answer "
        "together, and reserved this length, rounded up to a power of two, from the "
        "start. Requests are those of a real chat service. At a random moment while "
        "answers are written, what share of the reserved memory holds a token?"
    ),
    choices=SHARES,
    answer=lambda: float(_foreseen() > 0.45) + float(_foreseen() > 0.75),
    why=lambda: (
        f"It is {_foreseen():.0%}. Rounding up to a power of two leaves "
        f"{_rounded():.0%} for the final length, and of that {_written():.0%} is "
        "written at a random moment; the product is the answer."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Rounding up to a power of two can at most double a length, and most of a "
            "request is its prompt.",
        ),
        Hint(lambda: 2.0, "Rounding up alone wastes about a third."),
    ),
)
predict_rate = Question(
    name="kv-memory.predict-rate",
    kind="predict",
    prompt=(
        f"The cache of the H100 holds {_few()} of these requests with the reservation "
        f"and {_many()} with paging (each has a slot; the slots take the room of two "
        "requests). How many times as many tokens a second does the server write for "
        "all of them together?"
    ),
    choices=("about as many", "3 times as many", "12 times as many"),
    answer=lambda: float(_faster() > 1.5) + float(_faster() > 6),
    why=lambda: (
        f"{_faster():.1f} times: a step reads the weights once for all requests, but "
        "the cache of each request for itself, so the larger step takes longer."
    ),
    hints=(
        Hint(lambda: 0.0, "A step reads the weights once, for however many requests."),
        Hint(lambda: 2.0, "The larger step has more cache to read, so it is slower."),
    ),
)
predict_routing = Question(
    name="kv-memory.predict-routing",
    kind="predict",
    prompt=(
        f"A hundred and twenty assistants share {REPLICAS} replicas and have done so "
        "for a while; each assistant sends the same long system prompt with every "
        f"question. A replica has room for {num_blocks() * BLOCK // SYSTEM} of these "
        "prompts. Requests go to the replica with the fewest requests. What happens to "
        "the share of prompt tokens found in a cache if they go to the replica that "
        "knows the prompt instead?"
    ),
    choices=("it stays about the same", "it grows by about 70 %", "it grows tenfold"),
    answer=lambda: float(
        sum(
            warm("prefix-aware").hit_share > factor * warm("least loaded").hit_share
            for factor in (1.3, 5.0)
        )
    ),
    why=lambda: (
        f"From {warm('least loaded').hit_share:.0%} to "
        f"{warm('prefix-aware').hit_share:.0%}: a replica that serves a quarter of "
        "the assistants has room for their prompts, and need not evict them."
    ),
    hints=(
        Hint(
            lambda: 0.0, "A replica that serves all assistants keeps evicting prompts."
        ),
        Hint(lambda: 2.0, "Much is found already: assistants come back to a replica."),
    ),
)
fits = Question(
    name="kv-memory.fits",
    prompt=(
        f"One H100 has room for {_tokens():,.0f} tokens of Llama-3.1-8B. All requests "
        f"begin with the same {SYSTEM:,} tokens, which prefix caching stores once. How "
        f"many requests with {FAR:,} tokens in cache each run at once?"
    ),
    answer=lambda: float((_tokens() - SYSTEM) // (FAR - SYSTEM)),
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: num_blocks() / FAR,
            "Those are blocks; each holds sixteen tokens.",
        ),
        Hint(
            lambda: float(_tokens() // FAR),
            "So many would fit if each kept a copy of the shared beginning.",
        ),
    ),
    why=lambda: (
        f"({_tokens():,.0f} − {SYSTEM:,}) / ({FAR:,} − {SYSTEM:,}) = "
        f"{(_tokens() - SYSTEM) / (FAR - SYSTEM):.1f}, so "
        f"{(_tokens() - SYSTEM) // (FAR - SYSTEM):.0f} whole ones."
    ),
)
window = Question(
    name="kv-memory.window",
    prompt=(
        "Llama-4 Scout has 48 layers with 8 key–value heads 128 numbers wide, in 16 "
        "bits. 36 of the layers keep a chunk of at most 8,192 tokens; count a full "
        f"chunk. How many GiB does a request of {FARTHER:,} tokens keep in the cache?"
    ),
    answer=lambda: SCOUT.request_bytes(FARTHER) / GIB,
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: SCOUT.naive_token_bytes() * FARTHER / GIB,
            "That is what it would be if all layers kept all tokens.",
        ),
        Hint(
            lambda: SCOUT.full_token_bytes() * FARTHER / GIB,
            "The layers with a chunk keep something, too.",
        ),
    ),
    why=lambda: (
        f"Twelve layers keep all: {SCOUT.full_token_bytes() * FARTHER / GIB:.2f} GiB; "
        "36 keep 8,192 tokens: "
        f"{si(SCOUT.window_token_bytes() * SCOUT.window / GIB, 'dimensionless', 3)} "
        f"GiB. "
        f"Together {si(SCOUT.request_bytes(FARTHER) / GIB, 'dimensionless', 3)} GiB."
    ),
)
even = Question(
    name="kv-memory.even",
    prompt=(
        f"{model().name} computes a token in {1e6 * cost().row_s:.2f} µs on the H100 "
        "(at the rates of the simulator), and the token keeps "
        f"{model().kv_bytes_per_token():,.0f} bytes. At what bandwidth "
        "to the host's memory does copying a token's cache out and in again take as "
        "long as computing it again?"
    ),
    answer=lambda: f.SWAP_BW.at(room()),
    unit="byte/s",
    rel_tol=0.03,
    hints=(
        Hint(
            lambda: float(f.SWAP_BW.at(room())) / 2,
            "The bytes travel twice: out and in.",
        ),
    ),
    why=lambda: (
        f"Equation {f.SWAP_BW.link}: {si(float(f.SWAP_BW.at(room())), 'byte/s', 3)} "
        f"for {model().name}."
    ),
)
