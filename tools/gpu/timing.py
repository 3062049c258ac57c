"""The shapes of Llama-3.1-8B, and how each run is timed."""

import statistics
from collections.abc import Callable

import torch

HIDDEN, INNER, LAYERS, VOCAB = 4096, 14336, 32, 128256  # Llama-3.1-8B
HEADS, KV_HEADS, WIDTH = 32, 8, 128
GROUP = HEADS // KV_HEADS
CUDA = torch.cuda.is_available()
BF16 = torch.bfloat16 if CUDA else torch.float32  # Triton's interpreter, to try it out
FP8 = torch.float8_e4m3fn
DEVICE = "cuda" if CUDA else "cpu"
TURNS_BYTES = 512 << 20  # ten times the L2 cache of an H100


def timed(run: Callable[[int], object], turns: int = 1, repeats: int = 9) -> float:
    """Median seconds of ``run(turn)``, replayed from a graph that takes all turns."""
    if not CUDA:
        run(0)
        return 1.0
    for turn in range(min(turns, 3)):
        run(turn)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for turn in range(turns):
            run(turn)
    graph.replay()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    once = start.elapsed_time(end)
    many = max(1, min(50, int(15 / max(once, 1e-3))))
    found = [] if once < 200 else [once * 1e-3 / turns]
    for _ in range(repeats if once < 200 else 1):
        start.record()
        for _ in range(many):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / many / turns * 1e-3)
    del graph
    return statistics.median(found)


def turns_of(size: int, most: int = 64) -> int:
    """How many inputs of so many bytes take turns."""
    return max(2, min(most, -(-TURNS_BYTES // max(size, 1))))


def noise(*shape: int) -> torch.Tensor:
    """Random numbers, as a zero costs less power."""
    return torch.randn(*shape, device=DEVICE, dtype=BF16)
