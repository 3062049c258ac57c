"""What to set, tried out: a token budget from a target, its command line, its price."""

from __future__ import annotations

from functools import cache

from llmserve_lab.continuous_batching.byhand import prompt_band
from llmserve_lab.continuous_batching.lanes import (
    longest_gap_s,
    mean_gap_s,
    served,
    ttft_s,
)
from llmserve_lab.continuous_batching.machine import DECODES, LONG, TARGET_S
from llmserve_lab.continuous_batching.sweep import REQUESTS
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd
from llmserve_lab.engine import Chunked, IterationLoad, Pool, Report, simulate
from llmserve_lab.running_example import ANSWER, PROMPT, cost

SEQS, TILE = 256, 128  # slots; rows that a kernel computes together
SOURCE = "vLLM 0.33.0: vllm/engine/arg_utils.py, vllm/benchmarks/serve.py"


def share_below() -> float:
    """How far below a measured TTFT a prediction came out, as a share of it.

    The error is that of a larger model with shorter prompts: of what is served here
    nothing was measured. In whole per cent, as it is printed.
    """
    return round(-prompt_band().low, 2)


def safe_target_s() -> float:
    """What may be predicted, so that what is measured keeps the target."""
    return TARGET_S * (1 - share_below())


def safe_chunk() -> int:
    """Rows that fit at the end of the book with the error taken off the target."""
    own = IterationLoad.of(chunk=1, context=PROMPT)
    beside = IterationLoad(*(DECODES * each for each in own))
    return cost().chunk_within(safe_target_s(), load=beside, context=LONG)


def budget() -> int:
    """The token budget to start with: the safe chunk and its decodes, whole tiles."""
    return (safe_chunk() + DECODES) // TILE * TILE


@cache
def book() -> Report:
    """The book beside the five that decode, under the budget."""
    return served(beside_a_book(), Chunked(budget(), max_batch=SEQS))


def book_gap_s() -> float:
    """Longest gap of a reader under the budget."""
    return longest_gap_s(book())


def book_mean_gap_s() -> float:
    """Mean gap while the book is read."""
    return mean_gap_s(book())


def book_ttft_s() -> float:
    """When the book's first token comes."""
    return ttft_s(book())


@cache
def saturated(rows: int) -> float:
    """Output tokens per second of usual requests that never cease to wait.

    ``rows`` are the token budget.
    """
    asked = crowd(per_s=1e6, num_requests=REQUESTS)
    run = simulate(asked, Pool(cost(), Chunked(rows, max_batch=SEQS)))
    return run.throughput_tokens_per_s


def commands() -> str:
    """The server's command line with the budget, and a benchmark that checks it."""
    model = "meta-llama/Llama-3.1-8B-Instruct"
    return f"""# in one terminal: the server
vllm serve {model} \\
  --max-num-batched-tokens {budget()} --max-num-seqs {SEQS}

# in another, once it is up; send your longest usual prompt meanwhile
vllm bench serve --model {model} \\
  --dataset-name random --request-rate 3 --num-prompts 1000 \\
  --random-input-len {PROMPT} --random-output-len {ANSWER} \\
  --percentile-metrics ttft,tpot,itl --metric-percentiles 99,100"""
