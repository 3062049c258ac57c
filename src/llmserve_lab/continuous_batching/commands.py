"""The page's command lines: a server and two clients, each for its own terminal."""

from __future__ import annotations

from llmserve_lab.continuous_batching.machine import LONG
from llmserve_lab.continuous_batching.tuning import RATE_PER_S, SEQS
from llmserve_lab.running_example import ANSWER, PROMPT

MODEL = "M=meta-llama/Llama-3.1-8B-Instruct"  # each terminal has its own variables


def server(rows: int) -> str:
    """The server's command line with a budget."""
    return f"""{MODEL}
vllm serve $M --max-num-seqs {SEQS} \\
  --max-num-batched-tokens {rows}"""


def usual_client() -> str:
    """Client 1: the usual requests, for five minutes, in a terminal of its own."""
    return f"""{MODEL}
vllm bench serve --model $M \\
  --dataset-name random --seed $RANDOM \\
  --request-rate {RATE_PER_S} --num-prompts 1000 \\
  --random-input-len {PROMPT} --ignore-eos \\
  --random-output-len {ANSWER} \\
  --percentile-metrics ttft,tpot,itl \\
  --metric-percentiles 99,99.9,100"""


def long_client() -> str:
    """Client 2: the long prompt, five times, in another terminal meanwhile."""
    return f"""{MODEL}
vllm bench serve --model $M \\
  --dataset-name random --seed $RANDOM \\
  --max-concurrency 1 --num-prompts 5 \\
  --random-input-len {LONG} --ignore-eos \\
  --random-output-len 10"""
