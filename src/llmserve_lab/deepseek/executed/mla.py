"""Latent attention executed in both forms, every multiplication counted.

The outputs are equal; what is paid for them is not. Nothing here knows a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.checks import one_of, whole
from llmserve_lab.transformer import AttentionContext, Meter, Packing, tiny_latent
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.attention_context import Entries
from llmserve_lab.transformer.latent import latent_attention

D_MODEL = 48
MOST_ROWS, MOST_CONTEXT, MOST_WIDE = 1_024, 65_536, 16_384
FORMS = {"vanilla": False, "absorbed": True}
TINY = tiny_latent()
ROUNDING = 1e-12


@dataclass(frozen=True)
class MlaStep:
    """An intermediate of the pass: what it is, its shape, the FLOPs so far."""

    name: str
    shape: tuple[int, ...]
    flops: int


@dataclass(frozen=True)
class MlaRun:
    """One layer executed: its output [n, d], a meter that read along, and its steps."""

    output: Array
    meter: Meter
    steps: tuple[MlaStep, ...] = ()

    @property
    def flops(self) -> int:
        """Weight products, and those pairs that the mask let through."""
        return self.meter.linear_flops + self.meter.useful_attn_flops


Form = Literal["vanilla", "absorbed"]


def execute(
    form: str,
    *,
    n_rows: int,
    context: int,
    spec: LatentAttention = TINY,
    d_model: int = D_MODEL,
    seed: int = 0,
) -> MlaRun:
    """Run ``n_rows`` new rows of one request against ``context`` cached latents.

    Raises:
        ValueError: ``form`` is neither "vanilla" nor "absorbed", there is no row, or
            the context is negative.
    """
    one_of("form", form, Form)
    whole(of="row", most=MOST_ROWS, n_rows=n_rows)
    whole(of="token", first=0, most=MOST_CONTEXT, context=context)
    whole(of="element", most=MOST_WIDE, d_model=d_model)
    rng = np.random.default_rng(seed)
    weights = {
        name: rng.standard_normal(shape) / np.sqrt(shape[0])
        for name, shape in spec.weights(d_model)
    }
    cached = {
        "latent": rng.standard_normal((context, spec.d_latent)),
        "rotary_key": rng.standard_normal((context, spec.d_rope)),
    }
    rows, meter = rng.standard_normal((n_rows, d_model)), Meter()
    steps = list[MlaStep]()

    def note(name: str, _axes: str, array: np.ndarray[Any, Any]) -> None:
        done = meter.linear_flops + meter.useful_attn_flops
        steps.append(MlaStep(name, array.shape, done))

    def recall(fresh: Entries) -> Entries:
        return {name: np.concatenate([cached[name], fresh[name]]) for name in cached}

    packing = Packing((0, n_rows), (context,))
    view = AttentionContext(packing, packing.positions, recall=recall)
    absorbed = FORMS[form]
    run = replace(meter.on(), note=note)
    output = latent_attention(rows, weights, spec, view, absorbed=absorbed, run=run)
    return MlaRun(output, meter, tuple(steps))


@dataclass(frozen=True)
class Compared:
    """Both forms executed on the same rows: their FLOPs, and how outputs differ.

    ``gap`` is the largest difference of any two numbers of the outputs.
    """

    n_rows: int
    context: int
    vanilla_flops: int
    absorbed_flops: int
    gap: float

    @property
    def equal(self) -> bool:
        """Whether the outputs are the same but for rounding."""
        return self.gap < ROUNDING


def compare(
    *cases: tuple[int, int], spec: LatentAttention = TINY, d_model: int = D_MODEL
) -> tuple[Compared, ...]:
    """Both forms for each (rows, context): FLOPs as counted, and how they differ."""
    found = []
    for n_rows, context in cases:
        size = {"n_rows": n_rows, "context": context, "d_model": d_model}
        vanilla, absorbed = (execute(form, spec=spec, **size) for form in FORMS)
        gap = float(np.abs(vanilla.output - absorbed.output).max())
        flops = (vanilla.flops, absorbed.flops)
        found.append(Compared(n_rows, context, *flops, gap))
    return tuple(found)
