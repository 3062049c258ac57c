"""The twin: a setup and the choices in, every term of a step out.

Each method is one line of the bill, and each number a formula's. ``batch`` is what one
GPU holds, all batches in flight together; arrays of batches and contexts broadcast.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model import arguments as terms
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.elementwise_kernels import passes
from llmserve_lab.deepseek.model.known import Numbers, computed
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.roofline.formulas import BATCH_FITS

BLOCKS = (f.MLA_S, f.EXPERTS_S, f.PASS_S, f.WIRE_S, f.REST_S)
ROOFED = (
    (f.MLA_S, f.MLA_READ_S, f.MLA_COMPUTE_S),
    (f.EXPERTS_S, f.EXPERT_READ_S, f.EXPERT_COMPUTE_S),
)


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A digital twin of ``setup``, read as ``choices`` say.

    One GPU alone holds every expert once, sends nothing and has nothing to hide: there
    it is run without copies, in one batch.

    Raises:
        ValueError: there are more redundant experts than GPUs without a copy.
    """

    setup: Setup
    choices: Choices = field(default_factory=Choices)

    def __post_init__(self) -> None:
        most = self.setup.experts.n_experts * (self.setup.n_gpus - 1)
        if self.n_redundant > most:
            raise ValueError(
                f"n_redundant must be at most {most}, one copy on each of "
                f"{self.setup.n_gpus} GPUs, got {self.n_redundant}"
            )

    @property
    def n_redundant(self) -> int:
        """Copies of experts, none where there is one GPU."""
        return self.choices.n_redundant if self.setup.n_gpus > 1 else 0

    @property
    def n_batches(self) -> int:
        """Batches in flight, m: two halves, or one batch."""
        return 2 if self.choices.overlap == "halves" and self.setup.n_gpus > 1 else 1

    @cached_property
    def shape(self) -> Numbers:
        """What the formulas ask about the model."""
        return terms.shape(self.setup, self.choices)

    @cached_property
    def machine(self) -> Numbers:
        """What the formulas ask about the machine: rates reached, not peaks."""
        return terms.machine(self.setup, self.choices)

    @cached_property
    def traffic(self) -> Numbers:
        """What travels: copies of a row, their bytes, and how unevenly they fall."""
        held = {"local_experts": self.setup.local_experts(self.n_redundant)}
        return terms.traffic(self.setup, self.choices) | held

    def arguments(self, *, batch: Any, context: Any) -> Numbers:
        """Every argument of the formulas for a decode step."""
        m = self.n_batches
        known = self.shape | self.machine | self.traffic
        known |= passes(self.setup, self.choices.form) | {
            "gpu_requests": np.asarray(batch, np.float64),
            "batch": f.SPLIT(gpu_requests=batch, n_batches=m),
            "context": context,
            "chunk": 1.0 + self.choices.n_draft,
            "n_batches": m,
            "accepted": self.choices.accepted,
        }
        return known

    def settled(self, known: Numbers) -> Numbers:
        """Arguments, with the intermediate results that a choice replaces."""
        found: Numbers = {}
        if self.choices.experts == "busiest":
            found["read_experts"] = f.BUSIEST_EXPERTS.at(known)
        if self.choices.experts == "all":
            found["read_experts"] = known["local_experts"]
        if self.choices.form == "vanilla":
            pairs = {"attn_flops_per_pair": known["vanilla_pair_flops"]}
            again = f.EXPAND_FLOPS.at(known) / known["gemm_rate"]
            found["mla_compute_s"] = f.MLA_COMPUTE_S.at(known, **pairs) + again
        if self.choices.near_copies == "far" and self.setup.n_nodes > 1:
            found["far_share"] = 1.0
        if not self.choices.passes:
            found["pass_s"] = 0.0
        if self.setup.n_gpus == 1:
            found["wire_s"] = 0.0
        found = known | found
        return found | self._sharp(found)

    def _sharp(self, known: Numbers) -> Numbers:
        """Blocks by the sharp roofline, where that is chosen."""
        if self.choices.ridge == "round":
            return {}
        return {
            block.name: f.SHARP_S(
                block_read_s=computed(read, known),
                block_compute_s=known.get(compute.name, computed(compute, known)),
            )
            for block, read, compute in ROOFED
        }

    def blocks(self, *, batch: Any, context: Any) -> Numbers:
        """Seconds of attention, experts, passes, wire and the rest, for one batch."""
        return self.blocks_of(self.arguments(batch=batch, context=context))

    def blocks_of(self, known: Numbers) -> Numbers:
        """The same from arguments that somebody may have changed."""
        known = self.settled(known)
        return {
            part.name: known.get(part.name, computed(part, known)) for part in BLOCKS
        }

    def step_s(self, *, batch: Any, context: Any) -> Any:
        """Seconds of a decode step of ``batch`` requests on every GPU."""
        return self.together(self.blocks(batch=batch, context=context))

    def together(self, blocks: Numbers) -> Any:
        """Seconds of all batches from the blocks of one: ``turn_s``, ``hidden_s``."""
        if self.choices.overlap == "none":
            return f.TURN_S(**blocks)
        return f.HIDDEN_S(n_batches=self.n_batches, **blocks)

    def user_tokens_per_s(self, *, batch: Any, context: Any) -> Any:
        """Tokens per second that each user sees."""
        step = self.step_s(batch=batch, context=context)
        return f.USER_TOKENS_PER_S(accepted=self.choices.accepted, twin_step_s=step)

    def gpu_tokens_per_s(self, *, batch: Any, context: Any) -> Any:
        """Tokens per second that each GPU makes."""
        rate = self.user_tokens_per_s(batch=batch, context=context)
        return f.GPU_TOKENS_PER_S(gpu_requests=batch, user_tokens_per_s=rate)

    def batch_fits(self, context: Any) -> Any:
        """Whole requests of ``context`` tokens that fit on a GPU beside the weights.

        Raises:
            ValueError: the weights alone do not fit.
        """
        held = self.resident_bytes()
        if held >= (room := self.room_bytes()):
            raise ValueError(
                f"weights must fit in {room / 1e9:.0f} GB, got {held / 1e9:.0f} GB"
            )
        size = {"hbm_bytes": room, "weight_bytes": held, "context": context}
        return np.floor(computed(BATCH_FITS, self.shape | size))

    def room_bytes(self) -> float:
        """Bytes of a GPU's memory that weights and cache may take together."""
        return float(self.setup.accelerator.hbm_bytes) * self.choices.usable_memory

    def resident_bytes(self) -> float:
        """Bytes of the weights that one GPU holds."""
        known, rest = self.shape | self.traffic, self.setup.params(*terms.OUTSIDE)
        return float(f.RESIDENT_BYTES.at(known, rest_params=rest))

    def batch_at(
        self, tokens_per_s: float, *, context: float, in_memory: bool = False
    ) -> int:
        """Largest batch of a GPU at which every user still sees ``tokens_per_s``; or 0.

        A larger batch is never faster, so this is the last one that is fast enough.
        Whether it fits is not asked unless ``in_memory``; see :meth:`batch_fits`.

        Raises:
            ValueError: ``tokens_per_s`` is not above 0, or, ``in_memory``, the weights
                alone do not fit.
        """
        if not tokens_per_s > 0:
            raise ValueError(f"tokens_per_s must be above 0, got {tokens_per_s}")

        def slow(batch: int) -> bool:
            rate = self.user_tokens_per_s(batch=batch, context=context)
            return bool(rate < tokens_per_s)

        most = 1
        while not slow(most):
            most *= 2
        fast = bisect_left(range(1, most + 1), True, key=slow)
        return min(fast, int(self.batch_fits(context))) if in_memory else fast
