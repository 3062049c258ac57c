"""How fast others served a model with experts, and under what load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.source_links import Document

SEEN = Status("seen", "2026-11-22")
CALIBRATED = Status("calibrated", "2026-11-22")


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A model as it was served in public: ``n_gpus`` decode or prefill as one group.

    ``gpu_tokens_per_s`` is the rate of one GPU. ``context`` is the cache of a request
    in decode and its prompt in prefill, of which ``cached`` tokens need no computing.
    ``batch`` is requests per GPU, None where that is not told; ``user_tokens_per_s``
    what a user sees, where that is. ``status`` says whether the run was looked at
    while the models of this book were made.
    """

    name: str
    accelerator: str
    n_gpus: int
    context: Cited
    gpu_tokens_per_s: Cited
    batch: Cited | None = None
    user_tokens_per_s: Cited | None = None
    cached: Cited | None = None
    model: str = "deepseek-v3"
    status: Status = SEEN


DAY_6 = "DeepSeek, open-infra-index, day 6, inference system overview, 2025"
SGLANG_96 = "SGLang team, lmsys.org, 2025-05-05, 96 H100"
SGLANG_GB200 = "SGLang team, lmsys.org, 2025-06-16, GB200 NVL72"
LAUNCH_GB200 = "SGLang, launch commands of the decode on GB200, June 2025"
SGLANG_LATER = "SGLang team, lmsys.org, 2025-09-25, GB200 NVL72, part II"
KIMI_128 = "Mooncake team, lmsys.org, 2025-07-20, Kimi K2 on 128 H200"
EIGEN = "Eigen AI team, lmsys.org, 2025-07-17, multiple token prediction, case 1"
INFERENCEX = "SemiAnalysis, InferenceX, runs of early 2026 (Apache-2.0)"
_A_NODE = "published for a node of 8"


def _per_gpu(node_rate: float, source: str) -> Cited:
    return Cited(node_rate / 8, "token/s", "measured", source, _A_NODE)


def _tokens(count: float, source: str, note: str = "") -> Cited:
    return Cited(count, "token/request", "measured", source, note)


def _requests(count: float, source: str, note: str = "per GPU") -> Cited:
    return Cited(count, "request", "measured", source, note)


DEEPSEEK_DECODE = Deployment(
    name="DeepSeek, EP144",
    accelerator="h800-sxm",
    n_gpus=144,
    context=_tokens(4989, DAY_6, "mean"),
    gpu_tokens_per_s=_per_gpu(14_800, DAY_6),
    user_tokens_per_s=Cited(
        21, "token/(request*s)", "measured", DAY_6, "published as 20 to 22"
    ),
)
DEEPSEEK_USER_RATES: tuple[Cited, ...] = tuple(
    Cited(rate, "token/(request*s)", "measured", DAY_6, f"{end} of the range")
    for rate, end in ((20, "lower end"), (22, "upper end"))
)
NODE_INPUT_TOKENS = Cited(73_700, "token/s", "measured", DAY_6, "with cache hits")
NODE_INPUT_COMPUTED = Cited(32_206, "token/s", "measured", SGLANG_96, "without hits")
DAY_INPUT = Cited(608e9, "token", "measured", DAY_6, "of a day, with cache hits")
DAY_OUTPUT = Cited(168e9, "token", "measured", DAY_6, "of a day")
DAY_NODES = Cited(226.75, "dimensionless", "measured", DAY_6, "nodes of 8, the mean")
HIT_SHARE = 1 - float(NODE_INPUT_COMPUTED) / float(NODE_INPUT_TOKENS)
_PROMPT = float(DEEPSEEK_DECODE.context)
DEEPSEEK_PREFILL = Deployment(
    name="DeepSeek, prefill, EP32",
    accelerator="h800-sxm",
    n_gpus=32,
    context=_tokens(_PROMPT, DAY_6, "that of decode; prompts are not told"),
    cached=_tokens(_PROMPT * HIT_SHARE, DAY_6, "the share of all tokens that hit"),
    gpu_tokens_per_s=_per_gpu(float(NODE_INPUT_COMPUTED), SGLANG_96),
)
PROFILED_DECODE = Deployment(
    name="DeepSeek's profile, EP128",
    accelerator="h800-sxm",
    n_gpus=128,
    context=_tokens(4096, SGLANG_96, "from DeepSeek's profile data"),
    gpu_tokens_per_s=_per_gpu(18_598, SGLANG_96),
    batch=_requests(128, SGLANG_96),
)
PROFILED_PREFILL = Deployment(
    name="DeepSeek's profile, prefill of 4096",
    accelerator="h800-sxm",
    n_gpus=32,
    context=_tokens(4096, SGLANG_96, "from DeepSeek's profile data"),
    gpu_tokens_per_s=_per_gpu(62_713, SGLANG_96),
)
# What another simulator says of the two profiled runs, in its README.
INFERSIM = Document(
    "Alibaba, InferSim, README, 2026", "https://github.com/alibaba/InferSim"
)
INFERSIM_PREFILL = Cited(9034, "token/s", "paper", INFERSIM, "a GPU, simulated")
INFERSIM_DECODE = Cited(2675, "token/s", "paper", INFERSIM, "a GPU, simulated")
SGLANG_DECODE = Deployment(
    name="SGLang, EP72",
    accelerator="h100-sxm",
    n_gpus=72,
    context=_tokens(2000, SGLANG_96),
    gpu_tokens_per_s=_per_gpu(22_282, SGLANG_96),
    batch=_requests(256, SGLANG_96),
)
SGLANG_DRAFTED = Deployment(
    name="SGLang, EP72, drafts simulated",
    accelerator="h100-sxm",
    n_gpus=72,
    context=_tokens(4000, SGLANG_96),
    gpu_tokens_per_s=_per_gpu(17_373, SGLANG_96),
    batch=_requests(128, SGLANG_96),
)
DRAFT_KEPT = Cited(
    0.6, "dimensionless", "convention", SGLANG_96, "of one token drafted"
)
EVEN_PROMPT = 4096  # the two prefills whose ratio gives the balancedness
PREFILL_RATES: tuple[Deployment, ...] = tuple(
    Deployment(
        name=f"SGLang, prefill of {prompt}",
        accelerator="h100-sxm",
        n_gpus=32,
        context=_tokens(prompt, SGLANG_96),
        gpu_tokens_per_s=_per_gpu(rate, SGLANG_96),
        status=CALIBRATED if prompt == EVEN_PROMPT else SEEN,
    )
    for prompt, rate in ((1024, 57_674), (2048, 54_543), (4096, 50_302))
)
EVEN_PREFILL = Deployment(
    name="SGLang, prefill of 4096, even routing",
    accelerator="h100-sxm",
    n_gpus=32,
    context=_tokens(EVEN_PROMPT, SGLANG_96),
    gpu_tokens_per_s=_per_gpu(59_337, SGLANG_96),
    status=CALIBRATED,
)
PREFILL_ROWS = Cited(16_384, "token", "measured", SGLANG_96, "rows in flight on a GPU")
NVL72_DECODE = Deployment(
    name="SGLang, NVL72",
    accelerator="gb200-nvl72",
    n_gpus=48,
    context=_tokens(2000, SGLANG_GB200),
    gpu_tokens_per_s=Cited(7583, "token/s", "measured", SGLANG_GB200),
    batch=_requests(768, LAUNCH_GB200, "36,864 on 48 GPUs"),
)
NVL72_LATER = Deployment(
    name="SGLang, NVL72, later",
    accelerator="gb200-nvl72",
    n_gpus=48,
    context=_tokens(2000, SGLANG_LATER),
    gpu_tokens_per_s=Cited(
        9087, "token/s", "measured", SGLANG_LATER, "BF16 attention, FP8 products"
    ),
    batch=_requests(768, SGLANG_LATER, "per GPU, launch script"),
)
NVL72_LOW = Deployment(
    name="SGLang, NVL72, later, FP4",
    accelerator="gb200-nvl72",
    n_gpus=48,
    context=_tokens(2000, SGLANG_LATER),
    gpu_tokens_per_s=Cited(
        13_386, "token/s", "measured", SGLANG_LATER, "FP8 attention, FP4 experts"
    ),
    batch=_requests(1408, SGLANG_LATER),
)
NVL72_PREFILL = Deployment(
    name="SGLang, NVL72, later, prefill of 2000",
    accelerator="gb200-nvl72",
    n_gpus=4,
    context=_tokens(2000, SGLANG_LATER),
    gpu_tokens_per_s=Cited(
        18_471, "token/s", "measured", SGLANG_LATER, "BF16 attention, FP8 products"
    ),
)
KIMI_DECODE = Deployment(
    name="Kimi K2, EP96",
    accelerator="h200-sxm",
    n_gpus=96,
    context=_tokens(2000, KIMI_128),
    gpu_tokens_per_s=_per_gpu(24_000, KIMI_128),
    batch=_requests(480, KIMI_128),
    model="kimi-k2",
)
KIMI_REDUNDANT = Cited(96, "dimensionless", "measured", KIMI_128, "in decode")
KIMI_PREFILL = Deployment(
    name="Kimi K2, prefill of 2000",
    accelerator="h200-sxm",
    n_gpus=32,
    context=_tokens(2000, KIMI_128),
    gpu_tokens_per_s=_per_gpu(56_000, KIMI_128),
    model="kimi-k2",
)
# The batch that SGLang's table gives DeepSeek's decode; DeepSeek itself gives none.
TABLED_BATCH = _requests(128, SGLANG_96)


def _raced(
    context: float, rate: float, step_s: float, status: Status = SEEN
) -> Deployment:
    """A run of a benchmark suite; requests are rate times time, by Little's law."""
    return Deployment(
        name="InferenceX, 8 H200",
        accelerator="h200-sxm",
        n_gpus=8,
        context=_tokens(context, INFERENCEX, "nine tenths of the nominal lengths"),
        gpu_tokens_per_s=Cited(rate, "token/s", "measured", INFERENCEX),
        batch=_requests(rate * step_s, INFERENCEX, "rate times time between tokens"),
        status=status,
    )


SMALL_BATCHES: tuple[Deployment, ...] = (
    _raced(1382, 90.25, 27.47e-3),
    _raced(1382, 522.1, 39.0e-3),
    _raced(7834, 209.9, 34.69e-3, CALIBRATED),  # both are among the decode runs
    _raced(7834, 410.3, 42.74e-3, CALIBRATED),
    Deployment(
        name="SGLang, 16 H200",
        accelerator="h200-sxm",
        n_gpus=16,
        context=_tokens(67_584, EIGEN, "65,536 and half of the answer"),
        gpu_tokens_per_s=Cited(60.4, "token/s", "measured", EIGEN),
        batch=_requests(2, EIGEN),
    ),
)
DEPLOYMENTS: tuple[Deployment, ...] = (
    DEEPSEEK_DECODE,
    PROFILED_DECODE,
    SGLANG_DECODE,
    SGLANG_DRAFTED,
    NVL72_DECODE,
    NVL72_LATER,
    NVL72_LOW,
    KIMI_DECODE,
    DEEPSEEK_PREFILL,
    PROFILED_PREFILL,
    *PREFILL_RATES,
    EVEN_PREFILL,
    NVL72_PREFILL,
    KIMI_PREFILL,
)
_speedup = partial(Cited, unit="dimensionless", kind="measured", source=SGLANG_96)
OVERLAP_GAINS: Mapping[int, Cited] = MappingProxyType(
    {256: _speedup(1.255), 32: _speedup(0.73)}
)
DRAFTED_OVERLAP_GAIN = _speedup(17_552 / 12_929, note="128 requests, drafts simulated")
PREFILL_OVERLAP_GAINS = (
    _speedup(1.27, note="lower end of the range"),
    _speedup(1.35, note="upper end of the range"),
)
PREFILL_OVERLAP_ROWS = Cited(
    8192, "token", "measured", SGLANG_96, "rows of a GPU, with overlap and without"
)
REBALANCING_GAINS: Mapping[str, Cited] = MappingProxyType(
    {"prefill": _speedup(1.49), "decode": _speedup(2.54)}
)
