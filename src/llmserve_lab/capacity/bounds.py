"""Bounds on a deployment that need no simulation: memory, and work against time.

What cannot hold the longest request is out. Beyond that, work is counted as the demand
bound of real-time scheduling counts it: requests that arrive and have to be done within
a window bring work that no schedule can avoid, and the replicas have only so many
seconds in that window. Both are true of *every* schedule, so that what they rule out
need not be simulated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.capacity.deployment import Candidate
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.trace import MINUTE_S, Requests, some
from llmserve_lab.engine import IterationCost, IterationLoad

STEPS = 16  # windows begin at each so-many-th of the hour's whole minutes


@dataclass(frozen=True)
class Lengths:
    """Arrivals, prompts and answers of a workload as arrays, each [requests]."""

    arrival_s: np.ndarray
    prompt: np.ndarray
    answer: np.ndarray

    @classmethod
    def of(cls, requests: Requests) -> Lengths:
        """Those of the requests.

        Raises:
            ValueError: there are none.
        """
        found = [(e.arrival_s, e.prompt_len, e.output_len) for e in some(requests)]
        arrival_s, prompt, answer = np.array(found, float).T
        return cls(arrival_s, prompt, answer)

    def __len__(self) -> int:
        return len(self.arrival_s)


def holds(candidate: Candidate, lengths: Lengths, *, block_tokens: int = 16) -> bool:
    """Whether weights and the longest request fit into a replica's memory."""
    try:
        blocks = candidate.cost.kv_blocks(block_tokens=block_tokens)
    except ValueError:
        return False
    longest = float((lengths.prompt + lengths.answer).max()) - 1
    return blocks * block_tokens >= longest


def least_work_s(
    cost: IterationCost, lengths: Lengths
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds that the prefill and the decodes of each request take at least.

    Rows are computed, pairs scored, caches read and requests handled, however they are
    batched. Weights, read once an iteration, are left out: a batch may share them.
    """
    row_s = cost.row_s + cost.collective_row_s
    prompt, steps = lengths.prompt, lengths.answer - 1
    pairs = prompt * (prompt + 1) / 2
    context = steps * prompt + steps * (steps + 1) / 2  # tokens seen, over all steps
    pair_s, read_s = cost.pair_s, cost.kv_token_s
    prefill_s = prompt * row_s + pairs * pair_s + cost.request_s
    if not cost.attention_apart:  # then reading may hide behind computing
        return prefill_s, steps * (row_s + cost.request_s) + context * pair_s
    each_s = row_s + cost.request_s
    # One row a step: it sees its own key, which is not read from the cache.
    return prefill_s, steps * each_s + context * pair_s + (context - steps) * read_s


def least_busy(
    candidate: Candidate, lengths: Lengths, level: ServiceLevel
) -> tuple[float, float]:
    """Busiest window: work that it must do over the time that it has, and when.

    A request that keeps the level has its prefill done ``ttft_s`` after it arrived and
    its last token at most ``tpot_s`` a token later. In a window that holds all of that,
    all of its work is done; where only the prefill has to be done, that. The heaviest
    requests, as many as may miss, are left out of each window. A value above 1 rules
    the deployment out.
    """
    prefill_s, decode_s = least_work_s(candidate.cost, lengths)
    first_s = lengths.arrival_s + level.ttft_s
    last_s = first_s + (lengths.answer - 1) * level.tpot_s
    spare = level.spare(len(lengths))
    last_minute = int(lengths.arrival_s[-1] // MINUTE_S) + 1
    worst, when = 0.0, 0.0
    for length in {max(1, last_minute // 2**k) for k in range(6)}:
        for begin in range(0, last_minute - length + 1, max(1, length // STEPS)):
            low, high = begin * MINUTE_S, (begin + length) * MINUTE_S
            inside = (lengths.arrival_s >= low) & (first_s <= high)
            work_s = np.where(
                last_s[inside] <= high,
                prefill_s[inside] + decode_s[inside],
                prefill_s[inside],
            )
            kept_s = np.sort(work_s)[: max(0, len(work_s) - spare)].sum()
            busy = float(kept_s) / ((high - low) * candidate.replicas)
            if busy > worst:
                worst, when = busy, low
    return worst, when


def least_step_s(candidate: Candidate) -> float:
    """Shortest decode step: one request, one row, one token in cache."""
    return candidate.cost.seconds(IterationLoad.of(chunk=1, context=1))
