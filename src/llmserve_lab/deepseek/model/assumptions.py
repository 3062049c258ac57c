"""Modelling assumptions: what a text on serving leaves open, each settled by name.

Plain data, frozen: making a set of assumptions computes nothing. First what kernels
reach on a GPU, then all the rest. The book's own set, in which the calibrated numbers
are put beside these defaults, is in :mod:`llmserve_lab.deepseek.defaults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from llmserve_lab.catalog import PRECISIONS, Accelerator
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.checks import UnknownKeyError, is_whole

SHARES = ("attention", "cache", "gemm", "memory", "far", "near")
STARTS = ("launch_s", "transfer_start_s")


@dataclass(frozen=True, kw_only=True)
class KernelEfficiency:
    """Shares in (0, 1] of the peaks that kernels reach, and what their starts cost.

    ``attention`` and ``cache`` are of compute and of memory, reached by the attention
    kernel as a whole, its reads overlapped; ``gemm`` and ``memory`` are those of GEMMs
    under the law that both times add up as squares; ``far`` and ``near`` are of the
    links. ``launch_s`` is what a kernel costs before its first byte, in seconds,
    ``transfer_start_s`` what a dispatch or a combine costs before its first.
    ``prompts`` are the shares of attention's compute in prefill by the length of the
    prompt; where there are none, it is ``attention``.

    Raises:
        ValueError: a share is not in (0, 1], or a start is negative or infinite.
    """

    name: str
    attention: float
    cache: float
    gemm: float
    memory: float
    far: float
    near: float
    launch_s: float = 0.0
    transfer_start_s: float = 0.0
    prompts: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, is_share = getattr(self, each.name), each.name in SHARES
            if is_share and not 0 < value <= 1:
                raise ValueError(f"{each.name} must be a share in (0, 1], got {value}")
        for name in STARTS:
            if not 0 <= (seconds := getattr(self, name)) < np.inf:
                raise ValueError(f"{name} must be at least 0 s, got {seconds}")

    def attention_in(self, prompt: Any) -> Any:
        """Share of attention's compute in prefill of ``prompt`` tokens, or of each.

        Shorter and longer prompts than were measured are taken to reach as much as
        the shortest and the longest.
        """
        if not self.prompts:
            return self.attention
        return np.interp(prompt, [*self.prompts], [*self.prompts.values()])


Kernels = Mapping[str, KernelEfficiency]  # by the architecture they are written for


def on_every(efficiency: KernelEfficiency, *architectures: str) -> Kernels:
    """The same shares for each of these architectures, as a what-if assumes."""
    return MappingProxyType(dict.fromkeys(architectures, efficiency))


def kernels_on(kernels: Kernels, device: Accelerator) -> KernelEfficiency:
    """Those of the device's architecture.

    Raises:
        LookupError: nothing is known of kernels for this architecture; no other's are
            taken in their place.
    """
    if device.architecture not in kernels:
        raise UnknownKeyError(
            f"kernels must be known for the architecture of {device.name}, "
            f"{device.architecture}; they are for {', '.join(kernels) or 'none'}"
        )
    return kernels[device.architecture]


Form = Literal["absorbed", "vanilla"]
Experts = Literal["expected", "busiest", "all"]
Overlap = Literal["none", "hidden", "halves", "ideal halves"]
Roofline = Literal["round", "sharp"]
Ports = Literal["near", "far"]
FORMATS = tuple(PRECISIONS)
OPTIONS: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "form": get_args(Form),
        "experts": get_args(Experts),
        "overlap": get_args(Overlap),
        "roofline": get_args(Roofline),
        "own_node_copies": get_args(Ports),
        **dict.fromkeys(("dispatch", "combine", "gemm", "attention", "cache"), FORMATS),
        **dict.fromkeys(
            (
                "shared_expert_sent",
                "dense_layers_send",
                "embedding_table_read",
                "elementwise",
            ),
            (False, True),
        ),
    }
)
COUNTS = ("n_redundant", "n_draft")


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """One way to read the model, every ambiguity settled.

    - ``kernels``: kernel efficiency by the architecture of the GPU.
    - ``balancedness``: mean load of a GPU over that of the busiest.
    - ``host_s``: time of a step that no kernel accounts for, in seconds: sampling,
      synchronisation, and what else is not known. Once a step.
    - ``overlap_slowdown``: by how much computing and sending at once slow each other.
    - ``form``: decode absorbs (each figure of the paper does); prefill never should.
    - ``experts``: the touched experts of a GPU, expected, since the exact mean is
      known; the paper's balls in bins, or all of them.
    - ``overlap``: two-batch overlap in ``halves`` that wait for each other, as both
      published systems run it; ``ideal halves`` never wait, which is the paper's (49);
      one batch ``hidden`` is the form of its section 3, which reads all weights once.
    - ``n_redundant``: copies of experts, 32 in both published deployments.
    - ``shared_expert_sent``: the paper sends to the shared expert like to a routed one;
      both published deployments keep it on every GPU, which costs no copy.
    - ``dense_layers_send``: only layers with experts send; the paper counts all 61.
    - ``dispatch``, ``combine``, ``gemm``, ``attention``, ``cache``: FP8 there, BF16
      back, FP8 in GEMMs (and so a byte a weight) and BF16 in attention and cache, as
      DeepSeek's overview says.
    - ``embedding_table_read``: a look-up reads rows of it; the paper reads it all.
    - ``roofline``: kernels near their ridge reach neither peak (round), as their
      published times show; the paper lets the longer of two times hide the other.
    - ``elementwise``: what lies between GEMMs takes time; the paper leaves it out.
    - ``own_node_copies``: copies for the own node go through the links inside it; until
      June 2025 the library's kernels for decode sent them to the far port as well.
    - ``lent_share``: of the multiprocessors, what prefill lends to the communication
      while the two overlap.
    - ``usable_memory``: the usual share that a serving engine takes for itself.
    - ``n_draft``, ``accepted``: rows of a draft that are checked along (multi-token
      prediction), and tokens that a step leaves on average; none, as in the paper. The
      layer that drafts them is not charged.

    Raises:
        ValueError: an option is unknown, a share, a time or a count is out of range,
            or no kernels are given.
    """

    kernels: Kernels
    balancedness: float
    host_s: float
    overlap_slowdown: float
    lent_share: float
    form: Form = "absorbed"
    experts: Experts = "expected"
    overlap: Overlap = "halves"
    n_redundant: int = 32
    shared_expert_sent: bool = False
    dense_layers_send: bool = False
    dispatch: str = "fp8"
    combine: str = "bf16"
    gemm: str = "fp8"
    attention: str = "bf16"
    cache: str = "bf16"
    embedding_table_read: bool = False
    roofline: Roofline = "round"
    elementwise: bool = True
    own_node_copies: Ports = "near"
    usable_memory: float = float(MEMORY_SHARE)
    n_draft: int = 0
    accepted: float = 1.0

    def __post_init__(self) -> None:
        for name, known in OPTIONS.items():
            if (made := getattr(self, name)) not in known:
                among = ", ".join(map(str, known))
                raise ValueError(f"{name} must be one of {among}, got {made!r}")
        for name in ("balancedness", "usable_memory"):
            if not 0 < (share := getattr(self, name)) <= 1:
                raise ValueError(f"{name} must be a share in (0, 1], got {share}")
        for name in ("lent_share", "overlap_slowdown"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be a share in [0, 1), got {share}")
        if not 0 <= self.host_s < np.inf:
            raise ValueError(f"host_s must be at least 0 s, got {self.host_s}")
        if not self.kernels:
            raise ValueError("kernels must be those of an architecture, got none")
        self._check_counts()

    def _check_counts(self) -> None:
        for name in COUNTS:
            count = getattr(self, name)
            if not is_whole(count) or count < 0:
                raise ValueError(
                    f"{name} must be a whole number, 0 or more, got {count}"
                )
        most = 1 + self.n_draft
        if not 1 <= self.accepted <= most:
            raise ValueError(
                f"accepted must be 1 to {most} tokens with n_draft = "
                f"{self.n_draft}, got {self.accepted}"
            )

    def kernels_on(self, device: Accelerator) -> KernelEfficiency:
        """Kernel efficiency on a GPU of this architecture.

        Raises:
            LookupError: none is known for it.
        """
        return kernels_on(self.kernels, device)
