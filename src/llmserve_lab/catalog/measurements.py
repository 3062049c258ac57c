"""What others measured on real deployments, to stand beside what a formula predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.cited import Cited

SPLITWISE = "splitwise-sim, perf_model.csv (Patel et al., ISCA 2024)"


@dataclass(frozen=True, kw_only=True)
class SmallBatch:
    """One request alone on ``num_devices`` devices, cut by tensor parallelism.

    ``prompt_s`` is the time of the prefill of ``prompt_tokens`` tokens, ``token_s`` the
    time of one decode iteration after it.
    """

    model: str
    accelerator: str
    num_devices: int
    prompt_tokens: int
    prompt_s: Cited
    token_s: Cited


_s = partial(Cited, unit="s", kind="measured", source=SPLITWISE)

LLAMA_2_70B_A100 = SmallBatch(
    model="llama-2-70b",
    accelerator="a100-80-sxm",
    num_devices=8,
    prompt_tokens=512,
    prompt_s=_s(94e-3),
    token_s=_s(44.9e-3),
)
LLAMA_2_70B_H100 = SmallBatch(
    model="llama-2-70b",
    accelerator="h100-sxm",
    num_devices=8,
    prompt_tokens=512,
    prompt_s=_s(53.4e-3),
    token_s=_s(29.8e-3),
)
SMALL_BATCH: Mapping[str, SmallBatch] = MappingProxyType(
    {record.accelerator: record for record in (LLAMA_2_70B_A100, LLAMA_2_70B_H100)}
)


@dataclass(frozen=True, kw_only=True)
class AllToAll:
    """Dispatch (FP8) and combine (BF16) of one MoE layer among ``ep`` GPUs.

    Every GPU has 128 rows of width 7168, each for 8 experts, and one copy goes to each.
    """

    ep: int
    dispatch_s: Cited
    combine_s: Cited


LOW_LATENCY = "DeepEP README, low-latency kernels, H800, 400 Gb/s InfiniBand, June 2025"
_kernel = partial(Cited, unit="s", kind="measured", source=LOW_LATENCY)
ALL_TO_ALL: tuple[AllToAll, ...] = tuple(
    AllToAll(ep=ep, dispatch_s=_kernel(there), combine_s=_kernel(back))
    for ep, there, back in (
        (8, 77e-6, 114e-6),
        (16, 118e-6, 195e-6),
        (32, 155e-6, 273e-6),
        (64, 173e-6, 314e-6),
        (128, 192e-6, 369e-6),
        (256, 194e-6, 360e-6),
    )
)
ALL_TO_ALL_ROWS = Cited(128, "token", "convention", LOW_LATENCY, "rows of each GPU")


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """DeepSeek-V3 as somebody serves it: ``n_gpus`` decode or prefill as one group.

    ``gpu_tokens_per_s`` is the rate of one GPU. ``batch`` is requests per GPU, None
    where nobody says; ``user_tokens_per_s`` what a user sees, where that is told.
    """

    name: str
    accelerator: str
    n_gpus: int
    context: Cited
    gpu_tokens_per_s: Cited
    batch: Cited | None = None
    user_tokens_per_s: Cited | None = None


DAY_6 = "DeepSeek, open-infra-index, day 6, inference system overview, 2025"
SGLANG_96 = "SGLang team, lmsys.org, 2025-05-05, 96 H100"
SGLANG_GB200 = "SGLang team, lmsys.org, 2025-06-16, GB200 NVL72"
LAUNCH_GB200 = "SGLang, launch commands of the decode on GB200, June 2025"
SGLANG_LATER = "SGLang team, lmsys.org, 2025-09-25, GB200 NVL72, part II"
_A_NODE = "published for a node of 8"


def _per_gpu(node_rate: float, source: str) -> Cited:
    return Cited(node_rate / 8, "token/s", "measured", source, _A_NODE)


def _tokens(count: float, source: str, note: str = "") -> Cited:
    return Cited(count, "token/request", "measured", source, note)


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
DEEPSEEK_PREFILL = Deployment(
    name="DeepSeek, prefill, EP32",
    accelerator="h800-sxm",
    n_gpus=32,
    context=_tokens(
        float(DEEPSEEK_DECODE.context), DAY_6, "that of decode; prompts are not told"
    ),
    gpu_tokens_per_s=_per_gpu(float(NODE_INPUT_COMPUTED), SGLANG_96),
)
SGLANG_DECODE = Deployment(
    name="SGLang, EP72",
    accelerator="h100-sxm",
    n_gpus=72,
    context=_tokens(2000, SGLANG_96),
    gpu_tokens_per_s=_per_gpu(22_282, SGLANG_96),
    batch=Cited(256, "request", "measured", SGLANG_96, "per GPU"),
)
NVL72_DECODE = Deployment(
    name="SGLang, NVL72",
    accelerator="gb200-nvl72",
    n_gpus=48,
    context=_tokens(2000, SGLANG_GB200),
    gpu_tokens_per_s=Cited(7583, "token/s", "measured", SGLANG_GB200),
    batch=Cited(768, "request", "measured", LAUNCH_GB200, "36,864 on 48 GPUs"),
)
NVL72_LATER = Deployment(
    name="SGLang, NVL72, later",
    accelerator="gb200-nvl72",
    n_gpus=48,
    context=_tokens(2000, SGLANG_LATER),
    gpu_tokens_per_s=Cited(
        9087, "token/s", "measured", SGLANG_LATER, "BF16 attention, FP8 products"
    ),
    batch=Cited(768, "request", "measured", SGLANG_LATER, "per GPU, launch script"),
)
PREFILL_RATES: tuple[Deployment, ...] = tuple(
    Deployment(
        name=f"SGLang, prefill of {prompt}",
        accelerator="h100-sxm",
        n_gpus=32,
        context=_tokens(prompt, SGLANG_96),
        gpu_tokens_per_s=_per_gpu(rate, SGLANG_96),
    )
    for prompt, rate in ((1024, 57_674), (2048, 54_543), (4096, 50_302))
)
PREFILL_ROWS = Cited(16_384, "token", "measured", SGLANG_96, "rows in flight on a GPU")
BALANCED_PREFILL = Cited(
    59_337 / 8, "token/s", "measured", SGLANG_96, "4K prompts, routing made even"
)
PROFILED_DECODE = Deployment(
    name="DeepSeek's profile, EP128",
    accelerator="h800-sxm",
    n_gpus=128,
    context=_tokens(4096, SGLANG_96, "from DeepSeek's profile data"),
    gpu_tokens_per_s=_per_gpu(18_598, SGLANG_96),
    batch=Cited(128, "request", "measured", SGLANG_96, "per GPU"),
)
_speedup = partial(Cited, unit="dimensionless", kind="measured", source=SGLANG_96)
OVERLAP_GAINS: Mapping[int, Cited] = MappingProxyType(
    {256: _speedup(1.255), 32: _speedup(0.73)}
)
REBALANCING_GAINS: Mapping[str, Cited] = MappingProxyType(
    {"prefill": _speedup(1.49), "decode": _speedup(2.54)}
)
DRAFT_KEPT = Cited(
    0.6, "dimensionless", "convention", SGLANG_96, "of one token drafted"
)
