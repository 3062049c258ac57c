"""Published prefills of long prompts over servers, and pipelines beside groups.

Of the second, what others report of it could be read. One paper has the first, with its
GPUs, what a port sends, and how long a ring took by either method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.evidence.measurements import LOW_LATENCY
from llmserve_lab.catalog.records.cited import Cited

CONTEXT = "Yang et al. 2024, Context Parallelism for Scalable Million-Token Inference, "
CONTEXT += "arXiv 2411.01783v3"
_run = partial(Cited, kind="measured", source=CONTEXT)
_said = partial(Cited, kind="paper", source=CONTEXT)
LONG_GPUS = _run(128, "dimensionless", note="H100")
LONG_SERVERS = _run(16, "dimensionless")
LONG_UTILISATION = _run(0.63, "dimensionless", note="FLOPS utilization, 1M tokens")
LONG_EFFICIENCY = _run(0.93, "dimensionless", note="parallelization efficiency, 1M")
LONG_PEAK = _said(800e12, "FLOP/s", note="BF16, an H100 limited to 500 W; appendix A")
LONG_HBM_BW = _said(2.4e12, "byte/s", note="96 GB of HBM2e; section 4.1")
LONG_ATTENTION = _run(540e12, "FLOP/s", note="FlashAttention-3, 8K tokens, one GPU")


@dataclass(frozen=True)
class LongPrefill:
    """A prompt of Llama-3.1-405B, read by all GPUs together; tokens as printed.

    ``ranks`` of a ring share out its tokens; each is ``tp`` GPUs in ``tp / 8`` servers.
    """

    printed: str
    tokens: int
    seconds: Cited
    ranks: int = 16
    tp: int = 8

    @property
    def name(self) -> str:
        """How its GPUs are laid out."""
        ring = f"CP {self.ranks} × " if self.ranks > 1 else ""
        return f"{ring}TP {self.tp}"


# Thousands and millions: read so, both lengths are in one unit.
LONG_PREFILLS = (
    LongPrefill("128K", 128_000, _run(3.8, "s")),
    LongPrefill("1M", 10**6, _run(77, "s")),
)
_table = partial(_run, unit="s", note="tables 6 and 7")
FEWER_SERVERS = (
    LongPrefill("128K", 128_000, _table(42.010), 1),
    LongPrefill("128K", 128_000, _table(21.042), 2),
    LongPrefill("128K", 128_000, _table(29.917), 1, 16),
    LongPrefill("128K", 128_000, _table(10.950), 4),
    LongPrefill("128K", 128_000, _table(19.841), 1, 32),
    LongPrefill("128K", 128_000, _run(5.85, "s", note="section 4.2.1"), 8),
)
# One request with 128,000 tokens in cache: from token to token, by GPUs of the group.
LONG_TOKENS = {8: _table(46.26e-3), 16: _table(39.52e-3), 32: _table(47.3e-3)}

# Table 5: a hop of pass-KV in one layer, a rank one GPU with one KV head of 128.
RING_TOKENS, RING_RANKS = 128_000, 4
RING_BLOCK = _run(RING_TOKENS / RING_RANKS * 2 * 128 * 2, "byte", note="keys, values")
RING_HOP = _run(627e-6, "s", note="SendRecv, 2.5% new; table 5")
RING_PORT = _run(
    float(RING_BLOCK) / float(RING_HOP), "byte/s", note="a block over a hop; table 5"
)
# The most that was published for such a port: what DeepEP's exchanges reach of it.
EXCHANGE_SHARE = Cited(
    0.8897, "dimensionless", "estimate", LOW_LATENCY, "fitted to all its times"
)
# Table 4: new tokens of 128,000 on four ranks, seconds with pass-KV and with pass-Q.
RING_RUNS = {
    new: (_run(kv * 1e-3, "s", note="table 4"), _run(q * 1e-3, "s", note="table 4"))
    for new, kv, q in (
        (1_280, 1023.39, 898.71),
        (3_200, 1110.18, 1046.43),
        (4_160, 1298.92, 1280.10),
        (6_400, 1305.56, 1302.01),
        (12_800, 2080.67, 2205.27),
        (25_600, 3353.02, 3617.02),
        (128_000, 11462.15, 12360.57),
    )
}
