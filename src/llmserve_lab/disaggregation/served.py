"""The chapter's machine and load: the running example, as measured servers reach it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from llmserve_lab import catalog, validation
from llmserve_lab.catalog import (
    Accelerator,
    Cited,
    Link,
    ModelShape,
    machine,
    workload,
)
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.origin import Computed
from llmserve_lab.running_example import ANSWER, PROMPT, device, model, share

UTILISATION = float(MEMORY_SHARE)
LINK = "infiniband-ndr"
PROMISED = Unmeasured("no measurement tells at which rate a promise is kept")
ALONE = Unmeasured("no server was measured with one prompt alone")
SENT = Unmeasured("no measurement tells how long a cache was on its way")
PROMISE_S = 0.02  # time per output token that a user is promised
KV_OVERLAP = Cited(
    0.0,
    "dimensionless",
    kind="estimate",
    source=validation.achieved().cited("overlap").source,
    note="attention runs in kernels of its own; the measured rows were fitted so",
)


def wire(link: Link | None = None) -> dict[str, Any]:
    """A link's bandwidth one way, and the share of it that transfers reach."""
    used = link or catalog.link(LINK)
    return {"link_bw": used.bandwidth, "eff_link": share().link}


def constants(shape: ModelShape) -> dict[str, Cited]:
    """What overlaps and what is launched: the fitted constants, per iteration."""
    fitted = validation.achieved()
    layer, launches = fitted.cited("layer_s"), fitted.cited("prompt_layers")
    launch_s = shape.n_layers * float(layer)
    more_s = launch_s * (float(launches) - 1)
    return {
        "overlap": fitted.cited("overlap"),
        "overlap_kv": KV_OVERLAP,
        "overhead_s": Cited(launch_s, "s", "estimate", layer.source),
        "prompt_launch_s": Cited(more_s, "s", "estimate", launches.source),
        "request_s": fitted.cited("request_s", "s/request"),
    }


def weights(shape: ModelShape) -> dict[str, Cited]:
    """Bytes of the weights that an iteration reads: all but the embedding table."""
    known = workload(shape)
    read = float(known["bytes_weight"]) * shape.params_read
    source = known["params_total"].source
    return {"weight_bytes": Cited(read, "byte", "counted", source)}


def memory(shape: ModelShape, gpu: Accelerator) -> dict[str, Cited]:
    """Memory for the weights that are read and for caches.

    What the engine may use, less the embedding table.
    """
    known = workload(shape)
    table = shape.params_total - shape.params_read
    left = UTILISATION * float(gpu.usable_bytes) - table * float(known["bytes_weight"])
    return {"hbm_bytes": Cited(left, "byte", "counted", gpu.usable_bytes.source)}


def setting(
    shape: ModelShape | None = None, gpu: Accelerator | None = None
) -> dict[str, Any]:
    """Model, machine, link and fitted constants, as arguments of the formulas."""
    return dict(_setting(shape or model(), gpu or device()))


@cache
def _setting(shape: ModelShape, gpu: Accelerator) -> dict[str, Any]:
    """The same, counted over the tensors once: a curve asks for it at each point."""
    known: dict[str, Any] = dict(workload(shape) | machine(gpu, efficiency=share()))
    return known | constants(shape) | weights(shape) | memory(shape, gpu) | wire()


def load(
    prompt: float = PROMPT,
    answer: float = ANSWER,
    promise_s: float = PROMISE_S,
    *,
    together: float = 1.0,
) -> dict[str, float]:
    """A request, the time per output token that it is promised, and its company.

    ``together`` prompts are read in one iteration of a prefill GPU.
    """
    size = {"prompt_len": prompt, "new_tokens": answer, "tpot_target": promise_s}
    return size | {"prompts_together": together}


def known(size: Mapping[str, float] | None = None, **more: Any) -> dict[str, Any]:
    """``setting`` and ``load`` together."""
    return setting() | dict(size or load()) | more


def computed(formula: Formula, has: Mapping[str, Any], **more: Any) -> Computed:
    """A result on this machine; what the weights weigh is handed in."""
    stand = frozenset({"weight_bytes", *more})
    given = {**has, **more}
    asked = {leaf.name: given[leaf.name] for leaf in formula.leaves(keep=stand)}
    return formula.computed(**asked)


def value(formula: Formula, has: Mapping[str, Any], **more: Any) -> float:
    """The number of :func:`computed`, in the unit of the result."""
    return float(computed(formula, has, **more).value)


def commands() -> str:
    """How vLLM is started as a prefill and a decode server, and a router before them.

    The router is that of vLLM's own tests.
    """
    lines = ["pip install nixl"]
    transfer = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
    ports = {"prefill": 8100, "decode": 8200}
    for gpu, (name, port) in enumerate(ports.items()):
        lines += [
            f"# {name}, on GPU {gpu}",
            f"CUDA_VISIBLE_DEVICES={gpu} VLLM_NIXL_SIDE_CHANNEL_PORT={5600 + gpu} \\",
            f"vllm serve meta-llama/Llama-3.1-8B --port {port} \\",
            "    --kv-transfer-config \\",
            f"    '{transfer}' &",
        ]
    # Five hundred numbers fill many blocks; a prompt of a few tokens fills none.
    model, numbers = "meta-llama/Llama-3.1-8B", """'"$(seq -s, 500)"'"""
    asked = f'"model": "{model}", "max_tokens": 8,'
    router = "tests/v1/kv_connector/nixl_integration/toy_proxy_server.py"
    lines += ["# wait until both have loaded, then the router"]
    for port in ports.values():
        lines.append(f"until curl -sf localhost:{port}/health; do sleep 1; done")
    lines += [
        f"python {router} --port 8192 \\",
        "    --prefiller-hosts localhost --prefiller-ports 8100 \\",
        "    --decoder-hosts localhost --decoder-ports 8200 &",
        "# a first request, through both",
        "curl localhost:8192/v1/completions -H 'Content-Type: application/json' \\",
        f"    -d '{{{asked}",
        f'         "prompt": "{numbers}"}}\'',
        "# were bytes sent?",
        "curl -s localhost:8200/metrics | grep vllm:nixl_bytes_transferred_sum",
    ]
    return "\n".join(lines)
