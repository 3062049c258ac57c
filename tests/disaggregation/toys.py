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

    def prefill_s(self) -> float:
        """Compute the prompt while the weights are read."""
        meter = run(self.shape, batch=1, context=0, chunk=self.prompt_len)
        return max(meter.flops / self.flops_per_s, self.weights_s())

    def transfer_s(self) -> float:
        bytes_per_s = float(self.link_bw * self.eff_link)
        return self.cache_bytes(self.prompt_len) / bytes_per_s

    def read_s(self) -> float:
        """Read the cache at every decode step."""
        return sum(map(self.cache_bytes, self.contexts())) / self.bytes_per_s

    def answer_s(self) -> float:
        """Compute every decode step, each metered."""
        meters = (
            run(self.shape, batch=1, context=context, chunk=1)
            for context in self.contexts()
        )
        return sum(meter.flops for meter in meters) / self.flops_per_s

    def compute_s(self) -> float:
        """Compute the prompt, then the answer."""
        meter = run(self.shape, batch=1, context=0, chunk=self.prompt_len)
        return meter.flops / self.flops_per_s + self.answer_s()


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
        "overlap": rng.choice((0.0, rng.random(), 1.0)),
        "n_prefill": rng.randint(1, 4),
        "n_decode": rng.randint(1, 4),
    }
    values |= {name: rng.randint(1, 10) / 10 for name in ("eff_mem", "eff_link")}
    values["eff_compute"] = rng.randint(1, 10) / 10
    one = Served(shape, values)
    room = one.weights_s() + one.read_s() + one.compute_s()
    values["tbt_target"] = one.overhead_s + room * rng.uniform(1.1, 9)
    values["prefill_busy"] = rng.uniform(0.1, 0.6)
    values["arrival_rate"] = values["prefill_busy"] / one.prefill_s()
    return one


def first(holds: Callable[[int], bool]) -> int:
    """Try 1, 2, 3, … until it holds."""
    return next(number for number in count(1) if holds(number))
