"""Setup: which GPUs, how many, how they are joined, and which model they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from llmserve_lab import catalog
from llmserve_lab.catalog import Accelerator, Link, ModelShape
from llmserve_lab.catalog.evidence.deployments import Deployment
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import is_whole
from llmserve_lab.deepseek.formulas.experts import LOCAL_EXPERTS, NODES

DEEPSEEK = catalog.MODELS["deepseek-v3"]
# Most nodes that a router sends a row to (arXiv 2412.19437, section 2.1.2).
NODES_OF_A_ROW: Mapping[str, float] = MappingProxyType({"deepseek-v3": 4.0})


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

    @property
    def n_nodes(self) -> float:
        """Nodes of the group; one that it does not fill is counted whole."""
        return float(NODES(ep=self.n_gpus, node_gpus=self.accelerator.num_devices))

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
        return int(LOCAL_EXPERTS(ep=self.n_gpus, **held))

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
