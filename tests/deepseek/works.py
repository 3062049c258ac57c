"""A machine that works off amounts tick by tick; nothing here knows a closed form."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from llmserve_lab.formula.formula import Formula


def ticks(*loads: tuple[float, float]) -> Fraction:
    """Time to work off (amount, rate) loads in turn, a slice at a time."""
    time = Fraction(0)
    for amount, rate in loads:
        left, share = Fraction(amount), Fraction(rate) / 8
        while left > 0:
            step = min(left, share)
            left, time = left - step, time + step / Fraction(rate)
    return time


def rounded(read: Fraction, compute: Fraction) -> Fraction:
    """Time at which the squares of both uses, of memory and of compute, add up to one.

    Halve the interval between the longer of the two and their sum until it is narrow.
    """
    low, high = sorted([read, compute])[-1], read + compute
    for _ in range(60):
        middle = Fraction(float((low + high) / 2))
        used = (read / middle) ** 2 + (compute / middle) ** 2
        low, high = (middle, high) if used > 1 else (low, middle)
    return high


class Works:
    """Random small amounts and rates of one GPU, and what it does with them."""

    def __init__(self, rng: random.Random) -> None:
        def few() -> int:
            return rng.randint(1, 6)

        names = (
            "bytes_weight mla_params expert_stack rest_params table_params context "
            "kv_bytes_per_token attn_flops_per_pair local_experts copy_bytes "
            "sent_copies top_k read_rate gemm_rate attn_rate far_rate near_rate "
            "n_batches chunk batch gpu_requests accepted n_kernels start_s "
            "row_pass_bytes copy_pass_bytes trips_s"
        )
        self.values: dict[str, Any] = {name: few() for name in names.split()}
        self.values |= {
            "n_shared": rng.randint(0, 2),
            "balancedness": 2.0 ** -rng.randint(0, 2),
            "n_nodes": few(),
            "n_experts": 64,
            "ep": 1,
        }
        self.values["read_experts"] = float(rng.randint(1, 4))
        self.values["wire_bytes"] = float(rng.randint(1, 40))

    def __getattr__(self, name: str) -> Any:
        return self.values[name]

    def rows(self) -> range:
        """Every row of the batch."""
        return range(self.batch * self.chunk)

    def held(self) -> Any:
        """Weights put into memory one parameter after the other."""
        copies = range(self.local_experts + self.n_shared)
        experts = sum(1 for _ in copies for _ in range(self.expert_stack))
        others = ("mla_params", "rest_params", "table_params")
        return self.bytes_weight * (experts + sum(self.values[name] for name in others))

    def cached(self) -> Any:
        """Every token of every request on the GPU, one after the other."""
        requests, tokens = range(self.gpu_requests), range(self.context)
        return sum(self.kv_bytes_per_token for _ in requests for _ in tokens)

    def attention_bytes(self) -> Any:
        """Weights once, then every cached token of every request."""
        cached = sum(
            self.kv_bytes_per_token
            for _ in range(self.batch)
            for _ in range(self.context)
        )
        return sum(self.bytes_weight for _ in range(self.mla_params)) + cached

    def attention_ticks(self) -> Fraction:
        """Weight products of every row, then each row's pairs under the mask."""
        linear = sum(2 * self.mla_params for _ in self.rows())
        pairs = sum(
            1
            for _ in range(self.batch)
            for row in range(self.chunk)
            for _ in range(self.context + row + 1)
        )
        return ticks(
            (linear, self.gemm_rate), (pairs * self.attn_flops_per_pair, self.attn_rate)
        )

    def expert_bytes(self) -> float:
        """Touched and shared experts once, and what came and went."""
        experts = int(self.read_experts) + self.n_shared
        weights = sum(self.expert_stack for _ in range(experts)) * self.bytes_weight
        return float(weights + self.wire_bytes)

    def expert_ticks(self) -> Fraction:
        """Rows of the busiest GPU, expert by expert."""
        routed = sum(
            2 * self.expert_stack
            for _ in self.rows()
            for _ in range(self.top_k * int(1 / self.balancedness))
        )
        shared = sum(
            2 * self.expert_stack for _ in self.rows() for _ in range(self.n_shared)
        )
        return ticks((routed + shared, self.gemm_rate))

    def passed(self) -> Any:
        """Bytes of every row, and of every copy that the busiest GPU gets of it."""
        copies = self.top_k * int(1 / self.balancedness)
        return sum(
            self.row_pass_bytes + sum(self.copy_pass_bytes for _ in range(copies))
            for _ in self.rows()
        )

    def pass_ticks(self) -> Fraction:
        """Start one kernel after the other, and move the bytes."""
        started = sum(Fraction(self.start_s) for _ in range(self.n_kernels))
        return started + ticks((self.passed(), self.read_rate))

    def wire_ticks(self) -> Fraction:
        """Start, then a share for every node; one of them is at home."""
        part = Fraction(self.wire_bytes) / self.n_nodes
        far = ticks(*[(part, self.far_rate)] * (self.n_nodes - 1))
        return Fraction(self.trips_s) + sorted([far, ticks((part, self.near_rate))])[-1]

    def rest_ticks(self) -> Fraction:
        """Read all, or multiply all, whichever ends later."""
        read = ticks((self.rest_params * self.bytes_weight, self.read_rate))
        mul = ticks(*[(2 * self.rest_params, self.gemm_rate) for _ in self.rows()])
        return sorted([read, mul])[-1]

    def block_ticks(self) -> dict[str, Fraction]:
        """The four blocks of a step."""
        read = ticks((self.attention_bytes(), self.read_rate))
        experts = ticks((self.expert_bytes(), self.read_rate))
        return {
            "mla_s": rounded(read, self.attention_ticks()),
            "experts_s": rounded(experts, self.expert_ticks()),
            "pass_s": self.pass_ticks(),
            "wire_s": self.wire_ticks(),
            "rest_s": self.rest_ticks(),
        }


def run_of(works: Works, formula: Formula, *known: str) -> dict[str, Any]:
    """The arguments that describe ``works`` to ``formula``, some results given."""
    leaves = formula.leaves(keep=frozenset(known))
    return {leaf.name: works.values[leaf.name] for leaf in leaves}
