"""The reader's own placement: which GPU holds which experts, popular ones twice.

The check deals the choices of a batch out to the copies of each expert and says what is
still wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmserve_lab.moe.routing_sampler import popular

Held = list[list[int]]
Place = Callable[[Sequence[int], int, int], Held]
GPUS, SEATS, MOST = 32, 9, 1.1  # seats of each GPU; accepted load over the mean


def batch_rows() -> list[int]:
    """Choices that fall on each of 256 experts, a few of them popular."""
    rows = popular(n_experts=256, n_rows=4096, top_k=8, steepness=0.8)
    return [int(each) for each in rows]


def in_order(rows: Sequence[int], num_gpus: int, seats: int) -> Held:
    """Equal slices of the experts; a seat of each GPU stays free."""
    each = len(rows) // num_gpus
    return [list(range(gpu * each, (gpu + 1) * each)) for gpu in range(num_gpus)]


def heaviest_first(rows: Sequence[int], num_gpus: int, seats: int) -> Held:
    """Copies for the busiest, then the heaviest copy to the GPU with the least load."""
    copies = [1] * len(rows)
    for _ in range(num_gpus * seats - len(rows)):
        share = [count / many for count, many in zip(rows, copies, strict=True)]
        copies[share.index(max(share))] += 1
    share = [count / many for count, many in zip(rows, copies, strict=True)]
    held: Held = [[] for _ in range(num_gpus)]
    load = [0.0] * num_gpus
    for expert in sorted(range(len(rows)), key=lambda e: -share[e]):
        for _ in range(copies[expert]):
            free = [g for g in range(num_gpus) if len(held[g]) < seats]
            gpu = min((g for g in free if expert not in held[g]), key=load.__getitem__)
            held[gpu].append(expert)
            load[gpu] += share[expert]
    return held


def check(place: Place) -> str:
    """What is still wrong with a placement, or that all is well.

    Raises:
        ValueError: the placement breaks a rule; the message says which.
    """
    rows = batch_rows()
    held = place(rows, GPUS, SEATS)
    _require(held, len(rows))
    copies = [sum(expert in each for each in held) for expert in range(len(rows))]
    load = [sum(rows[e] / copies[e] for e in each) for each in held]
    over = max(load) * GPUS / sum(load)
    busiest = load.index(max(load))
    if over > MOST:
        return (
            f"not yet: GPU {busiest} has {over:.2f} times the mean load;\n"
            f"{MOST:g} times would do."
        )
    return f"well done: the busiest GPU has {over:.2f} times the mean load."


def _require(held: Held, n_experts: int) -> None:
    """Every expert somewhere, none twice on a GPU, and no more than there are seats."""
    if len(held) != GPUS:
        raise ValueError(f"place must return {GPUS} lists, one a GPU, got {len(held)}")
    if full := [gpu for gpu, each in enumerate(held) if len(each) > SEATS]:
        raise ValueError(f"a GPU must hold {SEATS} experts at most, got more on {full}")
    if any(len(set(each)) < len(each) for each in held):
        raise ValueError(
            "copies of an expert must be on different GPUs, got two on one"
        )
    if missing := set(range(n_experts)) ^ {e for each in held for e in each}:
        raise ValueError(f"each expert must be held, got {sorted(missing)[:5]} wrong")
