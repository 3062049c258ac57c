"""Hourly prices of rented GPUs, as lists showed them on the day given.

One provider's list, so that GPUs can be compared with each other; two other providers
show how far prices of the same chip lie apart. Each was read in a dated public
transcription of the provider's page. Prices move: a reader should put in their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.records.cited import Cited

AUTUMN = "RunPod, pricing page, 2026-11-09"
EARLIER = "RunPod, pricing page, 2026-10-07"
HOUR = "dollar/hour"
_now = partial(Cited, unit=HOUR, kind="paper", source=AUTUMN)
_before = partial(Cited, unit=HOUR, kind="paper", source=EARLIER)
SECURE = "on demand, in the provider's own data centres, one GPU"

# Dollars an hour of one GPU, by its key in the catalog.
HOURLY: Mapping[str, Cited] = MappingProxyType(
    {
        "a100-80-sxm": _now(1.79, note=SECURE),
        "h100-sxm": _now(3.99, note=SECURE),
        "h200-sxm": _before(4.59, note=SECURE),
        "b200-sxm": _before(6.79, note=SECURE),
    }
)
# The same chip, an H100 SXM with 80 GB, elsewhere and at other times.
H100_CHEAPEST = _now(2.69, note="other people's machines, no promise of service")
H100_DEAREST = Cited(
    12.29,
    HOUR,
    "paper",
    "Microsoft Azure, retail prices, 2026-11-09",
    "ND96isr H100 v5 by 8 GPUs, with InfiniBand; east US",
)
H100_SUMMER = Cited(
    3.29, HOUR, "paper", "RunPod, prices of 2026-08-19", "the same offer in August"
)
H100_OCTOBER = _before(3.49, note="the same offer in October")
# List prices of two hosted models, dollars for each million tokens: input, output.
API_LIST = "K. Kunishou, GenerativeAI-Cost, list of API prices, 2024-08"
API_PRICES: Mapping[str, tuple[Cited, Cited]] = MappingProxyType(
    {
        name: (
            Cited(float(asked) * 1e-6, "dollar/token", "paper", API_LIST),
            Cited(float(told) * 1e-6, "dollar/token", "paper", API_LIST),
        )
        for name, asked, told in (
            ("GPT-4o mini", 0.15, 0.60),
            ("Claude 3.5 Sonnet", 3.00, 15.00),
        )
    }
)
