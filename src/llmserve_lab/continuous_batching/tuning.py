"""What to set, tried out: a token budget from a target, its command line, its price."""

from __future__ import annotations

from functools import cache

from llmserve_lab.continuous_batching.lanes import (
    longest_gap_s,
    mean_gap_s,
    served,
    ttft_s,
)
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd
from llmserve_lab.engine import Chunked, Pool, Report, simulate
from llmserve_lab.running_example import ANSWER, PROMPT, cost

BUDGET, SEQS = 906, 256  # rows within the target at the end of the book; slots
SOURCE = "vLLM 0.33.0: vllm/engine/arg_utils.py, vllm/benchmarks/serve.py"


@cache
def book() -> Report:
    """The book beside the five that decode, under the budget."""
    return served(beside_a_book(), Chunked(BUDGET, max_batch=SEQS))


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
def saturated(budget: int) -> float:
    """Output tokens per second of usual requests that never cease to wait."""
    asked = crowd(per_s=1e6, num_requests=2000)
    run = simulate(asked, Pool(cost(), Chunked(budget, max_batch=SEQS)))
    return run.throughput_tokens_per_s


def commands() -> str:
    """The server's command line with the budget, and a benchmark that checks it."""
    model = "meta-llama/Llama-3.1-8B-Instruct"
    return f"""vllm serve {model} \\
  --max-num-batched-tokens {BUDGET} --max-num-seqs {SEQS}

vllm bench serve --model {model} \\
  --dataset-name random --request-rate 3 \\
  --random-input-len {PROMPT} --random-output-len {ANSWER} \\
  --percentile-metrics ttft,tpot,itl --metric-percentiles 99
(and, meanwhile, paste your longest usual prompt)"""
