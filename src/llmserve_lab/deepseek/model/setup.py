"""Setup: which GPUs, how many, how they are joined, and which model they hold.

Below it what the formulas ask about such a setup: its model, its machine, its traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.catalog import Accelerator, Link, ModelShape, precision, workload
from llmserve_lab.catalog.evidence.deployments import Deployment
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import is_whole
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model.assumptions import Assumptions

Numbers = dict[str, Any]  # arguments of formulas, by name

DEEPSEEK = catalog.MODELS["deepseek-v3"]
# Most nodes that a router sends a row to (arXiv 2412.19437, section 2.1.2).
NODES_OF_A_ROW: Mapping[str, float] = MappingProxyType({"deepseek-v3": 4.0})
ATTENTION = ("q_", "kv_", "o_proj")
TRANSFERS = 2  # of a row in a layer: dispatch, and combine
OUTSIDE = ("dense.", "router", "lm_head", "norm", "input_", "post_")
SCALE_GROUP = 128  # numbers that share one scale of 4 bytes when sent in FP8
SCALE_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class Setup:
    """``n_gpus`` of one kind, joined inside a node and, by ``far``, between nodes.

    Raises:
        ValueError: the GPUs are no whole number, or the model has no experts or no
            latent attention.
    """

    accelerator: Accelerator
    n_gpus: int
    model: ModelShape = DEEPSEEK
    far: Link = catalog.LINKS["infiniband-ndr"]

    def __post_init__(self) -> None:
        if not is_whole(self.n_gpus) or self.n_gpus < 1:
            raise ValueError(
                f"n_gpus must be a whole number, 1 or more, got {self.n_gpus}"
            )
        if not isinstance(self.model.ffn, MoeFfn) or not isinstance(
            self.model.attention, LatentAttention
        ):
            raise ValueError(
                f"model must have experts and latent attention, got {self.model.name}"
            )

    @property
    def experts(self) -> MoeFfn:
        """The mixture of experts of the model."""
        assert isinstance(self.model.ffn, MoeFfn)
        return self.model.ffn

    @property
    def latent(self) -> LatentAttention:
        """The latent attention of the model."""
        assert isinstance(self.model.attention, LatentAttention)
        return self.model.attention

    @cached_property
    def n_nodes(self) -> float:
        """Nodes of the group; one that it does not fill is counted whole."""
        return float(f.NODES(ep=self.n_gpus, node_gpus=self.accelerator.num_devices))

    @property
    def nodes_of_a_row(self) -> float:
        """Nodes among which a row chooses: all, or as many as its router allows."""
        return min(self.n_nodes, NODES_OF_A_ROW.get(self.model.key, self.n_nodes))

    @property
    def near(self) -> Link:
        """The link inside a node."""
        return catalog.link(self.accelerator.scale_up)

    @property
    def name(self) -> str:
        """``72 × H100 SXM``."""
        return f"{self.n_gpus} × {self.accelerator.name}"

    def local_experts(self, n_redundant: int) -> int:
        """Routed experts on one GPU; where they do not divide, the fullest GPU's."""
        held = {"n_experts": self.experts.n_experts, "n_redundant": n_redundant}
        return int(f.LOCAL_EXPERTS(ep=self.n_gpus, **held))

    def redundant(self, most: int) -> int:
        """Redundant experts with which every GPU holds equally many, if any.

        So many as ``most``, or the fewest where the GPUs do not divide them all.
        """
        routed = self.experts.n_experts
        return -routed % self.n_gpus if (routed + most) % self.n_gpus else most

    def params(self, *parts: str) -> int:
        """Parameters of all tensors whose name starts with one of ``parts``."""
        tensors = self.model.tensors()
        return sum(each.params for each in tensors if each.name.startswith(parts))


def setup(accelerator: str, n_gpus: int, *, model: str = "deepseek-v3") -> Setup:
    """Put a setup together from keys of the catalog."""
    return Setup(
        accelerator=catalog.accelerator(accelerator),
        n_gpus=n_gpus,
        model=catalog.model(model),
    )


def setup_of(record: Deployment) -> Setup:
    """The setup of a published deployment."""
    return setup(record.accelerator, record.n_gpus, model=record.model)


SETUPS: Mapping[str, Setup] = MappingProxyType(
    {
        "4 × 8 H100": setup("h100-sxm", 32),
        "9 × 8 H100": setup("h100-sxm", 72),
        "12 × 4 GB200": setup("gb200-nvl72", 48),
        "18 × 8 H800": setup("h800-sxm", 144),
    }
)


def number_bytes(sent: str) -> float:
    """Bytes of one number as it is sent; FP8 brings a scale for every 128."""
    size = float(precision(sent).bytes_kv)
    return size + SCALE_BYTES / SCALE_GROUP if sent == "fp8" else size


def model_arguments(setup: Setup, assumed: Assumptions) -> Numbers:
    """Parameters, bytes and FLOPs of the model that ``setup`` holds."""
    experts = setup.experts
    stack = setup.params("experts.") / experts.n_experts
    widths = ("n_heads", "d_head", "d_rope")
    heads = {name: getattr(setup.latent, name) for name in widths}
    heads["n_layers"] = setup.model.n_layers
    known = workload(setup.model, precision=assumed.cache)
    return known | {
        "bytes_weight": float(precision(assumed.gemm).bytes_weight),
        "mla_params": setup.params(*ATTENTION),
        "up_params": setup.params("kv_b_proj"),
        "expert_stack": stack,
        "other_params": setup.params(*OUTSIDE)
        + assumed.embedding_table_read * setup.params("embed_tokens"),
        "table_params": setup.params("embed_tokens"),
        "n_experts": experts.n_experts,
        "top_k": experts.top_k,
        "n_shared": experts.n_shared,
        "vanilla_pair_flops": f.VANILLA_PAIR_FLOPS(**heads),
    }


def machine_arguments(setup: Setup, assumed: Assumptions) -> Numbers:
    """Rates that kernels reach on these GPUs, and how many of them there are.

    Raises:
        LookupError: the GPU does not compute in a precision that is assumed, or
            nothing is known of kernels for its architecture.
    """
    device = setup.accelerator
    share = assumed.kernels_on(device)
    return {
        "read_rate": float(device.hbm_bw) * share.memory,
        "cache_rate": float(device.hbm_bw) * share.cache,
        "attn_rate": float(device.peak(assumed.attention)) * share.attention,
        "gemm_rate": float(device.peak(assumed.gemm)) * share.gemm,
        "far_rate": float(setup.far.bandwidth) * share.far,
        "near_rate": float(setup.near.bandwidth) * share.near,
        "launch_s": share.launch_s,
        "n_nodes": setup.n_nodes,
        "ep": setup.n_gpus,
        "host_s": assumed.host_s,
        "overlap_slowdown": assumed.overlap_slowdown,
    }


def traffic_arguments(setup: Setup, assumed: Assumptions) -> Numbers:
    """Copies of a row, their bytes in all layers, and how unevenly they fall."""
    experts = setup.experts
    layers = setup.model.n_layers
    layers -= 0 if assumed.dense_layers_send else experts.n_dense_layers
    there, back = map(number_bytes, (assumed.dispatch, assumed.combine))
    start = assumed.kernels_on(setup.accelerator).transfer_start_s
    return {
        "transfer_starts_s": TRANSFERS * layers * start,
        "dispatched_copies": experts.top_k
        + assumed.shared_expert_sent * experts.n_shared,
        "copy_bytes": layers * setup.model.d_model * (there + back),
        "dispatch_share": there / (there + back),
        "balancedness": assumed.balancedness if setup.n_gpus > 1 else 1.0,
    }
