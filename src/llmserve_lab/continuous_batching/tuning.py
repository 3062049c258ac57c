"""What to set, tried out: a token budget from a target, its command line, its price."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from llmserve_lab.catalog.evidence.servers import VLLM_MAX_SEQS, VLLM_TOKEN_BUDGET
from llmserve_lab.checks import whole
from llmserve_lab.continuous_batching.arrival_rates import NEVER_CEASE_PER_S, REQUESTS
from llmserve_lab.continuous_batching.lanes import longest_gap_s, ttft_s
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    GRAPH_ROWS,
    LONG,
    TARGET_S,
    calm,
    hidden,
    priced,
    slower_attention,
)
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.worked_example import (
    measured_attention,
    prompt_band,
)
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd
from llmserve_lab.engine import Chunked, IterationCost, IterationLoad, Pool, simulate
from llmserve_lab.running_example import ANSWER, PROMPT, cost, model

SEQS, TILE = 256, 128  # slots; rows that a kernel computes together
CAP = 512  # rows of one prompt in an iteration, in the setting with a cap
BUDGETS = (256, 384, GRAPH_ROWS, 640, 768, 1024, 2048, 4096, 8192)  # rows
KEPT = (4096, 8192, 32_768, LONG)  # tokens of the longest prompt
DEFAULT, DEFAULT_SEQS = int(VLLM_TOKEN_BUDGET.value), int(VLLM_MAX_SEQS.value)
FEW = (1024, 2048)  # budgets to measure t_rest with: no full chunk is recorded
RATE_PER_S = 3  # usual requests that arrive a second
SOURCE = (
    "vLLM 0.33.0: vllm/engine/arg_utils.py, vllm/benchmarks/serve.py, "
    "vllm/config/compilation.py (cudagraph_mode FULL_AND_PIECEWISE, "
    "max_cudagraph_capture_size)"
)


@dataclass(frozen=True, kw_only=True)
class Trade:
    """What a budget makes of the long prompt and of the five that decode beside it."""

    budget: int
    gap_s: float
    ttft_s: float


@cache
def trade(budget: int, machine: IterationCost | None = None) -> Trade:
    """The long prompt under a budget, launches ``priced`` by its rows if not given."""
    policy = Chunked(budget, max_batch=SEQS)
    run = logged(beside_a_book(), policy, machine or priced(budget))
    return Trade(budget=budget, gap_s=longest_gap_s(run), ttft_s=ttft_s(run))


@cache
def extra_s(budget: int, machine: IterationCost) -> dict[str, float]:
    """What a budget adds to the long prompt's TTFT in one piece, part by part.

    Each part is what the difference loses where it costs nothing; what is left are the
    rows that the decodes have in every iteration, and bookkeeping.
    """
    free: dict[str, dict[str, Any]] = {
        "weights": {"weights_s": 0.0},
        "cache": {"kv_token_s": 0.0},
        "launches": {"overhead_s": 0.0, "prompt_s": 0.0},
    }
    more_s = _more_s(budget, machine, {})
    parts = {name: more_s - _more_s(budget, machine, off) for name, off in free.items()}
    return parts | {"decodes": more_s - sum(parts.values())}


def again_s(rows: int) -> float:
    """What reading the weights and the cache again adds to the long prompt's TTFT."""
    parts = extra_s(rows, priced(rows))
    return parts["weights"] + parts["cache"]


def _more_s(budget: int, machine: IterationCost, off: dict[str, Any]) -> float:
    """By how much a budget delays the long prompt, with some costs switched off.

    In one piece every launch is made by itself, unless all are hidden.
    """
    whole = hidden() if machine == hidden() else cost()
    cut_s = trade(budget, replace(machine, **off)).ttft_s
    return cut_s - trade(LONG + DECODES, replace(whole, **off)).ttft_s


def share_below() -> float:
    """How far below a measured TTFT one prediction in twenty came out, as a share.

    The error is that of a larger model with shorter prompts: of what is served here
    nothing was measured. In whole per cent, as it is printed.
    """
    return round(-prompt_band().low, 2)


def safe_target_s() -> float:
    """What may be predicted, so that what is measured keeps the target."""
    return TARGET_S * (1 - share_below())


def safe_chunk(prompt_len: int = LONG, *, long_decodes: int = 0) -> int:
    """Rows that fit after such a prompt with the error taken off the target.

    ``long_decodes`` have read a long prompt and write their answers beside the others.
    """
    load = calm().plus(_long_decodes(long_decodes))
    return cost().chunk_within(safe_target_s(), load=load, context=prompt_len)


def bound(prompt_len: int = LONG, *, long_decodes: int = 0) -> int:
    """The largest token budget: the safe chunk and its decodes, whole tiles."""
    chunk = safe_chunk(prompt_len, long_decodes=long_decodes)
    return (chunk + DECODES + long_decodes) // TILE * TILE


def longest_s(budget: int, prompt_len: int) -> float:
    """The longest iteration that reads such a prompt beside the decodes.

    Raises:
        ValueError: the prompt is longer than the model's context.
    """
    whole(of="token", most=model().max_context, prompt_len=prompt_len)
    whole(first=DECODES + 1, budget=budget)
    chunk = budget - DECODES
    loads = (
        calm().plus(IterationLoad.of(chunk=min(chunk, prompt_len - at), context=at))
        for at in range(0, prompt_len, chunk)
    )
    return max(priced(budget).seconds(load) for load in loads)


def largest(prompt_len: int) -> int:
    """The largest budget in whole tiles that keeps the target with every chunk.

    All smaller ones keep it, too. ``bound`` stays below: it counts the whole prompt as
    cached, and so every row of a chunk as the last one's.
    """
    whole(of="token", most=model().max_context, prompt_len=prompt_len)
    budget = TILE
    while longest_s(budget + TILE, prompt_len) <= safe_target_s():
        budget += TILE
        if budget > prompt_len + DECODES:
            raise ValueError(
                "prompt_len must be longer than what any budget reads within "
                f"{safe_target_s():g} s, got {prompt_len}"
            )
    return budget


def _long_decodes(count: int) -> IterationLoad:
    """Requests that have read a long prompt and write their answers."""
    return IterationLoad.of(chunk=1, context=LONG).times(count)


def capped_gap_s(
    rows: int,
    *long_prompts: int,
    long_decodes: int = 0,
    machine: IterationCost | None = None,
) -> float:
    """An iteration of ``rows`` in which long prompts are capped and the rest is new.

    Each further argument is the prefix of a long prompt that has the cap's rows, the
    last of them what is left where that is less; fresh prompts take the remainder.
    """
    load = calm().plus(_long_decodes(long_decodes))
    room = rows - load.rows
    for prefix in long_prompts:
        chunk = min(CAP, room)
        load = load.plus(IterationLoad.of(chunk=chunk, context=prefix))
        room -= chunk
    return (machine or cost()).seconds(load.plus(IterationLoad.of(chunk=room)))


def long_decode_s() -> float:
    """What one more request costs that decodes behind a long prompt, in a row's place.

    Its cache is read and its row looks at it; the row itself was some other's before.
    """
    machine = cost()
    looks_s = LONG * (machine.pair_s + machine.kv_token_s)
    return looks_s + machine.request_s


def errors_s(rows: int) -> dict[str, float]:
    """The longest gap under a budget, and what each doubt makes of it, in s.

    Each alone, then both: no launch recorded, and attention as slow as it was measured
    by itself. The margin is the error of a whole time, so that it must hold both, and
    none of them is added to it.
    """
    pair_s = slower_attention(measured_attention()).pair_s
    return {
        "predicted": trade(rows).gap_s,
        "launches": trade(rows, cost()).gap_s,
        "attention": trade(rows, replace(priced(rows), pair_s=pair_s)).gap_s,
        "both": trade(rows, replace(cost(), pair_s=pair_s)).gap_s,
    }


def bare_bound(prompt_len: int = LONG) -> int:
    """The largest token budget where nothing is taken off the target, whole tiles."""
    chunk = cost().chunk_within(TARGET_S, load=calm(), context=prompt_len)
    return (chunk + DECODES) // TILE * TILE


def attention_of_gap() -> float:
    """Attention's part of computing the longest iteration under the first budget."""
    chunk = budget() - DECODES
    load = calm().plus(IterationLoad.of(chunk=chunk, context=LONG - chunk))
    return load.pairs * cost().pair_s / cost().compute_s(load)


def budget() -> int:
    """The token budget to try first: within the bound, and with recorded launches.

    It is within the bound beside a long prompt that decodes, too.
    """
    return min(GRAPH_ROWS, bound(long_decodes=1))


def crowded_gap_s() -> float:
    """The last iteration of the long prompt beside as many decodes as slots but its."""
    beside = SEQS - 1
    decodes = IterationLoad.of(chunk=1, context=PROMPT + ANSWER).times(beside)
    chunk = IterationLoad.of(chunk=budget() - beside, context=LONG)
    return priced(budget()).seconds(decodes.plus(chunk))


def saturated_decodes() -> float:
    """Requests that decode in an iteration without a row to spare, on average.

    A usual request brings a row for each token of its prompt, and one for each token
    of its answer but the first.
    """
    return budget() * (ANSWER - 1) / (PROMPT + ANSWER - 1)


def rest_by_two_s(
    budgets: tuple[int, int], machine: IterationCost | None = None
) -> float:
    """What an iteration takes without the chunk, from the gaps of two budgets."""
    less, more = (trade(rows, machine) for rows in budgets)
    slope = (more.gap_s - less.gap_s) / (more.budget - less.budget)
    return less.gap_s - (less.budget - DECODES) * slope


@cache
def saturated(
    rows: int,
    machine: IterationCost | None = None,
    *,
    cap: int | None = None,
    seqs: int = SEQS,
) -> float:
    """Output tokens per second where usual requests alone never cease to wait.

    ``rows`` are the token budget, of which one prompt has at most ``cap``, and ``seqs``
    the slots; launches are ``priced`` by the rows if no machine is given.
    """
    asked = crowd(per_s=NEVER_CEASE_PER_S, num_requests=REQUESTS)
    pool = Pool(machine or priced(rows), Chunked(rows, seqs, cap=cap))
    return simulate(asked, pool).throughput_tokens_per_s


def steady_gain(rows: int = DEFAULT, seqs: int = DEFAULT_SEQS) -> float:
    """Share by which ``saturated`` is below the rate of its middle half of answers.

    The whole run counts its end, too, where slots stand empty and none waits.
    """
    asked = crowd(per_s=NEVER_CEASE_PER_S, num_requests=REQUESTS)
    run = simulate(asked, Pool(priced(rows), Chunked(rows, seqs)))
    quarter, done_s = REQUESTS // 4, sorted(run.finished_s.tolist())
    middle_per_s = 2 * quarter / (done_s[3 * quarter] - done_s[quarter])
    return float(middle_per_s / run.requests_per_s - 1)
