"""Mixed iterations on the toy machine: slices of several requests in one pass."""

from __future__ import annotations

import random
from typing import Any

from llmserve_lab.formula.formula import Formula
from tests.roofline.clock import unit_for
from tests.roofline.counts_time import machine_values, random_unit
from tests.roofline.machine import Meter, Toy
from tests.roofline.toys import run, setting

Slice = tuple[int, int]  # tokens in cache, new rows


def together(shape: Toy, slices: list[Slice]) -> Meter:
    """One pass over all slices: everyone's rows and caches, the weights once."""
    total = Meter()
    for context, rows in slices:
        part = run(shape, batch=1, context=context, chunk=rows)
        total.linear_flops += part.linear_flops
        total.attn_flops += part.attn_flops
        total.pairs += part.pairs // shape.n_layers
        total.kv_read_bytes += part.kv_read_bytes
        total.weight_bytes = part.weight_bytes
    return total


def mixture(rng: random.Random) -> tuple[Toy, dict[str, Any], list[Slice]]:
    """A toy, arguments that describe a mixed iteration of it, and its slices."""
    shape, values = setting(rng)
    n_decodes, held = rng.randint(0, 3), rng.randint(1, 6)
    values |= {"n_decodes": n_decodes, "decode_context": held}
    chunk = (values["context"], values["chunk"])
    return shape, values, [chunk, *[(held, 1)] * n_decodes]


def cut(prompt_len: int, chunk: int) -> list[Slice]:
    """Walk a prompt as a scheduler does: take a chunk, and see what is left."""
    slices, done = list[Slice](), 0
    while done < prompt_len:
        rows = min(chunk, prompt_len - done)
        slices.append((done, rows))
        done += rows
    return slices


def prompt(rng: random.Random, *, whole: bool = False) -> tuple[int, int]:
    """A random prompt and chunk; with ``whole`` the chunk divides the prompt."""
    chunk = rng.randint(1, 5)
    return (chunk * rng.randint(1, 5) if whole else rng.randint(1, 18)), chunk


def timed(
    formula: Formula, rng: random.Random, values: dict[str, Any], **amounts: float
) -> tuple[dict[str, Any], dict[str, int]]:
    """Arguments of ``formula``, and the ticks in which units do ``amounts`` of work.

    ``flops`` is computed, ``bytes`` read, each in whole rounds of ten ticks.
    """
    units = {
        name: unit_for(amount, duty=rng.randint(1, 10), rounds=rng.randint(1, 9))
        if (amount := amounts.get(name, 0))
        else random_unit(rng)
        for name in ("flops", "bytes")
    }
    ticks = {name: units[name].ticks_for(amount) for name, amount in amounts.items()}
    peaks = machine_values(units["flops"], units["bytes"])
    return formula.given(values | peaks), ticks
