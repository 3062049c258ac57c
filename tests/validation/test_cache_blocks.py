"""The band of the room for a cache holds every count that it is made of."""

import pytest

from llmserve_lab.formula.band import Band
from llmserve_lab.validation import cache_blocks


def test_the_band_holds_the_counts_of_its_own_card() -> None:
    found = cache_blocks.band("h100-sxm", "bf16", tp=2)
    assert isinstance(found, Band) and found.whole
    counts = [each for each in cache_blocks.predicted() if not each.record.usable_bytes]
    assert found.n == len(counts) < len(cache_blocks.predicted())
    for each in counts:
        low, high = found.around(float(each.blocks))
        assert low <= float(each.record.blocks) * (1 + 1e-9)
        assert high >= float(each.record.blocks) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("key", "precision", "tp", "reason"),
    [
        ("h200-sxm", "bf16", 1, "H200"),
        ("h100-sxm", "fp8", 1, "weights in 16 bits"),
        ("h100-sxm", "bf16", 8, "8 GPUs: the counts are of at most 4"),
    ],
)
def test_other_rooms_were_never_counted(
    key: str, precision: str, tp: int, reason: str
) -> None:
    found = cache_blocks.band(key, precision, tp=tp)
    assert str(found).startswith("outside everything measured") and reason in str(found)


def test_counts_refuse_by_name() -> None:
    with pytest.raises(LookupError, match="abacus"):
        cache_blocks.band("abacus", "bf16", tp=1)
    with pytest.raises(ValueError, match="tp must be at least 1, got 0"):
        cache_blocks.band("h100-sxm", "bf16", tp=0)
    with pytest.raises(ValueError, match="counts must hold at least one"):
        cache_blocks.predicted([])
