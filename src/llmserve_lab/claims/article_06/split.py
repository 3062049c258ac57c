"""Article 06, sections 5 to 7: the hand-over, its price on five fabrics, the hop."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from math import log10

from llmserve_lab.catalog import LINKS, MODELS, Link, accelerator
from llmserve_lab.claims.article_06.setting import K, gib_as_gb, setting
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.printed import parse
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.engine import (
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    Request,
    simulate,
)
from llmserve_lab.formula.text import plain, si

PROMPT = 4 * K
FEW_HUNDRED = (200.0, 400.0)
NVLINK, SWITCH = LINKS["nvlink4"], LINKS["nvswitch-hgx-h100"]
HDR, NDR, PCIE = (LINKS[k] for k in ("infiniband-hdr", "infiniband-ndr", "pcie-gen5"))
BITS = 8

in_section_6 = partial(Claim, section="§6")


def handoff_bytes() -> float:
    """Cache of the article's prompt."""
    return float(f.HANDOFF_BYTES.at(setting(), prompt_len=PROMPT))


def transfer_s(bytes_per_s: float) -> float:
    """Time to send it at so many bytes per second."""
    wire = {"link_bw": bytes_per_s, "eff_link": 1.0}
    return float(f.TRANSFER_S(handoff_bytes=handoff_bytes(), **wire))


def one_way_s(link: Link) -> float:
    """Time to send it over ``link``."""
    return transfer_s(float(link.bandwidth))


def before_encoding(link: Link) -> float:
    """Lanes times bits on a lane, of which not all carry data."""
    lanes = link.wires.num_links * link.wires.lanes_per_link
    return lanes * float(link.wires.lane_rate) / BITS


def own_cells_s() -> float:
    """Seconds from the size and the rate of PCIe as the article prints them."""
    return parse("≈ 2 GB").low / parse("~64 GB/s").low


def traffic() -> tuple[float, float]:
    """Bytes per second between the pools, at both ends of "a few hundred"."""
    known = {"handoff_bytes": handoff_bytes()}
    low, high = (
        float(f.HANDOFF_PER_S(arrival_rate=rate, **known)) for rate in FEW_HUNDRED
    )
    return low, high


def orders() -> float:
    """Orders of magnitude between the slowest and the fastest fabric of the table."""
    rates = [float(link.bandwidth) for link in (NVLINK, SWITCH, HDR, NDR, PCIE)]
    return log10(max(rates) / min(rates))


@cache
def first_token_s(link: Link) -> float:
    """Time to the first token of one request whose cache is sent over ``link``."""
    # The article's prompt fills the model's context, and an answer comes on top.
    cost = IterationCost.of(MODELS["llama-2-7b"], accelerator("h100-sxm"))
    pool = Pool(replace(cost, max_context=None), Continuous())
    latency_s = float(link.latency or 0.0)  # the article leaves it out
    split = Disaggregated.over(
        link, prefill=pool, decode=pool, link_latency_s=latency_s
    )
    one = Request(arrival_s=0.0, prompt_len=PROMPT, output_len=3, id=0)
    return float(simulate([one], split).ttft_s[0])


def emitted_after_the_transfer() -> bool:
    """Whether it would, if the decode side emitted the first token."""
    times = {"prefill_wait_s": 0.0, "prefill_s": 0.1, "decode_step_s": 0.01}
    hop = {"decode_emits": 1.0, "orchestration_s": 0.0}
    slow, fast = (
        float(f.TTFT(**times, **hop, exposed_s=one_way_s(link)))
        for link in (HDR, NVLINK)
    )
    return slow > fast


def transfer_delays_the_first() -> bool:
    """Whether a slower link makes a user wait longer for the first token."""
    return first_token_s(HDR) > first_token_s(NVLINK)


CLAIMS = (
    in_section_6(
        id="06-39",
        says="Cache of a prompt of 4 k tokens, Llama-2-7B",
        parts=(
            Number(
                "≈ 2 GB",
                "byte",
                handoff_bytes,
                readings={"GiB printed as GB": lambda: gib_as_gb(handoff_bytes())},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It is 2 GiB, printed as GB.",
    ),
    in_section_6(
        id="06-40",
        says="Time to send it over NVLink",
        parts=(
            Number(
                "~2 ms",
                "s",
                lambda: one_way_s(NVLINK),
                readings={
                    "both directions counted": lambda: transfer_s(
                        float(NVLINK.bidirectional or 0)
                    )
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="A cache goes one way; the rate that is divided by counts both.",
    ),
    in_section_6(
        id="06-41",
        says="Bandwidth of an NVSwitch fabric, and the time to send the cache over it",
        parts=(
            Number("~400 GB/s", "byte/s", lambda: float(SWITCH.bandwidth)),
            Number("~5 ms", "s", lambda: one_way_s(SWITCH)),
        ),
        verdict=Ruling.WRONG,
        why="One way, as it should be, but the switch gives each GPU all that its "
        "NVLink has; so the row above, at twice that rate, ought to be the same.",
    ),
    in_section_6(
        id="06-42",
        says="Time to send it at the rate that the table calls InfiniBand",
        parts=(Number("~40 ms", "s", lambda: one_way_s(NDR)),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "One port of NDR has that rate; one of HDR, which the table names, takes "
            f"{si(one_way_s(HDR), 's')}."
        ),
    ),
    in_section_6(
        id="06-43",
        says="Bandwidth of PCIe Gen5, and the time to send the cache over it",
        parts=(
            Number(
                "~64 GB/s",
                "byte/s",
                lambda: float(PCIE.bandwidth),
                readings={"bits on the wire": lambda: before_encoding(PCIE)},
            ),
            Number(
                "~30 ms",
                "s",
                lambda: one_way_s(PCIE),
                readings={"its own rounded cells": own_cells_s},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It counts every bit on sixteen lanes, of 130 only 128 carry data; the "
        "time divides 2 GB, for 2 GiB, by that.",
    ),
    in_section_6(
        id="06-44",
        says="Bandwidth of InfiniBand HDR",
        parts=(
            Number(
                "~50 GB/s",
                "byte/s",
                lambda: float(HDR.bandwidth),
                readings={
                    "both directions counted": lambda: float(HDR.bidirectional or 0)
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="HDR is 200 Gb/s one way; what is printed is NDR, or HDR both ways.",
    ),
    in_section_6(
        id="06-45",
        says="Bandwidth of NVLink within a node",
        parts=(
            Number(
                "900 GB/s",
                "byte/s",
                lambda: float(NVLINK.bandwidth),
                readings={
                    "both directions counted": lambda: float(NVLINK.bidirectional or 0)
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="The headline adds what goes in and what comes out.",
    ),
    Claim(
        id="06-46",
        section="§7",
        says="The price of a transfer ranges over nearly so many orders of magnitude",
        parts=(Number("2 orders", "dimensionless", orders),),
        verdict=Ruling.WRONG,
        why=lambda: (
            f"NVLink is {plain(10 ** orders())} times as fast as one port of HDR, "
            "nearer to one order than to two, in the table as in the datasheets."
        ),
    ),
    in_section_6(
        id="06-47",
        says="At a few hundred requests per second hundreds of GB/s go between the "
        "pools",
        parts=(
            Statement(
                "hundreds of GB/s",
                lambda: 100e9 <= min(traffic()) <= max(traffic()) < 1000e9,
                lambda: " to ".join(si(end, "byte/s") for end in traffic()),
                limit="200 to 400 requests/s, 100 to 1,000 GB/s",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="For a multi-head cache in 16 bits and no prefix reused.",
    ),
    in_section_6(
        id="06-48",
        says="The transfer and the first decode step are part of the time to the first "
        "token",
        parts=(
            Statement(
                "TTFT = prefill + transfer + decode",
                transfer_delays_the_first,
                lambda: (
                    f"{si(first_token_s(NVLINK), 's', 4)} over NVLink and "
                    f"{si(first_token_s(HDR), 's', 4)} over InfiniBand HDR"
                ),
                cases={"the decode side emits it": emitted_after_the_transfer},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="By section 5 of the article the prefill pool emits the first token, the "
        "transfer delays the second. It depends on the engine: where the decode side "
        "emits it, as with vLLM's NixlConnector, the sum is right.",
    ),
)
