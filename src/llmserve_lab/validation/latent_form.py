"""Mixtures of experts with latent attention: what a row of them computes and reads.

Facts, without a constant. A decode attends on the latent itself ("absorbed"), a prompt
on keys and values made from it, which costs fewer FLOPs a pair; for a later chunk of a
prompt they are made anew. The heads are cut over the devices, the latent is not. With
an indexer (GLM-5), a row attends to 2,048 tokens at most, but the indexer scores all,
with all its heads on every device, in eight bits, and prompts attend absorbed as well.
Pairs and tokens of cache are counted in those of a full, absorbed attention.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llmserve_lab.catalog.data.trial_models import INDEXED
from llmserve_lab.catalog.records.attention import FLOPS_PER_MAC
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.metrics.iteration_record import IterationRecord
from llmserve_lab.validation.constants import ServingConstants, achieved
from llmserve_lab.validation.expert_form import (
    DENSE,
    ExpertConstants,
    MendedPredictor,
    mended_cost,
)
from llmserve_lab.validation.exposure import Exposures, exposures_of, seen
from llmserve_lab.validation.latent_rows import latent_of, token_bytes
from llmserve_lab.validation.on_devices import OnDevices
from llmserve_lab.validation.protocol import SHORTEST, cached_bytes
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import Floats, speedup

EVERYTHING = 2**62  # tokens: no limit to what is attended to


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What a device does for a pair or a token, in absorbed pairs and latents.

    Args:
        limit: tokens that a row attends to at most.
        prompt_pair: an attended pair of a prompt; that of a decode is 1.
        remade: making keys and values of a token before a chunk.
        scored_pair: a pair that an indexer scores.
        key: reading the indexer's key of a token; its latent is 1.
    """

    limit: int
    prompt_pair: float
    remade: float
    scored_pair: float
    key: float


def weighed(
    row: OnDevices,
    reached: ServingConstants | None = None,
    *,
    kv_bytes: float | None = None,
) -> Weighed:
    """How pairs and tokens of a row's model count on each of its devices.

    A cached number takes ``kv_bytes``, by default as in a measured row's benchmark.

    Raises:
        ValueError: the row has no latent attention.
    """
    reached, spec = reached or achieved(), latent_of(row)
    absorbed = spec.flops_per_pair() / row.tp
    if not spec.n_index_heads:
        made = FLOPS_PER_MAC * spec.d_latent * spec.n_heads * (spec.d_head + spec.d_v)
        expanded = spec.flops_per_pair(absorbed=False) / row.tp
        return Weighed(
            limit=EVERYTHING,
            prompt_pair=expanded / absorbed,
            remade=made / row.tp / absorbed,
            scored_pair=0.0,
            key=0.0,
        )
    scores = FLOPS_PER_MAC * spec.n_index_heads * spec.d_index
    faster = speedup(row.accelerator, "fp8") ** reached.exponent
    kv_bytes = cached_bytes(row, kv_bytes)
    latent = (spec.d_latent + spec.d_rope) * kv_bytes * row.shape.n_layers
    return Weighed(
        limit=INDEXED,
        prompt_pair=1.0,
        remade=0.0,
        scored_pair=scores / faster / absorbed,
        key=(token_bytes(row, kv_bytes) - latent) / latent,
    )


def latent_exposures(row: MeasuredRow) -> Exposures:
    """What the engine counts of a row's benchmark, its attention weighed."""
    weights = weighed(row)
    longest, shortest = row.prompt_len + row.output_len, SHORTEST * row.prompt_len
    one_by_one = shortest < weights.limit < longest

    def recount(records: tuple[IterationRecord, ...], loads: Floats) -> Floats:
        attended = _attended(records, loads, weights)
        scored, keys = loads[:, 1], loads[:, 2]
        both = (weights.scored_pair * scored, weights.key * keys)
        return attended + np.stack(both, axis=1)

    return exposures_of(row, recount=recount, leap=not one_by_one)


def _attended(
    records: tuple[IterationRecord, ...], loads: Floats, weights: Weighed
) -> Floats:
    """Pairs and latents by iteration that attention works on, [iterations, 2]."""
    counts = np.array([record.count for record in records])
    decodes = np.repeat([record.decode_rows for record in records], counts)
    pairs, latents = loads[:, 1].copy(), loads[:, 2].copy()
    prompt = np.zeros((len(pairs), 2))
    first = np.cumsum(counts) - counts
    for begin, record in zip(first, records, strict=True):
        for step in range(record.count if record.chunks else 0):
            place = begin + step
            for rows, before in (
                (rows, before + step * rows) for _, rows, before in record.chunks
            ):
                pairs[place] -= seen(rows, before, EVERYTHING)
                latents[place] -= before
                read = min(before, weights.limit)
                prompt[place, 0] += weights.prompt_pair * seen(
                    rows, before, weights.limit
                )
                prompt[place, 0] += weights.remade * before
                prompt[place, 1] += read
    if any(record.scheduled for record in records):
        near = np.array([_near_decodes(record, weights.limit) for record in records])
    else:  # all decodes are on one side of the limit
        near = np.stack(
            (
                np.minimum(pairs, decodes * float(weights.limit)),
                np.minimum(latents, decodes * float(weights.limit - 1)),
            ),
            axis=1,
        )
    found: Floats = prompt + near
    return found


def _near_decodes(record: IterationRecord, limit: int) -> tuple[float, float]:
    """Pairs and latents of one iteration's decodes, each with a limit of its own."""
    prompts = {number for number, _, _ in record.chunks}
    contexts = [
        each.context for each in record.scheduled if each.id not in prompts
    ]  # a request that decodes brings one row
    pairs = sum(min(context + 1, limit) for context in contexts)
    return float(pairs), float(sum(min(context, limit - 1) for context in contexts))


def latent_cost(
    row: OnDevices,
    reached: ServingConstants,
    extra: ExpertConstants,
    *,
    kv_bytes: float | None = None,
) -> IterationCost:
    """The engine's cost of an iteration whose pairs and tokens are weighed.

    A cached number takes ``kv_bytes``, by default as in a measured row's benchmark.

    Raises:
        ValueError: the row has no latent attention.
    """
    cost = mended_cost(row, reached, extra, kv_bytes=kv_bytes)
    spec = latent_of(row)
    latent = (spec.d_latent + spec.d_rope) / spec.kv_elements
    return replace(cost, kv_token_s=cost.kv_token_s * latent)


class LatentPredictor(MendedPredictor):
    """Rows of mixtures with latent attention, ready to be priced.

    Raises:
        ValueError: there is no row, or one without experts or latent attention.
    """

    def _counted(self) -> list[Exposures]:
        return [latent_exposures(row) for row in self.rows]

    def _cost(self, row: MeasuredRow, reached: ServingConstants) -> IterationCost:
        return latent_cost(row, reached, DENSE)
