"""A toy that serves requests step by step, every FLOP and byte of it metered."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.roofline.machine import Toy
from tests.roofline.toys import run, setting


@dataclass
class Served:
    """A toy, a request of ``prompt_len`` and ``new_tokens``, a machine and a target."""

    shape: Toy
    values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.values[name]

    @property
    def flops_per_s(self) -> float:
        return float(self.peak_flops * self.eff_compute)

    @property
    def bytes_per_s(self) -> float:
        return float(self.hbm_bw * self.eff_mem)

    def cache_bytes(self, tokens: int) -> float:
        """Read the cache of one request once."""
        return run(self.shape, batch=1, context=tokens, chunk=1).kv_read_bytes

    def contexts(self) -> list[int]:
        """Tokens in cache at each decode step, told by generating one by one."""
        cached, produced, found = self.prompt_len, 1, []
        while produced < self.new_tokens:
            found.append(cached)
            cached, produced = cached + 1, produced + 1
        return found

    def weights_s(self) -> float:
        return run(self.shape, batch=1, context=0, chunk=1).weight_bytes / (
            self.bytes_per_s
        )

    def iteration_s(
        self, *, rows: float, pairs: float, cached: float, requests: float, prompts: int
    ) -> float:
        """One iteration: products, attention, launches; what hides is said below.

        ``rows``, ``pairs`` and ``cached`` tokens are of all requests together.
        """
        one = run(self.shape, batch=1, context=0, chunk=1)
        linear = rows * one.linear_flops / self.flops_per_s
        reading = self.weights_s()
        longer, shorter = max(linear, reading), min(linear, reading)
        attention = pairs * self.values["attn_flops_per_pair"] / self.flops_per_s
        caches = cached * self.cache_bytes(1) / self.bytes_per_s
        busy = longer + (1 - self.overlap) * shorter + attention
        hidden = self.overlap_kv * min(caches, busy - reading) if prompts else 0.0
        launches = self.overhead_s + (self.prompt_launch_s if prompts else 0.0)
        return float(busy + caches - hidden + launches + requests * self.request_s)

    def prefill_s(self) -> float:
        """Read the prompt at once; row i sees i rows, itself included."""
        pairs = sum(range(1, self.prompt_len + 1))
        size = {"rows": self.prompt_len, "pairs": pairs, "cached": 0, "requests": 1}
        return self.iteration_s(**size, prompts=1)

    def prefill_each_s(self) -> float:
        """Read ``prompts_together`` prompts at once: the part of each of them."""
        many = self.prompts_together
        pairs = many * sum(range(1, self.prompt_len + 1))
        size = {"rows": many * self.prompt_len, "pairs": pairs, "cached": 0}
        return float(self.iteration_s(**size, requests=many, prompts=many) / many)

    def step_s(self, batch: float) -> float:
        """A step of nothing but decodes, each in the middle of its answer."""
        middle = self.contexts()[len(self.contexts()) // 2]
        size = {"pairs": batch * (middle + 1), "cached": batch * middle}
        return self.iteration_s(rows=batch, requests=batch, prompts=0, **size)

    def ride_s(self, batch: float) -> float:
        """What one prompt more makes of such a step."""
        middle = self.contexts()[len(self.contexts()) // 2]
        triangle = sum(range(1, self.prompt_len + 1))
        joint = self.iteration_s(
            rows=batch + self.prompt_len,
            pairs=batch * (middle + 1) + triangle,
            cached=batch * middle,
            requests=batch + 1,
            prompts=1,
        )
        return joint - self.step_s(batch)

    def mean_step_s(self, batch: float) -> float:
        """As many prompts as answers come to their end, spread over all steps."""
        steps = len(self.contexts())
        return self.step_s(batch) + batch / steps * self.ride_s(batch)

    def fits(self) -> float:
        """Requests whose caches, answers complete, fill what the weights leave."""
        stored = run(self.shape, batch=1, context=0, chunk=1).weight_bytes
        full = self.cache_bytes(self.prompt_len + self.new_tokens)
        return float((self.hbm_bytes - stored) / full)

    def transfer_s(self) -> float:
        bytes_per_s = float(self.link_bw * self.eff_link)
        return self.cache_bytes(self.prompt_len) / bytes_per_s


def served(rng: random.Random) -> Served:
    """A random one; the target leaves room for a few requests."""
    shape, values = setting(rng)
    values |= {
        "n_layers": rng.randint(1, 6),  # those of the pipeline, not of the toy
        "prompt_len": rng.randint(1, 6),
        "new_tokens": 2 * rng.randint(1, 3),
        "peak_flops": rng.choice((1.0, 3.0, 20.0, 90.0)),
        "hbm_bw": float(rng.randint(1, 9)),
        "link_bw": float(rng.randint(1, 9)),
        "tier_bw": float(rng.randint(1, 9)),
        "overhead_s": rng.random(),
        "prompt_launch_s": rng.random(),
        "request_s": rng.random() / 9,
        "orchestration_s": rng.random(),
        "decode_emits": rng.randint(0, 1),
        "overlap_kv": 0.0,
        "overlap": rng.choice((0.0, rng.random(), 1.0)),
        "n_prefill": rng.randint(1, 4),
        "n_decode": rng.randint(1, 4),
        "prompts_together": rng.randint(1, 5),
    }
    values |= {name: rng.randint(1, 10) / 10 for name in ("eff_mem", "eff_link")}
    values["eff_compute"] = rng.randint(1, 10) / 10
    one = Served(shape, values)
    one.values["tpot_target"] = one.step_s(rng.uniform(0.5, 9))
    tokens = one.prompt_len + one.new_tokens
    stored = run(shape, batch=1, context=0, chunk=1).weight_bytes
    values["hbm_bytes"] = stored + rng.uniform(0.3, 9) * one.cache_bytes(tokens)
    values["prefill_busy"] = rng.uniform(0.1, 0.6)
    values["arrival_rate"] = values["prefill_busy"] / one.prefill_s()
    return one


def riding(rng: random.Random) -> tuple[Served, float]:
    """A random one, and a batch whose rows compute while the weights are read.

    The prompt computes for longer than weights and caches take to read.
    """
    one = served(rng)
    one.values["overlap_kv"] = rng.choice((0.0, rng.random(), 1.0))
    row = run(one.shape, batch=1, context=0, chunk=1).linear_flops
    slow = one.prompt_len * row / one.weights_s() / rng.uniform(1.5, 4)
    one.values["peak_flops"] = slow / one.eff_compute
    cache_s = one.cache_bytes(one.contexts()[-1]) / one.bytes_per_s
    most = min(one.weights_s() / (row / slow), one.weights_s() / cache_s / 2)
    return one, rng.uniform(0.1, 0.9) * most


def first(holds: Callable[[int], bool]) -> int:
    """Try 1, 2, 3, … until it holds."""
    return next(number for number in count(1) if holds(number))
