"""A single number of the catalog stands beside its own words, and none is unread."""

from typing import Any

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence import deployments, kernels, servers
from tests.catalog.test_each_column import shows
from tests.each import rows

FACTS: dict[str, Any] = {  # by the beginning of a row
    "MLA decode, tokens in cache": kernels.CUTLASS_MLA_CONTEXT,
    "MLA decode, traffic": kernels.CUTLASS_MLA_BW,
    "kernel of a graph": kernels.GRAPH_KERNEL_S,
    "step of a graph": kernels.GRAPH_STEP_S,
    "multiprocessors lent": kernels.LENT_SMS,
    "two-batch overlap, gain": deployments.DRAFTED_OVERLAP_GAIN,
    "two-batch overlap in prefill, rows": deployments.PREFILL_OVERLAP_ROWS,
    "two-batch overlap at 32": deployments.OVERLAP_GAINS[32],
    "two-batch overlap at 256": deployments.OVERLAP_GAINS[256],
    "prefill, rows of a GPU": deployments.PREFILL_ROWS,
    "prefill, a node": deployments.NODE_INPUT_TOKENS,
    "prefill computed": deployments.NODE_INPUT_COMPUTED,
    "drafted tokens kept": deployments.DRAFT_KEPT,
    "redundant experts": deployments.KIMI_REDUNDANT,
    "blocks of cache": servers.VLLM_ROOM.blocks,
    "experts rebalanced in prefill": deployments.REBALANCING_GAINS["prefill"],
    "experts rebalanced in decode": deployments.REBALANCING_GAINS["decode"],
    **{f"attention over {n} tokens": rate for n, rate in kernels.CAUSAL_RUNS.items()},
}


def test_single_numbers_stand_beside_their_own_words() -> None:
    found = [*rows(catalog.kernel_table()), *rows(catalog.operation_table())]
    for words, cited in FACTS.items():
        (row,) = (row for row in found if row["what"].startswith(words))
        assert shows(row["measured"], cited), words
    ranges = {
        "two-batch overlap in prefill, gain": deployments.PREFILL_OVERLAP_GAINS,
        "a user of DeepSeek": deployments.DEEPSEEK_USER_RATES,
    }
    for words, (low, high) in ranges.items():
        for cited, end in ((low, "lower"), (high, "upper")):
            (row,) = (row for row in found if row["what"].startswith(f"{words} ({end}"))
            assert shows(row["measured"], cited) and float(low) < float(high)
    named = (*FACTS, *ranges)
    assert all(any(map(row["what"].startswith, named)) for row in found)
