"""DeepSeek-V3 in FP8 on Hopper GPUs: the chapter's machine, as servers reach it.

Shares of compute and memory are those of the book's running example. Links are taken
at their datasheets; what a transfer costs besides is fitted in ``exchange_time``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llmserve_lab import running_example
from llmserve_lab.catalog import LINKS, PRECISIONS, accelerator, link, machine
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL_ROWS
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.models import DEEPSEEK, moe_of, sizes_of
from llmserve_lab.notation import bytes_act
from llmserve_lab.validation.cache_blocks import working_space

GPUS = ("h800-sxm", "h200-sxm")
PRECISION, CACHE_PRECISION, ANSWER_PRECISION = "fp8", "bf16", "bf16"
SPEC = moe_of(DEEPSEEK)
MOE_LAYERS = DEEPSEEK.n_layers - SPEC.n_dense_layers
ROWS = float(ALL_TO_ALL_ROWS)  # of a GPU in the published measurement
KEPT_BYTES = 15e9  # of a GPU, for caches: the reader's to choose
GROUPS = tuple(2.0**i for i in range(3, 9))  # 8 to 256 GPUs: they divide the experts
FAR = LINKS["infiniband-ndr"]
SGLANG = """# SGLang, the same node
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 \\
    --tp-size 8 --ep-size 8 --dp-size 8 --enable-dp-attention \\
    --moe-a2a-backend deepep"""


def params(*, routed: bool) -> float:
    """Parameters of the routed experts of all layers, or of all the rest."""
    return float(
        sum(
            each.params
            for each in DEEPSEEK.tensors()
            if each.name.startswith("experts.") is routed
        )
    )


def stored() -> dict[str, float]:
    """Bytes of the routed experts, and of what every GPU of a group holds."""
    width = float(PRECISIONS[PRECISION].bytes_weight)
    return {
        "routed_bytes": width * params(routed=True),
        "replicated_bytes": width * params(routed=False),
    }


@cache
def setting(gpu: str = GPUS[0]) -> dict[str, Any]:
    """Model and machine as arguments of the formulas, at the shares reached."""
    device = accelerator(gpu)
    reached = machine(device, precision=PRECISION, efficiency=running_example.share())
    return {
        **sizes_of(DEEPSEEK, precision=PRECISION),
        **reached,
        **stored(),
        "node_gpus": float(device.num_devices),
        "near_rate": link(device.scale_up).bandwidth,
        "far_rate": FAR.bandwidth,
    }


def copy_bytes() -> dict[str, float]:
    """Bytes of one copy: on its way out in FP8, of its answer in BF16."""
    forms = {"dispatch": PRECISION, "combine": ANSWER_PRECISION}
    return {
        way: DEEPSEEK.d_model * float(PRECISIONS[form].bytes_in(bytes_act.unit))
        for way, form in forms.items()
    }


def kv_bytes() -> float:
    """Bytes that one token keeps in the cache."""
    return DEEPSEEK.kv_bytes_per_token(PRECISIONS[CACHE_PRECISION].bytes_kv)


def taken_bytes(gpu: str = GPUS[0]) -> float:
    """What an engine takes of a GPU: a share of the memory that programs see."""
    return float(accelerator(gpu).usable_bytes) * float(MEMORY_SHARE)


def engine_bytes(gpu: str = GPUS[0]) -> float:
    """What it has for weights and caches: the same, less its working space."""
    return taken_bytes(gpu) - working_space()


def least_ep(gpu: str, kept_bytes: float = KEPT_BYTES) -> int:
    """Fewest GPUs that hold the experts and divide them, so much memory kept on each.

    Raises:
        ValueError: what every GPU holds does not fit beside what is kept.
    """
    memory = {"engine_bytes": engine_bytes(gpu), "reserved_bytes": kept_bytes}
    known = f.LEAST_EP.given(setting(gpu), memory)
    least = float(f.LEAST_EP(**known))
    return next(g for g in range(int(least), 257) if SPEC.n_experts % g == 0)


def layer_s(ep: float, gpu_rows: float = ROWS, gpu: str = GPUS[0]) -> dict[str, float]:
    """Seconds of one layer's routed experts on the mean GPU: reading, computing."""
    at = {"ep": ep, "gpu_rows": gpu_rows, "n_rows": ep * gpu_rows}
    return {
        "read": float(f.LAYER_READ_S.at(setting(gpu), at)),
        "compute": float(f.LAYER_COMPUTE_S.at(setting(gpu), at)),
    }


def commands() -> tuple[str, str]:
    """How experts are served on eight GPUs, and on sixteen, there with DeepEP."""
    serve = "vllm serve deepseek-ai/DeepSeek-V3"
    one = [serve, "--data-parallel-size 8", "--enable-expert-parallel"]
    two = [
        serve,
        "--data-parallel-size 16",
        "--data-parallel-size-local 8",
        "--enable-expert-parallel",
        "--all2all-backend deepep_low_latency",
        "--enable-eplb",
        '--eplb-config \'{"num_redundant_experts": 16, "log_balancedness": true}\'',
    ]
    meet = ["--data-parallel-address $FIRST", "--data-parallel-rpc-port 13345"]
    heads = (
        "# vLLM, one node of eight H200",
        "# the first of two nodes of eight H800, decode; FIRST is its address",
    )
    parts = (" \\\n    ".join(lines) for lines in (one, [*two, *meet]))
    first, second = (f"{head}\n{part}" for head, part in zip(heads, parts, strict=True))
    return f"{first}\n{SGLANG}", second + (
        "\n# the second node: the same, and at the end\n"
        "    --headless --data-parallel-start-rank 8"
    )


def watching() -> str:
    """Options that log balancedness and leave the experts where they are."""
    return (
        "# vLLM\n"
        "    --enable-eplb \\\n"
        '    --eplb-config \'{"log_balancedness": true, '
        '"step_interval": 1000000000}\'\n'
        "# SGLang 0.5, a decode server, its balancer left off (mode auto: an error)\n"
        "    --enable-expert-distribution-metrics --deepep-mode low_latency"
    )
