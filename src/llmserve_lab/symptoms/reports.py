"""What engineers reported of the symptoms of this chapter, with the report of each."""

from __future__ import annotations

from functools import partial

from llmserve_lab.catalog import Cited
from llmserve_lab.formula.origin import Sourced

BLOCKS_VERSION, SCALING_VERSION = "0.27.1", "0.7.2"  # of vLLM, in the two reports
_blocks = partial(Cited, kind="measured", source="vLLM issue 54607")
_tax = partial(Cited, unit="dimensionless", kind="measured", source="vLLM issue 54644")

BLOCK_TOKENS = _blocks(784, "token", note="block of a model with several caches")
PROMPT_TOKENS = _blocks(240, "token", note="system prompt that is never found")
SLOWER_PARAMS = Cited(
    32e9, "parameter", "measured", "vLLM issue 16300", "TP 8 slower than TP 4"
)
# Share of computed tokens that are computed again after preemptions.
AGAIN_FORCED = _tax(0.79, note="forced sweep")
AGAIN_LOW, AGAIN_HIGH = _tax(0.10, note="online"), _tax(0.23, note="online")

# Instrumented vLLM under memory pressure, whole run.
_counted = partial(Cited, kind="measured", source="inference-sim issue 963")
PREEMPTIONS = _counted(1538, "preemption", note="of all requests together")
REQUESTS = _counted(19_801, "request", note="all of them completed")


def per_request() -> str:
    """Preemptions per request of that run."""
    return f"{float(PREEMPTIONS) / float(REQUESTS):.2f}"


def share(cited: Cited) -> Sourced:
    """A cited share in percent."""
    return Sourced(f"{float(cited):.0%}", cited)


def whole(cited: Cited, unit: float = 1.0) -> Sourced:
    """A cited count in units of ``unit``, without its unit."""
    return Sourced(f"{float(cited) / unit:,.0f}", cited)
