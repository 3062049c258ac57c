"""How long single kernels took, each alone on a GPU: the small print of a peak.

A library's headline is its best shape. Its table says what all the others reach, and
they are those that a model runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.records.cited import Cited

DEEP_GEMM_TABLE = "DeepGEMM README, tables of February to April 2025, H800"
FLASH_3 = "FlashAttention-3, arXiv 2407.08608, figure 5, causal, 128 wide, H100"
CUTLASS_MLA = "SGLang, pull request 6929, bench_cutlass_mla, June 2025, Blackwell"
DEEP_EP_NORMAL = "DeepEP README, normal kernels, set_num_sms, 2025"
GRAPHS = "Gray, Getting Started with CUDA Graphs, developer.nvidia.com, 2019, V100"
MEGA = 1e6
_rate = partial(Cited, unit="FLOP/s", kind="measured", source=DEEP_GEMM_TABLE)
_traffic = partial(Cited, unit="byte/s", kind="measured", source=DEEP_GEMM_TABLE)


@dataclass(frozen=True, kw_only=True)
class ProductRun:
    """FP8 products [rows, n_in] × [n_in, n_out], BF16 out, ``groups`` of them at once.

    Both rates are as printed; their ratio is the traffic, so that one checks the other.
    """

    groups: int
    rows: int
    n_out: int
    n_in: int
    flops_per_s: Cited
    bytes_per_s: Cited

    @property
    def flops(self) -> float:
        """A multiplication and an addition for each number of each row."""
        return 2.0 * self.groups * self.rows * self.n_out * self.n_in

    @property
    def traffic_bytes(self) -> float:
        """Rows and weights once in, one byte each; results once out, two bytes each."""
        rows_in, weights = self.rows * self.n_in, self.n_out * self.n_in
        return float(self.groups * (rows_in + weights + 2 * self.rows * self.n_out))

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.flops / float(self.flops_per_s)


def _runs(
    groups: int, rows: int, *shapes: tuple[int, int, int, int]
) -> tuple[ProductRun, ...]:
    return tuple(
        ProductRun(
            groups=groups,
            rows=rows,
            n_out=n_out,
            n_in=n_in,
            flops_per_s=_rate(teraflops * MEGA * MEGA),
            bytes_per_s=_traffic(gigabytes * MEGA * 1e3),
        )
        for n_out, n_in, teraflops, gigabytes in shapes
    )


PRODUCT_RUNS: tuple[ProductRun, ...] = (
    *_runs(
        1,
        64,
        (2112, 7168, 206, 1688),
        (24576, 1536, 289, 2455),
        (32768, 512, 219, 2143),
        (7168, 16384, 336, 2668),
        (4096, 7168, 287, 2320),
        (7168, 2048, 295, 2470),
    ),
    *_runs(
        1,
        128,
        (2112, 7168, 352, 1509),
        (24576, 1536, 535, 2448),
        (32768, 512, 358, 2103),
        (7168, 16384, 645, 2604),
        (4096, 7168, 533, 2221),
        (7168, 2048, 510, 2277),
    ),
    *_runs(
        1,
        4096,
        (2112, 7168, 1058, 527),
        (24576, 1536, 990, 786),
        (32768, 512, 590, 1232),
        (7168, 16384, 1358, 343),
        (4096, 7168, 1304, 500),
        (7168, 2048, 1025, 697),
    ),
    *_runs(4, 8192, (4096, 7168, 1297, 418), (7168, 2048, 1099, 681)),
    *_runs(8, 4096, (4096, 7168, 1288, 494), (7168, 2048, 1093, 743)),
    *_runs(1, 1024, (4096, 7168, 1233, 924), (7168, 2048, 925, 968)),
    *_runs(2, 512, (4096, 7168, 1040, 1288), (7168, 2048, 916, 1405)),
    *_runs(4, 256, (4096, 7168, 932, 2064), (7168, 2048, 815, 2047)),
)
_causal = partial(Cited, unit="FLOP/s", kind="measured", source=FLASH_3)
CAUSAL_RUNS: Mapping[int, Cited] = MappingProxyType(
    {
        1024: _causal(423e12),
        2048: _causal(521e12),
        4096: _causal(579e12),
        8192: _causal(602e12),
        16_384: _causal(616e12),
    }
)
CUTLASS_MLA_CONTEXT = Cited(2048, "token/request", "measured", CUTLASS_MLA)
CUTLASS_MLA_BW = Cited(
    4047e9,
    "byte/s",
    "measured",
    CUTLASS_MLA,
    "256 requests, 128 heads, BF16: cache and queries in, results out",
)
_graph = partial(Cited, unit="s", kind="measured", source=GRAPHS)
GRAPH_KERNEL_S = _graph(2.9e-6, note="a short kernel, while it runs")
GRAPH_STEP_S = _graph(3.4e-6, note="from one such kernel of a graph to the next")
LENT_SMS = Cited(24, "dimensionless", "measured", DEEP_EP_NORMAL, "of 132")
COMPUTE_AND_SEND = (
    "Lee et al. 2025, arXiv 2507.03114, abstract, A100, H100, MI250, MI210"
)
OVERLAP_SLOWDOWN = Cited(
    0.189,
    "dimensionless",
    "measured",
    COMPUTE_AND_SEND,
    "mean slowdown of computing while collectives run in training; 0.4 at most",
)

FLASH_MLA = "FlashMLA, deep-dive of April 2025, H800 SXM5"
NO_BUBBLES = "Spector and others, Look Ma, No Bubbles!, May 2025, Llama-3.2-1B, H100"
THROTTLED_PEAK = Cited(865e12, "FLOP/s", "measured", FLASH_MLA, "at some 1.6 GHz")
ENGINES_BW_SHARE = Cited(0.5, "dimensionless", "measured", NO_BUBBLES, "at most")
ONE_KERNEL_BW_SHARE = Cited(0.78, "dimensionless", "measured", NO_BUBBLES)
