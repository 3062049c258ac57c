"""The diagnosis game, guesses beside their runs, and exercises to compute."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.formula.text import si
from llmserve_lab.kv_memory.machine import BLOCK, SHARE_NOW, blocks_with
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.running_example import ANSWER as ANSWER_MEAN
from llmserve_lab.symptoms import formulas as f
from llmserve_lab.symptoms.case import tried, watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.cases.caching import FEW, QUESTION, SYSTEM
from llmserve_lab.symptoms.cases.memory import CLIENTS
from llmserve_lab.symptoms.dashboard import Dashboard
from llmserve_lab.symptoms.page.boards import GAME
from llmserve_lab.symptoms.served import SLOTS as VLLM_SLOTS

PROMPT, ANSWER = 1000, 1500  # tokens of a request in the text, by hand
OWN_BLOCKS, OWN_PROMPT, OWN_ANSWER = 12_000, 700, 1000  # of the exercise on slots
BENCHED = {"clients": 200, "ttft_s": 60.0, "system_s": 240.0}
CALM = {"clients": 100, "ttft_s": 0.5}
LOAD = {"arrival_rate": 4.0, "system_s": 6.5, "queue_s": 1.5}


def _seen(name: str) -> Dashboard:
    """One of the three dashboards of the game."""
    key, cause = GAME[name]
    return watched(case(key), cause)


def _one() -> Dashboard:
    return _seen("dashboard 1")


def _two() -> Dashboard:
    return _seen("dashboard 2")


def _three() -> Dashboard:
    return _seen("dashboard 3")


SLOTS = ("the prompts are long", "the batch has too few slots", "the KV cache is full")
MIXED = (
    "requests are preempted",
    "the batch is too large",
    "prompts are read in larger chunks among the decodes",
)
FINDS = (
    "prefix caching is off",
    "the prompts differ near their start",
    "system prompts are evicted before they return",
)
first = Question(
    name="symptoms.first",
    kind="predict",
    prompt=(
        "Dashboard 1. First tokens take many seconds. Name the cause that fits all of "
        "its numbers."
    ),
    choices=SLOTS,
    answer=lambda: float(_one()["queue_share"] > 0.5) + float(_one()["kv_peak"] > 0.9),
    why=lambda: (
        f"{_one()['queue_share']:.0%} of the time to the first token is queue time, so "
        "reading prompts is not what takes long; and the cache is "
        f"{_one()['kv_peak']:.0%} full at most, so memory is not what is missing. The "
        "number that runs never exceeds two: --max-num-seqs 2. With more slots the "
        f"median is {si(_after('first-token', 1, 0, 'ttft_p50'), 's', 2)}."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Then it would pass in prefill; look at the share that is queue time.",
        ),
        Hint(
            lambda: 2.0, "Look at the row of the KV cache: most of the cache is free."
        ),
    ),
)
second = Question(
    name="symptoms.second",
    kind="predict",
    prompt=(
        "Dashboard 2. Since the last change the slowest percent of the gaps between "
        "tokens is four times as long as before. Name the cause."
    ),
    choices=MIXED,
    answer=lambda: (
        float(_two()["preemptions"] == 0)
        + float(_two()["preemptions"] == 0 and _two()["itl_p50"] < 0.02)
    ),
    why=lambda: (
        "Nothing was preempted, and the median gap is "
        f"{si(_two()['itl_p50'], 's', 2)}: a batch that is too large slows every "
        "iteration. Only some gaps are long: those of iterations that also read a "
        "prompt. With 512 tokens an iteration the 99th percentile falls from "
        f"{si(_two()['itl_p99'], 's', 2)} to "
        f"{si(_after('percentiles', 1, 0, 'itl_p99'), 's', 2)}."
    ),
    hints=(
        Hint(lambda: 0.0, "One of the rows counts preemptions."),
        Hint(lambda: 1.0, "A large batch would lengthen the median gap as well."),
    ),
)
third = Question(
    name="symptoms.third",
    kind="predict",
    prompt=(
        "Dashboard 3. Twenty assistants, each with a system prompt of 6,000 tokens; "
        "tokens are looked up (the counter of queries grows), and none is found. The "
        f"server has {blocks_with(VLLM_SLOTS):,} KV blocks. Name the cause."
    ),
    choices=FINDS,
    answer=lambda: (
        float(_three()["queries"] > 0)
        + float(_three()["queries"] > 0 and _three()["repeat_hits"] > 0.1)
    ),
    why=lambda: (
        "Tokens are looked up, so caching is on. The gauge counts only blocks of "
        "requests under way, so it does not exclude eviction; counting does: between "
        f"two uses of a system prompt come about {FEW} requests, which take "
        f"{_between():,} of {blocks_with(VLLM_SLOTS):,} blocks. What is left: "
        "each prompt opens with the time of day, so every block has a new name. With "
        "the time at the end, the median time to the first token falls from "
        f"{si(_three()['ttft_p50'], 's', 2)} to "
        f"{si(_after('prefix-cache', 1, 0, 'ttft_p50'), 's', 2)}."
    ),
    hints=(
        Hint(lambda: 0.0, "Then nothing would be looked up."),
        Hint(lambda: 2.0, "How many blocks do twenty requests take between two uses?"),
    ),
)

predict_memory = Question(
    name="symptoms.predict-memory",
    kind="predict",
    prompt=(
        f"An H100 serves {CLIENTS} clients of Llama-3.1-8B whose answers have "
        "1,500 tokens on average, and requests are preempted all the time. vLLM's "
        "documentation names "
        "a larger --gpu-memory-utilization first; you raise it from "
        f"{float(MEMORY_SHARE):.2f} to {float(SHARE_NOW):.2f}. What "
        "happens to the number of preemptions?"
    ),
    choices=("nearly all are gone", "about half are left", "most of them are left"),
    answer=lambda: float(_left() > 0.2) + float(_left() > 0.65),
    why=lambda: (
        f"{_left():.0%} are left. The server finds {more_blocks():.0%} more blocks; "
        f"the clients together want {_wanted():.1f} times what there is."
    ),
    hints=(
        Hint(lambda: 0.0, "Two percent of 80 GB are less than 2 GB."),
        Hint(lambda: 1.0, "How many more blocks are two percent of the memory?"),
    ),
)
slots = Question(
    name="symptoms.slots",
    prompt=(
        f"A smaller GPU has {OWN_BLOCKS:,} KV blocks of {BLOCK} tokens. Its requests "
        f"have prompts of {OWN_PROMPT} tokens and answers of up to {OWN_ANSWER:,}. "
        "What is the largest --max-num-seqs that makes preemptions impossible?"
    ),
    answer=lambda: float(_safe()),
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: float(OWN_BLOCKS * BLOCK // OWN_PROMPT),
            "That is what fits on arrival; the answers still have to grow.",
        ),
        Hint(
            lambda: OWN_BLOCKS / (OWN_PROMPT + OWN_ANSWER),
            "Those are blocks; each holds sixteen tokens.",
        ),
    ),
    why=lambda: (
        f"A request has at most {OWN_PROMPT + OWN_ANSWER:,} tokens, which take "
        f"{_each()} whole blocks; {OWN_BLOCKS:,} over {_each()}, "
        f"rounded down, is {_safe()}."
    ),
)
running = Question(
    name="symptoms.running",
    prompt=(
        "A server answers four requests per second. Their mean latency is 6.5 seconds, "
        "of which 1.5 seconds pass in the queue. How many requests run at a time, on "
        "average?"
    ),
    answer=lambda: float(f.RUNNING_MEAN(**LOAD)),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: LOAD["arrival_rate"] * LOAD["system_s"],
            "That counts those that wait in the queue as well.",
        ),
        Hint(
            lambda: LOAD["arrival_rate"] * LOAD["queue_s"],
            "Those are the requests that wait.",
        ),
    ),
    why=lambda: (
        f"Equation {f.RUNNING_MEAN.link}: 4 · (6.5 − 1.5) = "
        f"{float(f.RUNNING_MEAN(**LOAD)):.0f}."
    ),
)


def _each() -> int:
    """Blocks of a request of the exercise at full length."""
    return -(-(OWN_PROMPT + OWN_ANSWER) // BLOCK)


ran = Question(
    name="symptoms.ran",
    prompt=(
        f"In a benchmark with {BENCHED['clients']} clients the first token takes "
        f"{BENCHED['ttft_s']:.0f} s and the mean latency {BENCHED['system_s']:.0f} s; "
        f"with {CALM['clients']} clients the first token takes {CALM['ttft_s']} s. How "
        f"many of the {BENCHED['clients']} requests ran at a time?"
    ),
    answer=lambda: _ran(),
    rel_tol=0.02,
    hints=(
        Hint(lambda: BENCHED["clients"] - _ran(), "Those are the ones that waited."),
        Hint(
            lambda: float(CALM["clients"]),
            "It is more than those: with so many clients nobody waited for a slot.",
        ),
    ),
    why=lambda: (
        "Each request waits as long as its first token comes later than without a "
        f"queue, {_queued_s():.1f} s of {BENCHED['system_s']:.0f} s. That share of the "
        f"clients waits at any time, and {_ran():.1f} run."
    ),
)


def _queued_s() -> float:
    """What a request of the benchmark waits."""
    return BENCHED["ttft_s"] - CALM["ttft_s"]


def _ran() -> float:
    """Clients of the benchmark that did not wait."""
    return BENCHED["clients"] * (1 - _queued_s() / BENCHED["system_s"])


def _after(key: str, cause: int, remedy: int, metric: str) -> float:
    """A metric after the remedy at these places was tried."""
    of = case(key).causes[cause]
    trial = tried(case(key), of.name, of.remedies[remedy].name)
    return trial.after[metric]


def _between() -> int:
    """Blocks of the requests between two uses of a system prompt, at mean length."""
    return FEW * -(-(SYSTEM + QUESTION + ANSWER_MEAN) // BLOCK)


def more_blocks() -> float:
    """Blocks that the larger share of the memory adds, of those before."""
    return blocks_with(VLLM_SLOTS, SHARE_NOW) / blocks_with(VLLM_SLOTS) - 1


def _wanted() -> float:
    """Tokens that all clients hold on average, of those that fit."""
    return CLIENTS * (PROMPT + ANSWER) / (blocks_with(VLLM_SLOTS) * BLOCK)


def _left() -> float:
    """Preemptions left with a larger share of the memory, of those before."""
    storm = case("preemption-storm")
    before = watched(storm, storm.causes[0].name)["preemptions"]
    more = tried(storm, storm.causes[0].name, "a larger share of the memory")
    return more.after["preemptions"] / before


def _safe() -> int:
    """Requests whose blocks fit at full length."""
    return OWN_BLOCKS // _each()
