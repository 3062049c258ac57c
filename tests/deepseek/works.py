"""A GPU that works off what a tiny DeepSeek did; nothing here knows a closed form."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cached_property
from typing import Any

from llmserve_lab.deepseek.executed.overlap import LayerTimes, Span, in_turn
from llmserve_lab.formula.formula import Formula
from llmserve_lab.transformer import Transformer
from tests.deepseek.clock import rounded, stream, ticks
from tests.deepseek.executed_step import (
    ATTENTION,
    EXPERTS,
    FLOAT,
    OTHERS,
    Exchanged,
    Step,
    tiny,
)
from tests.traffic import numbers, part


class Works:
    """Random rates of one GPU, and what a tiny DeepSeek that ran makes it do.

    What is asked of a model is read off its arrays; what one row moves, off a step of
    one row.
    """

    def __init__(self, rng: random.Random, *, even: bool = False) -> None:
        names = (
            "n_batches gpu_requests accepted launch_s host_s attn_row_bytes "
            "attn_launches moe_row_bytes moe_copy_bytes moe_launches transfer_starts_s"
        )
        rates = "read_rate cache_rate gemm_rate attn_rate far_rate near_rate"
        self.size = {"batch": rng.randint(1, 3), "chunk": rng.randint(1, 3)}
        self.size["context"] = rng.randint(1, 5)
        self.model = Transformer(tiny(rng), absorbed=True)
        n_rows = self.size["batch"] * self.size["chunk"]
        self.moe = Exchanged(rng, n_rows=n_rows, even=even)
        home, copy = self.moe.of_a_row()
        few = {name: rng.randint(1, 6) for name in names.split()}
        self.values: dict[str, Any] = {**self.size, **few}
        self.values |= {name: 300 * rng.randint(1, 9) for name in rates.split()}
        self.values |= self._model() | {
            "n_shared": self.moe.spec.n_shared,
            "top_k": self.moe.spec.top_k,
            "dispatched_copies": self.moe.spec.top_k,
            "expert_stack": self.moe.expert_numbers,
            "copy_bytes": 2 * FLOAT * self.moe.d_model,
            "balancedness": self.moe.balancedness,
            "n_nodes": self.moe.n_nodes,
            "read_experts": self.moe.touched,
            "far_share": float(self.moe.apart()[0] / sum(self.moe.apart())),
            "moe_gemm_row_bytes": home,
            "moe_gemm_copy_bytes": copy,
            "dispatch_share": 2.0 ** -rng.randint(1, 3),
            "overlap_slowdown": rng.randint(0, 4) / 8,
            "bytes_weight": FLOAT,
        }

    def _model(self) -> dict[str, float]:
        """What the arrays of the model say, and a step of a single row."""
        arrays, shape = self.model.weights.arrays, self.model.shape
        alone = Step(self.model, n_requests=1, chunk=1, context=0)
        return {
            "mla_params": numbers(arrays, *ATTENTION),
            "other_params": numbers(arrays, *OTHERS),
            "kv_bytes_per_token": shape.kv_bytes_per_token(FLOAT),
            "attn_flops_per_pair": alone.pair_flops,
            "attn_gemm_row_bytes": part(alone.traffic.row_bytes, *ATTENTION),
        }

    def __getattr__(self, name: str) -> Any:
        if name == "values":  # not yet there
            raise AttributeError(name)
        return self.values[name]

    @cached_property
    def step(self) -> Step:
        """The step, taken."""
        size = self.size
        return Step(
            self.model,
            n_requests=size["batch"],
            chunk=size["chunk"],
            context=size["context"],
        )

    def rows(self) -> range:
        """Every row of the batch."""
        return range(self.batch * self.chunk)

    def attention_bytes(self) -> int:
        """Weights of attention that products read, and entries read of the caches."""
        return self.attention_weight_bytes() + self.step.cache_bytes

    def attention_weight_bytes(self) -> int:
        """Weights of attention that products read."""
        return part(self.step.traffic.weight_bytes, *ATTENTION)

    def attention_ticks(self) -> Fraction:
        """Weight products, then the pairs that the mask let through."""
        linear = part(self.step.traffic.flops, *ATTENTION)
        return ticks((linear, self.gemm_rate), (self.step.pair_flops, self.attn_rate))

    def attention_gemm_ticks(self) -> tuple[Fraction, Fraction]:
        """Reading and computing of attention's GEMMs, each alone."""
        seen = self.step.traffic
        moved = self.attention_weight_bytes() + part(seen.row_bytes, *ATTENTION)
        linear = part(seen.flops, *ATTENTION)
        return ticks((moved, self.read_rate)), ticks((linear, self.gemm_rate))

    def attention_kernel(self) -> dict[str, Fraction]:
        """How long the attention kernel keeps memory and compute busy."""
        return {
            "memory": ticks((self.step.cache_bytes, self.cache_rate)),
            "compute": ticks((self.step.pair_flops, self.attn_rate)),
        }

    def all_to_all(self) -> Fraction:
        """Bytes that come to the busiest rank's experts, and leave them."""
        return sum(self.moe.busiest.port_bytes(), Fraction(0))

    def expert_bytes(self) -> Fraction:
        """Experts that products read, and rows in and out of them and between them.

        Rows between the products are those of the meter; gate and up each read what
        arrived, of which the first is not between them.
        """
        seen = self.moe.busiest.traffic
        weights = part(seen.weight_bytes, *EXPERTS)
        return Fraction(weights + part(seen.row_bytes, "router", *EXPERTS))

    def expert_ticks(self) -> Fraction:
        """Products of the busiest rank with routed and shared experts."""
        return ticks((part(self.moe.busiest.traffic.flops, *EXPERTS), self.gemm_rate))

    def launched(self, kernels: int, moved: Any) -> Fraction:
        """Launch one kernel after the other, and move the bytes."""
        started = sum(Fraction(self.launch_s) for _ in range(kernels))
        return started + ticks((moved, self.read_rate))

    def attention_elementwise_ticks(self) -> Fraction:
        """Every row through attention's elementwise kernels."""
        moved = sum(self.attn_row_bytes for _ in self.rows())
        return self.launched(self.attn_launches, moved)

    def expert_elementwise_ticks(self) -> Fraction:
        """Every row, and every copy that the busiest GPU gets."""
        moved = sum(self.moe_row_bytes for _ in self.rows())
        moved += sum(self.moe_copy_bytes for _ in range(self.moe.busiest.copies))
        return self.launched(self.moe_launches, moved)

    def flight_ticks(self) -> Fraction:
        """What goes to other nodes and what stays, on two networks at the same time."""
        far, near = self.moe.apart()
        links = {"far": (far, self.far_rate), "near": (near, self.near_rate)}
        return stream({name: ticks(load) for name, load in links.items()})

    def other_ticks(self) -> tuple[Fraction, Fraction]:
        """Read and multiply dense layers, router and LM head, each alone."""
        seen = self.step.traffic
        read = ticks((part(seen.weight_bytes, *OTHERS), self.read_rate))
        return read, ticks((part(seen.flops, *OTHERS), self.gemm_rate))

    def mla_kernels(self) -> tuple[dict[str, Fraction], ...]:
        """Attention's GEMMs, and its kernel."""
        return {"both": rounded(*self.attention_gemm_ticks())}, self.attention_kernel()

    def block_ticks(self) -> dict[str, Fraction]:
        """The blocks of a step."""
        experts = ticks((self.expert_bytes(), self.read_rate))
        return {
            "mla_s": stream(*self.mla_kernels()),
            "attn_elementwise_s": self.attention_elementwise_ticks(),
            "experts_s": rounded(experts, self.expert_ticks()),
            "moe_elementwise_s": self.expert_elementwise_ticks(),
            "all_to_all_s": Fraction(self.transfer_starts_s) + self.flight_ticks(),
            "other_s": rounded(*self.other_ticks()),
        }

    def phases(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Attention and experts of a batch, and its dispatch and its combine."""
        block, flight = self.block_ticks(), self.flight_ticks()
        there = flight * Fraction(self.dispatch_share)
        attention = {"memory": block["attn_elementwise_s"]}
        experts = {"both": block["experts_s"]}, {"memory": block["moe_elementwise_s"]}
        return (
            stream(*self.mla_kernels(), attention),
            stream(*experts),
            there,
            flight - there,
        )

    def turn(self) -> tuple[Span, ...]:
        """All layers of one batch, one phase after another, as the page plays it."""
        attention, experts, there, back = self.phases()
        layers = self.n_batches  # any number of layers shares the times
        times = LayerTimes(
            attention=float(attention / layers),
            dispatch=float(there / layers),
            experts=float(experts / layers),
            combine=float(back / layers),
            start=self.transfer_starts_s / layers / 2,
        )
        return in_turn(times, layers)


def run_of(works: Works, formula: Formula, *known: str) -> dict[str, Any]:
    """The arguments that describe ``works`` to ``formula``, some results measured."""
    leaves = formula.leaves(keep=frozenset(known))
    return {leaf.name: works.values[leaf.name] for leaf in leaves}
