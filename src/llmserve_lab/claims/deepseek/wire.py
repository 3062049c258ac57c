"""Sections 2.1 and 3.3: what travels, over which link, and in which format."""

from __future__ import annotations

from itertools import product

from llmserve_lab.catalog import EFFICIENCIES, LINKS, PRECISIONS
from llmserve_lab.catalog.data.efficiencies import DEEP_EP_BW
from llmserve_lab.checks import whole
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    KIMI,
    MIXED,
    PLACE,
    ROUNDED,
    V3,
    WRONG,
    moe_layers,
    number,
    size,
    statement,
)
from llmserve_lab.claims.parts import Number, Passages, Size
from llmserve_lab.claims.printed import parse
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.formula.text import plain

FFN = PLACE.experts
COPIES = FFN.top_k + FFN.n_shared
NDR = float(LINKS["infiniband-ndr"].bandwidth)


def volume() -> float:
    """Bytes of a row's copies, one byte out and two back, in all layers."""
    return 3.0 * COPIES * V3.d_model * V3.n_layers


def over_all_reduce() -> float:
    """Copies out and back over what a ring all-reduce sends of the same row."""
    gpus = PLACE.n_gpus
    return 2 * COPIES / (2 * (gpus - 1) / gpus)


def far_pairs(nodes: int) -> float:
    """Share of ordered pairs of nodes that are two, counted."""
    whole(of="node", most=1_000, nodes=nodes)
    pairs = list(product(range(nodes), repeat=2))
    return sum(one != other for one, other in pairs) / len(pairs)


def bytes_out() -> float:
    """Bytes of a number on its way out that its printed volume leaves, two back."""
    numbers = COPIES * V3.d_model * V3.n_layers
    return parse("0.0118 GB").low / numbers - float(PRECISIONS["bf16"].bytes_weight)


MLA_FORMAT = f"attention in {EFFICIENCIES['flashmla'].precision}"
CLAIMS = (
    number(
        "004-25",
        "§2.1",
        "Copies of a row that travel: d × (routed + shared experts)",
        "257",
        "dimensionless",
        lambda: float(COPIES),
        WRONG,
        "Those it uses, not those there are; the volume printed later has them right.",
    ),
    number(
        "004-26",
        "§2.5",
        "Volume of expert parallelism over that of tensor parallelism",
        "≈ 9",
        "dimensionless",
        over_all_reduce,
        ROUNDED,
        "Nine copies out and back, over a ring all-reduce of the same row.",
    ),
    number(
        "004-50",
        "§3.3.1",
        "Volume of a row in all layers",
        "0.0118 GB",
        "byte",
        volume,
        ROUNDED,
        "As multiplied there; dense layers send nothing.",
    ),
    number(
        "004-51",
        "§3.3.1",
        "Layers that communicate",
        "61",
        "dimensionless",
        lambda: float(moe_layers()),
        MIXED,
        "The dense layers have no experts to send to.",
        All_layers=lambda: float(V3.n_layers),
    ),
    number(
        "004-52",
        "§3.3.1",
        "GPUs with one expert each",
        "257",
        "dimensionless",
        lambda: float(FFN.n_experts + FFN.n_shared),
        EXACT,
        "One for each routed expert, one for the shared one.",
    ),
    number(
        "004-53",
        "§3, §3.3.1, §3.5",
        "Dispatch is in BF16: bytes of a number on its way out",
        "2",
        "dimensionless",
        bytes_out,
        MIXED,
        "Its own volume of a row leaves one byte out, with two back; DeepSeek's "
        "overview has the same.",
        elsewhere="1",
    ),
    Claim(
        "004-54",
        "§3, §3.5",
        "Everything is computed in FP8",
        (Passages("attention in fp8", MLA_FORMAT, "§3.5, its share of peak"),),
        MIXED,
        "A later section computes attention in BF16, and its share is one of BF16.",
    ),
    statement(
        "004-55",
        "§3.3.3",
        "Nine experts on eight GPUs: the one with two has more than an even share",
        "2·B/(8 + 1) > B/8",
        lambda: 2 / COPIES > 1 / (COPIES - 1),
        lambda: f"{plain(2 / COPIES)} of the volume over {plain(1 / (COPIES - 1))}",
        EXACT,
        "Nearly twice, as it says.",
    ),
    number(
        "004-60",
        "Table 2",
        "InfiniBand at 400 Gb/s, one way",
        "50 GB/s",
        "byte/s",
        lambda: NDR,
        EXACT,
        "Bits over eight.",
    ),
    number(
        "004-61",
        "Table 2",
        "InfiniBand at 400 Gb/s, single port",
        "25 GB/s",
        "byte/s",
        lambda: NDR,
        MIXED,
        "One port gives the full rate; half of it is left if two GPUs share it.",
        A_port_for_two_GPUs=lambda: NDR / 2,
    ),
    Claim(
        "004-62",
        "Table 2",
        "NVLink of H100 and B200, one way",
        (
            Number("450 GB/s", "byte/s", lambda: float(LINKS["nvlink4"].bandwidth)),
            Number("900 GB/s", "byte/s", lambda: float(LINKS["nvlink5"].bandwidth)),
        ),
        EXACT,
        "Half of the headline, which is both ways.",
    ),
    number(
        "004-63",
        "§3.5",
        "Inefficiency of the communication library",
        "1.25",
        "dimensionless",
        lambda: NDR / float(DEEP_EP_BW),
        EXACT,
        "Peak over reached.",
    ),
    size(
        "004-78",
        "§4",
        "Kimi K2 communicates as much as DeepSeek-V3",
        Size(
            "the same in both",
            lambda: 1.0,
            lambda: (KIMI.n_layers - 1) / moe_layers(),
            label="layers that send, Kimi K2 over the other:",
            exactly=True,
            readings={"every layer sends": lambda: KIMI.n_layers / V3.n_layers},
        ),
        MIXED,
        "A row has as many copies of the same width, but two dense layers fewer, which "
        "do not send; the source has all 61 layers send in both.",
    ),
    statement(
        "004-80",
        "§3.3.2",
        "Of n nodes, (n − 1)/n of the volume leaves the node",
        "(n − 1)/n",
        lambda: all(
            abs(far_pairs(n) - float(f.FAR_SHARE(n_nodes=n))) < 1e-12 for n in (2, 4, 9)
        ),
        lambda: f"{plain(far_pairs(9))} with nine nodes, counted",
        EXACT,
        "With routing that does not know about nodes.",
    ),
)
