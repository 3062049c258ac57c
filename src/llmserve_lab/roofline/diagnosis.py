"""Which kind of load a server has, by what it uses and what it could still share."""

from __future__ import annotations

from llmserve_lab.roofline import formulas as f
from llmserve_lab.running_example import ideal

HIGH_MBU, HIGH_MFU, FULL_CACHE = 0.5, 0.25, 0.95  # rules of thumb, by which to diagnose


def diagnosis(
    mbu: float,
    mfu: float,
    cache_usage: float = 0.0,
    *,
    cached: float = 0.0,
    gaps: bool = True,
) -> str:
    """Kind of load, by rules of thumb; every pair of shares has exactly one.

    Args:
        mbu: share of the datasheet's bandwidth in use.
        mfu: share of the datasheet's compute in use.
        cache_usage: share of the cache's memory that is taken. A full one is asked for
            first: it is read in every iteration, so that MBU is usually high as well.
        cached: tokens in all caches together. Once they outweigh the weights, a larger
            batch has little left to share. Rows need not be asked for: beyond the ridge
            a high MBU with a low MFU means that the caches outweigh the weights.
        gaps: whether a trace shows time between kernels in which the GPU waits. If it
            shows none and both shares are low, the kernels themselves are slow.
    """
    if cache_usage >= FULL_CACHE:
        return "out of room"
    kinds = {
        (True, False): f"memory-bound by {_read_longer(cached)}",
        (True, True): "mixed",
        (False, True): "compute-bound",
        (False, False): "overhead-bound" if gaps else "slow kernels",
    }
    return kinds[mbu >= HIGH_MBU, mfu >= HIGH_MFU]


def _read_longer(cached: float) -> str:
    """Whether a memory-bound batch still has weights to share."""
    short = cached < float(f.CROSSOVER_TOKENS.at(ideal()))
    return "weights" if short else "caches"
