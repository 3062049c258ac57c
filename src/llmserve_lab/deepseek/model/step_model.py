"""The twin: a setup and the assumptions in, every term of a step out.

Each method is one line of the bill, and each number a formula's. ``batch`` is what one
GPU holds, all batches in flight together; arrays of batches and contexts broadcast.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model.assumptions import Assumptions, Overlap
from llmserve_lab.deepseek.model.elementwise_kernels import row_traffic
from llmserve_lab.deepseek.model.setup import (
    OUTSIDE,
    Numbers,
    Setup,
    machine_arguments,
    model_arguments,
    traffic_arguments,
)
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import BATCH_FITS

PARTS = (
    f.MLA_S,
    f.ATTN_ELEMENTWISE_S,
    f.EXPERTS_S,
    f.MOE_ELEMENTWISE_S,
    f.ALL_TO_ALL_S,
    f.OTHER_S,
)
HOST = "host_s"
ROOFED = (
    (f.MLA_S, f.MLA_READ_S, f.MLA_COMPUTE_S),
    (f.EXPERTS_S, f.EXPERT_READ_S, f.EXPERT_COMPUTE_S),
    (f.OTHER_S, f.OTHER_READ_S, f.OTHER_COMPUTE_S),
)


@dataclass(frozen=True, kw_only=True)
class Twin:
    """Step model of ``setup``, a digital twin read as ``assumptions`` say.

    One GPU alone holds every expert once, sends nothing and has nothing to hide: there
    it is run without copies, in one batch.

    Raises:
        ValueError: there are more redundant experts than GPUs without a copy.
    """

    setup: Setup
    assumptions: Assumptions

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
        return self.assumptions.n_redundant if self.setup.n_gpus > 1 else 0

    @property
    def overlap(self) -> Overlap:
        """Two-batch overlap or none of it: a GPU alone has nothing to hide."""
        return self.assumptions.overlap if self.setup.n_gpus > 1 else "none"

    @property
    def n_batches(self) -> int:
        """Batches in flight, m: two halves, or one batch."""
        return 2 if self.overlap in ("halves", "ideal halves") else 1

    @property
    def step(self) -> Formula:
        """The formula of a step, by the overlap."""
        if self.overlap == "none":
            return f.TURN_S
        return f.HALVES_S if self.overlap == "halves" else f.HIDDEN_S

    @cached_property
    def shape(self) -> Numbers:
        """What the formulas ask about the model."""
        return model_arguments(self.setup, self.assumptions)

    @cached_property
    def machine(self) -> Numbers:
        """What the formulas ask about the machine: rates reached, not peaks."""
        return machine_arguments(self.setup, self.assumptions)

    @cached_property
    def traffic(self) -> Numbers:
        """What is sent: copies of a row, their bytes, and how unevenly they fall."""
        held = {"local_experts": self.setup.local_experts(self.n_redundant)}
        return traffic_arguments(self.setup, self.assumptions) | held

    @cached_property
    def rows(self) -> Numbers:
        """Bytes that a row moves through memory, and kernels launched; or nothing."""
        found = row_traffic(self.setup, self.assumptions.form)
        return found if self.assumptions.elementwise else dict.fromkeys(found, 0.0)

    def arguments(self, *, batch: Any, context: Any) -> Numbers:
        """Every argument of the formulas for a decode step."""
        m = self.n_batches
        known = self.shape | self.machine | self.traffic | self.rows
        return known | {
            "gpu_requests": np.asarray(batch, np.float64),
            "batch": f.SPLIT(gpu_requests=batch, n_batches=m),
            "context": context,
            "chunk": 1.0 + self.assumptions.n_draft,
            "n_batches": m,
            "accepted": self.assumptions.accepted,
        }

    def settled(self, known: Numbers) -> Numbers:
        """Arguments after applying the assumptions that override a formula."""
        found: Numbers = {}
        if self.assumptions.experts == "busiest":
            found["read_experts"] = f.BUSIEST_EXPERTS.at(known)
        if self.assumptions.experts == "all":
            found["read_experts"] = known["local_experts"]
        if self.assumptions.form == "vanilla":
            found |= self._vanilla(known)
        if self.assumptions.own_node_copies == "far" and self.setup.n_nodes > 1:
            found["far_share"] = 1.0
        if self.setup.n_gpus == 1:
            found |= {"flight_s": 0.0, "transfer_starts_s": 0.0}
        # Last: the sharp roofline takes the larger of two terms, which the assumptions
        # above may have replaced.
        found = known | found
        return found | self._sharp(found)

    def _vanilla(self, known: Numbers) -> Numbers:
        """Keys and values of the cache made again; the pairs are narrower."""
        pairs = {"attn_flops_per_pair": known["vanilla_pair_flops"]}
        again = f.EXPAND_FLOPS.at(known) / known["gemm_rate"]
        return pairs | {
            formula.name: formula.at(known | pairs) + again
            for formula in (f.MLA_COMPUTE_S, f.ATTN_GEMM_COMPUTE_S)
        }

    def _sharp(self, known: Numbers) -> Numbers:
        """Blocks by the sharp roofline, where that is assumed."""
        if self.assumptions.roofline == "round":
            return {}
        return {
            block.name: f.SHARP_S(
                block_read_s=read.reusing(known),
                block_compute_s=known.get(compute.name, compute.reusing(known)),
            )
            for block, read, compute in ROOFED
        }

    def blocks(self, *, batch: Any, context: Any) -> Numbers:
        """Seconds of each part of one batch in flight, and of the host."""
        return self.blocks_of(self.arguments(batch=batch, context=context))

    def blocks_of(self, known: Numbers) -> Numbers:
        """The same from arguments that may have been changed."""
        known = self.settled(known)
        found = {part.name: known.get(part.name, part.reusing(known)) for part in PARTS}
        return found | {HOST: known[HOST]}

    def step_s(self, *, batch: Any, context: Any) -> Any:
        """Seconds of a decode step of ``batch`` requests on every GPU."""
        return self.step_of(self.arguments(batch=batch, context=context))

    def step_of(self, known: Numbers) -> Any:
        """The same from arguments that may have been changed."""
        return self.step.reusing(self.settled(known))

    def user_tokens_per_s(
        self, *, batch: Any, context: Any, in_memory: bool = True
    ) -> Any:
        """Tokens per second that each user sees.

        Raises:
            ValueError: ``in_memory``, and the requests do not fit beside the weights.
        """
        if in_memory:
            self.require_room(batch, context)
        step = self.step_s(batch=batch, context=context)
        return f.USER_TOKENS_PER_S(accepted=self.assumptions.accepted, twin_step_s=step)

    def gpu_tokens_per_s(
        self, *, batch: Any, context: Any, in_memory: bool = True
    ) -> Any:
        """Tokens per second that each GPU makes.

        Raises:
            ValueError: ``in_memory``, and the requests do not fit beside the weights.
        """
        rate = self.user_tokens_per_s(batch=batch, context=context, in_memory=in_memory)
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
        size = {"hbm_bytes": room, "stored_bytes": held, "context": context}
        return np.floor(BATCH_FITS.reusing(self.shape | size))

    def require_room(self, batch: Any, context: Any) -> None:
        """Refuse more requests on a GPU than fit beside the weights.

        Raises:
            ValueError: they do not fit; the message says how many do, and how many
                bytes are missing.
        """
        fits, asked = np.broadcast_arrays(self.batch_fits(context), batch)
        if np.all(asked <= fits):
            return
        worst = int(np.argmax(asked - fits))
        most, got = float(fits.flat[worst]), float(asked.flat[worst])
        tokens = float(np.broadcast_to(context, fits.shape).flat[worst])
        room = self.room_bytes() - self.resident_bytes()
        size = {"hbm_bytes": self.room_bytes(), "stored_bytes": self.resident_bytes()}
        alone = float(BATCH_FITS.reusing(self.shape | size | {"context": tokens}))
        missing = got * room / alone - room
        raise ValueError(
            f"batch must be at most {most:.0f} requests of {tokens:,.0f} tokens, which "
            f"fit in a GPU's memory, got {got:.0f}: {missing / 1e9:.1f} GB too much"
        )

    def room_bytes(self) -> float:
        """Bytes of a GPU's memory that weights and cache may take together.

        A share of what the driver reports, or of an estimate of it.
        """
        share = self.assumptions.usable_memory
        return float(self.setup.accelerator.usable_bytes) * share

    def resident_bytes(self) -> float:
        """Bytes of the weights that one GPU holds."""
        known, other = self.shape | self.traffic, self.setup.params(*OUTSIDE)
        return float(f.RESIDENT_BYTES.at(known, other_params=other))

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
            rate = self.user_tokens_per_s(batch=batch, context=context, in_memory=False)
            return bool(rate < tokens_per_s)

        # Doubled until it is too slow, then halved: no bound on the batch is assumed.
        most = 1
        while not slow(most):
            most *= 2
        fast = bisect_left(range(1, most + 1), True, key=slow)
        return min(fast, int(self.batch_fits(context))) if in_memory else fast
