"""What others measured of disaggregated servers: the hand-over, and two ways to serve.

The benchmark of MORI-IO published each of its hundred requests; the numbers here are
minima and medians over them, and the counts that its authors print.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.records.cited import Cited

HANDOVER = "vLLM RFC 50913 and pull request 51919, August 2026"
SETTING = "Qwen3-32B FP8, 8 L20, 3 prefill and 1 decode instance of TP2, NixlConnector"
MORI_IO = "AMD and Embedded LLM, MORI-IO connector, vLLM blog, 2026-04-07"
MORI_SETTING = (
    "Qwen3-235B-A22B FP8 on 8 MI300X, vLLM 0.16.0rc1, 2,000 in and 1,000 out, "
    "8 requests per second, 100 requests"
)
DISTSERVE = "Zhong et al., DistServe, OSDI 2024, abstract"

_ms = partial(Cited, kind="measured", source=HANDOVER, note=SETTING)
HANDOVER_S = _ms(0.197, "s")  # median: prefill's first token to the client's
ON_THE_WIRE_S = _ms(0.029, "s")  # of it, the transfer itself
HANDOVER_PROMPT = _ms(4900, "token")  # about
ORCHESTRATION_S = Cited(
    0.168, "s", "measured", HANDOVER, f"hand-over less transfer; {SETTING}"
)

_mori = partial(Cited, kind="measured", source=MORI_IO, note=MORI_SETTING)
_share = partial(_mori, unit="request")


@dataclass(frozen=True, kw_only=True)
class Served:
    """A way to use the same eight GPUs: requests within both limits, and two times."""

    name: str
    within: Cited
    ttft_least_s: Cited
    ttft_s: Cited
    gap_s: Cited


TOGETHER = Served(
    name="co-located, two instances of TP4",
    within=_share(30.0),
    ttft_least_s=_mori(0.1621, "s"),
    ttft_s=_mori(0.2280, "s"),
    gap_s=_mori(0.1519, "s"),
)
APART = Served(
    name="one prefill and one decode instance of TP4, write mode",
    within=_share(73.0),
    ttft_least_s=_mori(0.1853, "s"),
    ttft_s=_mori(0.6451, "s"),
    gap_s=_mori(0.0377, "s"),
)
MORI_RATE = _mori(8.0, "request/s")
MORI_REQUESTS = _mori(100.0, "request")
MORI_INSTANCES = _mori(2.0, "dimensionless")
MORI_TTFT_S, MORI_GAP_S = _mori(1.0, "s"), _mori(0.05, "s")  # the service level
MOONCAKE = "Mooncake, README of the repository: Transfer Engine, 40 GB of cache"
_reached = partial(Cited, unit="byte/s", kind="measured", source=MOONCAKE)
MOONCAKE_4_PORTS = _reached(87e9, note="4 × 200 Gbit/s RoCE, at most")
MOONCAKE_8_PORTS = _reached(190e9, note="8 × 400 Gbit/s RoCE, at most")
MOONCAKE_SHARES = (
    float(MOONCAKE_8_PORTS) / (8 * 400e9 / 8),
    float(MOONCAKE_4_PORTS) / (4 * 200e9 / 8),
)
DISTSERVE_TIMES = Cited(7.4, "dimensionless", "paper", DISTSERVE, "at most")
