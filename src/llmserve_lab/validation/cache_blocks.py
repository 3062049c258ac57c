"""KV-cache blocks predicted: one constant, each published count left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS, BlockCount
from llmserve_lab.checks import whole
from llmserve_lab.engine import IterationCost
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.validation.unit_work import BYTES_16

UTILISATION = float(MEMORY_SHARE)
BLOCK_TOKENS = 16
DEVICE, PRECISION = "h100-sxm", "bf16"


@dataclass(frozen=True)
class PredictedCount:
    """A published count and its prediction with a reserve that the others give."""

    record: BlockCount
    reserved_bytes: float
    blocks: int

    @property
    def error(self) -> float:
        """Predicted over published, less one."""
        return self.blocks / float(self.record.blocks) - 1


def room(record: BlockCount) -> IterationCost:
    """What of an iteration's cost concerns memory, for the record's server."""
    device = record.usable_bytes or catalog.accelerator(DEVICE).usable_bytes
    return IterationCost(
        overhead_s=1.0,
        kv_bytes_per_token=record.model.kv_bytes_per_token(BYTES_16),
        weight_bytes=record.model.weight_bytes(BYTES_16),
        hbm_bytes=record.tp * float(device),
        n_gpus=record.tp,
    )


def reserve(record: BlockCount) -> float:
    """Bytes of each device that are neither weights nor blocks, from the count."""
    cost = room(record)
    block_bytes = BLOCK_TOKENS * cost.kv_bytes_per_token
    taken_bytes = cost.weight_bytes + float(record.blocks) * block_bytes
    return (UTILISATION * cost.hbm_bytes - taken_bytes) / cost.n_gpus


@cache
def working_space() -> float:
    """Bytes of a GPU that servers keep free of both, the mean of all counts."""
    return mean(reserve(each) for each in BLOCK_COUNTS)


def predicted(
    counts: Sequence[BlockCount] = BLOCK_COUNTS,
) -> tuple[PredictedCount, ...]:
    """Each count from the mean reserve of all that are of another model.

    Raises:
        ValueError: there is no count, or all are of one model.
    """
    if not counts:
        raise ValueError("counts must hold at least one published count, got none")
    found = []
    for record in counts:
        others = [reserve(each) for each in counts if each.model != record.model]
        if not others:
            raise ValueError("counts must be of two models or more, got one")
        blocks = room(record).kv_blocks(
            utilisation=UTILISATION,
            block_tokens=BLOCK_TOKENS,
            reserved_bytes=mean(others),
        )
        found.append(PredictedCount(record, mean(others), blocks))
    return tuple(found)


@cache
def band(accelerator: str, precision: str, *, tp: int) -> Band | Unmeasured:
    """Error band of the room for the cache of a dense model, by the catalog's keys.

    It holds the errors of all counts on such devices, each predicted with the reserve
    of the other models.

    Raises:
        LookupError: the catalog has no such accelerator.
        ValueError: there are no devices.
    """
    device = catalog.accelerator(accelerator)
    whole(tp=tp)
    counts = [each for each in predicted() if each.record.usable_bytes is None]
    if device.key != DEVICE:
        return Unmeasured(f"{device.name}: counts are of H100s, but for one small card")
    if precision != PRECISION:
        return Unmeasured("counts are of weights in 16 bits")
    most = max(each.record.tp for each in counts)
    if tp > most:
        return Unmeasured(f"{tp} GPUs: the counts are of at most {most}")
    errors = [each.error for each in counts]
    models = len({each.record.model for each in counts})
    return Band(
        min(errors), max(errors), f"vLLM at start on H100s, {models} dense models",
        len(errors), "with the reserve of the other models", whole=True,
    )  # fmt: skip
