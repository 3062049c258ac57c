"""KV-cache blocks predicted: one constant, each published count left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS, BlockCount
from llmserve_lab.engine import IterationCost
from llmserve_lab.validation.unit_work import BYTES_16

UTILISATION = float(MEMORY_SHARE)
BLOCK_TOKENS = 16
DEVICE = "h100-sxm"


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


def predicted(
    counts: Sequence[BlockCount] = BLOCK_COUNTS,
) -> tuple[PredictedCount, ...]:
    """Each count from the mean reserve of all that are of another model.

    Raises:
        ValueError: all counts are of one model.
    """
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
