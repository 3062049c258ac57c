"""Published prefills of very long prompts, and pipelines beside tensor parallelism.

Of the first only the abstract could be read, of the second what others report of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.records.cited import Cited

CONTEXT = "Yang et al. 2024, Context Parallelism for Scalable Million-Token Inference, "
CONTEXT += "arXiv 2411.01783, abstract"
_run = partial(Cited, kind="measured", source=CONTEXT)
LONG_GPUS = _run(128, "dimensionless", note="H100")
LONG_SERVERS = _run(16, "dimensionless")
LONG_UTILISATION = _run(0.63, "dimensionless", note="FLOPS utilization, 1M tokens")
LONG_EFFICIENCY = _run(0.93, "dimensionless", note="parallelization efficiency, 1M")


@dataclass(frozen=True)
class LongPrefill:
    """A prompt of Llama-3.1-405B, read by all GPUs together; tokens as printed."""

    printed: str
    tokens: int
    seconds: Cited


# Thousands and millions: read so, both lengths are in one unit.
LONG_PREFILLS = (
    LongPrefill("128K", 128_000, _run(3.8, "s")),
    LongPrefill("1M", 10**6, _run(77, "s")),
)

NVIDIA = "NVIDIA, Boosting Llama 3.1 405B Throughput by Another 1.5x on H200, 2024, "
NVIDIA += "as reported by Blockchain.News, 2024-10-11"
_ratio = partial(Cited, unit="dimensionless", kind="measured", source=NVIDIA)
TENSOR_OVER_PIPELINE = _ratio(5.6, note="tokens/s, least latency, 8 H200")
PIPELINE_OVER_TENSOR = _ratio(1.5, note="tokens/s, most throughput, 8 H200")
