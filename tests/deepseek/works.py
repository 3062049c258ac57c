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
            "bytes_weight mla_params expert_stack other_params table_params context "
            "kv_bytes_per_token attn_flops_per_pair local_experts copy_bytes "
            "dispatched_copies top_k read_rate cache_rate gemm_rate attn_rate far_rate "
            "near_rate n_batches chunk batch gpu_requests accepted launch_s host_s "
            "attn_gemm_row_bytes attn_row_bytes attn_launches moe_gemm_row_bytes "
            "moe_gemm_copy_bytes moe_row_bytes moe_copy_bytes moe_launches "
            "transfer_starts_s"
        )
        self.values: dict[str, Any] = {name: few() for name in names.split()}
        self.values |= {
            "n_shared": rng.randint(0, 2),
            "balancedness": 2.0 ** -rng.randint(0, 2),
            "dispatch_share": 2.0 ** -rng.randint(1, 3),
            "overlap_slowdown": rng.randint(0, 4) / 8,
            "n_nodes": few(),
            "n_experts": 64,
            "ep": 1,
        }
        self.values["read_experts"] = float(rng.randint(1, 4))
        self.values["all_to_all_bytes"] = float(rng.randint(1, 40))

    def __getattr__(self, name: str) -> Any:
        return self.values[name]

    def rows(self) -> range:
        """Every row of the batch."""
        return range(self.batch * self.chunk)

    def held(self) -> Any:
        """Weights put into memory one parameter after the other."""
        copies = range(self.local_experts + self.n_shared)
        experts = sum(1 for _ in copies for _ in range(self.expert_stack))
        others = ("mla_params", "other_params", "table_params")
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

    def copies(self) -> range:
        """Copies of a row that the busiest GPU gets."""
        return range(self.top_k * int(1 / self.balancedness))

    def pairs(self) -> int:
        """Each new row with what is cached before it and with those of its chunk."""
        return sum(
            1
            for _ in range(self.batch)
            for row in range(self.chunk)
            for _ in range(self.context + row + 1)
        )

    def attention_ticks(self) -> Fraction:
        """Weight products of every row, then each row's pairs under the mask."""
        linear = sum(2 * self.mla_params for _ in self.rows())
        return ticks(
            (linear, self.gemm_rate),
            (self.pairs() * self.attn_flops_per_pair, self.attn_rate),
        )

    def attention_gemm_bytes(self) -> Any:
        """Weights once, then every row in and out."""
        rows = sum(self.attn_gemm_row_bytes for _ in self.rows())
        return sum(self.bytes_weight for _ in range(self.mla_params)) + rows

    def attention_gemm_ticks(self) -> tuple[Fraction, Fraction]:
        """Reading and computing of attention's GEMMs, each alone."""
        linear = sum(2 * self.mla_params for _ in self.rows())
        read = ticks((self.attention_gemm_bytes(), self.read_rate))
        return read, ticks((linear, self.gemm_rate))

    def attention_kernel_ticks(self) -> Fraction:
        """Read the cache and work off the pairs at once; whichever ends later."""
        cached = sum(
            self.kv_bytes_per_token
            for _ in range(self.batch)
            for _ in range(self.context)
        )
        read = ticks((cached, self.cache_rate))
        pairs = ticks((self.pairs() * self.attn_flops_per_pair, self.attn_rate))
        return sorted([read, pairs])[-1]

    def expert_bytes(self) -> float:
        """Touched and shared experts once, what came and went, and rows between."""
        experts = int(self.read_experts) + self.n_shared
        weights = sum(self.expert_stack for _ in range(experts)) * self.bytes_weight
        rows = sum(
            self.moe_gemm_row_bytes + sum(self.moe_gemm_copy_bytes for _ in copies)
            for _ in self.rows()
            for copies in [self.copies()]
        )
        return float(weights + self.all_to_all_bytes + rows)

    def expert_ticks(self) -> Fraction:
        """Rows of the busiest GPU, expert by expert."""
        routed = sum(2 * self.expert_stack for _ in self.rows() for _ in self.copies())
        shared = sum(
            2 * self.expert_stack for _ in self.rows() for _ in range(self.n_shared)
        )
        return ticks((routed + shared, self.gemm_rate))

    def launched(self, kernels: int, moved: Any) -> Fraction:
        """Launch one kernel after the other, and move the bytes."""
        started = sum(Fraction(self.launch_s) for _ in range(kernels))
        return started + ticks((moved, self.read_rate))

    def attention_elementwise_ticks(self) -> Fraction:
        """Every row through attention's elementwise kernels."""
        moved = sum(self.attn_row_bytes for _ in self.rows())
        return self.launched(self.attn_launches, moved)

    def expert_elementwise_ticks(self) -> Fraction:
        """Every row, and every copy that the busiest GPU gets of it."""
        moved = sum(
            self.moe_row_bytes + sum(self.moe_copy_bytes for _ in self.copies())
            for _ in self.rows()
        )
        return self.launched(self.moe_launches, moved)

    def flight_ticks(self) -> Fraction:
        """A share for every node; one of them is at home."""
        part = Fraction(self.all_to_all_bytes) / self.n_nodes
        far = ticks(*[(part, self.far_rate)] * (self.n_nodes - 1))
        return sorted([far, ticks((part, self.near_rate))])[-1]

    def other_ticks(self) -> tuple[Fraction, Fraction]:
        """Read all, and multiply all, each alone."""
        read = ticks((self.other_params * self.bytes_weight, self.read_rate))
        mul = ticks(*[(2 * self.other_params, self.gemm_rate) for _ in self.rows()])
        return read, mul

    def block_ticks(self) -> dict[str, Fraction]:
        """The blocks of a step."""
        experts = ticks((self.expert_bytes(), self.read_rate))
        gemms = rounded(*self.attention_gemm_ticks())
        return {
            "mla_s": gemms + self.attention_kernel_ticks(),
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
        return (
            block["mla_s"] + block["attn_elementwise_s"],
            block["experts_s"] + block["moe_elementwise_s"],
            there,
            flight - there,
        )


LAYERS = 6  # of which the first ones are not yet in a steady state


def two_halves(
    attention: Fraction,
    experts: Fraction,
    there: Fraction,
    back: Fraction,
    slowdown: Fraction,
) -> Fraction:
    """Two half batches on one GPU and its ports, from event to event; time of a layer.

    Kernels run in the order in which they are queued, each when what it needs has
    arrived; what it makes is sent when the ports are free. While both the GPU and the
    ports are busy, each does 1 / (1 + slowdown) of its work in a second.
    """
    layer = [("A", "attention"), ("B", "experts"), ("A", "experts"), ("B", "attention")]
    queue = layer * LAYERS
    work = {"attention": attention, "experts": experts}
    size = {"attention": there, "experts": back}  # what each makes, to be sent
    arrived = {"A": True, "B": True}
    ports: list[tuple[str, Fraction]] = []
    running: tuple[str, str, Fraction] | None = None
    clock, ends = Fraction(0), list[Fraction]()
    while queue or running:
        if running is None and arrived[queue[0][0]]:
            half, kind = queue.pop(0)
            arrived[half], running = False, (half, kind, work[kind])
        busy = [running[2]] if running else []
        busy += [ports[0][1]] if ports else []
        rate = 1 / (1 + slowdown) if len(busy) > 1 else Fraction(1)
        took = min(busy) / rate
        clock += took
        if ports:
            half, left = ports[0]
            ports[0] = (half, left - took * rate)
        if running:
            half, kind, left = running
            running = (half, kind, left - took * rate)
            if running[2] <= 0:
                ports.append((half, size[kind]))
                running = None
                ends.append(clock)
        while ports and ports[0][1] <= 0:
            arrived[ports.pop(0)[0]] = True
    return ends[-1] - ends[-1 - len(layer)]


def run_of(works: Works, formula: Formula, *known: str) -> dict[str, Any]:
    """The arguments that describe ``works`` to ``formula``, some results given."""
    leaves = formula.leaves(keep=frozenset(known))
    return {leaf.name: works.values[leaf.name] for leaf in leaves}
