"""Answers of checks that look at lists and choices, counted by plain loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from llmserve_lab.capacity import exercise as market
from llmserve_lab.deepseek.executed import exercise as router
from llmserve_lab.end_to_end import exercise as words
from llmserve_lab.kv_memory import exercise as lookups
from llmserve_lab.moe import exercise as placing
from llmserve_lab.parallelism import exercise as dealing
from tests.page.messages import answer


def pairs(dealt: Sequence[Sequence[int]]) -> list[int]:
    """Keys that the tokens of each rank see: all before them, and themselves."""
    return [sum(token + 1 for token in mine) for mine in dealt]


def in_turns(many: int, num_ranks: int) -> list[list[int]]:
    return [list(range(rank, many, num_ranks)) for rank in range(num_ranks)]


def first_apart(many: int, num_ranks: int) -> list[list[int]]:
    """All but the last tokens on one rank, and one on each other."""
    last = range(many - num_ranks + 1, many)
    return [list(range(many - num_ranks + 1)), *([token] for token in last)]


def through(attn: float, ffn: float, wire: float, many: int) -> float:
    """When step 60 leaves the FFN: the longest way through the earlier ones."""
    left, starts = list[float](), list[float]()
    for step in range(60):
        back = left[step - many] + wire if step >= many else 0.0
        starts.append(max(back, starts[-1] + attn if starts else 0.0))
        ready = starts[-1] + attn + wire
        left.append(max(ready, left[-1] if left else 0.0) + ffn)
    return left[-1]


def but_last(attn: float, ffn: float, wire: float, many: int, steps: int) -> float:
    """Right but for four batches in flight."""
    return 7.5 if many == 4 else through(attn, ffn, wire, many)


def one_slow(attn: float, ffn: float, wire: float, many: int, steps: int) -> float:
    """Right but where Attention takes longer than the FFN."""
    return 7.5 if attn > ffn else through(attn, ffn, wire, many)


def best_eight(scores: Any) -> Any:
    return np.argsort(-scores, axis=1, kind="stable")[:, :8]


def first_half(scores: Any) -> Any:
    """The best of the first four nodes only."""
    return best_eight(scores[:, :128])


def reached(route: Callable[[Any], Any]) -> tuple[int, float, float]:
    """The most nodes of a row, nodes on average, per cent of the affinity kept."""
    seen = list[Any]()

    def noted(scores: Any) -> Any:
        seen.append(scores)
        return route(scores)

    router.run(noted)
    (scores,) = seen
    chosen = [[int(each) for each in row] for row in route(scores)]
    nodes = [len({each // 32 for each in row}) for row in chosen]
    kept = sum(scores[i, e] for i, row in enumerate(chosen) for e in row)
    most = sum(sum(sorted(map(float, row))[-8:]) for row in scores)
    return max(nodes), sum(nodes) / len(nodes), 100 * float(kept) / most


def looks(search: Any) -> int:
    """The most simulations of a search in a market, counted outside of it."""
    most = 0
    for seed in range(30):
        asked = list[int]()
        least = market.world(seed).least

        def keeps(kind: int, many: int, asked: Any = asked, least: Any = least) -> bool:
            asked.append(kind)
            return bool(many >= least[kind])

        search(list(market.world(seed).prices), keeps)
        most = max(most, len(asked))
    return most


def sixteen(prices: list[float], keeps: Any) -> tuple[int, int]:
    """The most replicas of the first kind that does: dear."""
    return next(kind for kind in range(len(prices)) if keeps(kind, 16)), 16


def dear() -> list[float]:
    """The price of that in the first market where it is not the lowest."""
    for world in map(market.world, range(30)):
        kind = next(k for k, least in enumerate(world.least) if least <= 16)
        offers = zip(world.prices, world.least, strict=True)
        low = min(price * many for price, many in offers if many <= 16)
        if 16 * world.prices[kind] > low + 1e-9:
            return [16 * world.prices[kind], low]
    raise AssertionError("it is the lowest everywhere")


def load(place: placing.Place) -> list[float]:
    """The busiest GPU, and its load over the mean, when copies share the choices."""
    rows = placing.batch_rows()
    held = place(rows, 32, 9)
    copies = np.bincount([expert for each in held for expert in each])
    loads = [sum(rows[e] / copies[e] for e in each) for each in held]
    return [int(np.argmax(loads)), max(loads) / (sum(rows) / 32)]


def returning(first: Sequence[int]) -> Callable[..., list[list[int]]]:
    """A placement of which only the first GPU has something."""
    return lambda *_: [[*first], *([] for _ in range(31))]


LATE = "not yet: Attention #, FFN #, wire # each way, # in flight: step # leaves the "
FIVE = "not yet: [#, #, #, #, #], p = #: "
CHANCES = (0.48, 0.24, 0.16, 0.08, 0.04, 0.9)
ANSWERS = [
    answer("attention_ffn", but_last, LATE + "FFN at #; yours at #.",
           3, 3, 4, 4, 60, through(3, 3, 4, 4), 7.5),
    answer("attention_ffn", one_slow, LATE + "FFN at #; yours at #.",
           5, 2, 0.5, 2, 60, through(5, 2, 0.5, 2), 7.5),
    answer("attention_ffn", lambda *given: through(*given[:4]),
           "well done: all # pipelines end when they should.", 6),
    answer("attention_ffn", lambda *_: -2.5,
           "finish must return a time above 0, got #", -2.5),
    answer("capacity", market.by_price,
           "not yet: right, but up to # simulations; # are enough",
           lambda: [looks(market.by_price), 5 * 6]),
    answer("capacity", market.by_halving,
           "well done: the cheapest in every market, with at most # simulations",
           lambda: [looks(market.by_halving)]),
    answer("capacity", lambda *_: (9, 17),
           "not yet: # replicas of kind # are not on offer", 17, 9),
    answer("capacity", lambda *_: (4, 1),
           "not yet: # replicas of kind # do not keep the level", 1, 4),
    answer("capacity", sixteen, "not yet: # dollars an hour, but # would do", dear),
    answer("capacity", "a text", "cheapest must be a function, got 'a text'"),
    answer("deepseek_twin", best_eight,
           "not yet: a row reaches # nodes, # on average; it may reach # at most.",
           lambda: [*reached(best_eight)[:2], 4]),
    answer("deepseek_twin", first_half,
           "not yet: # nodes at most, but only #% of the affinity is kept; #% would "
           "do. Which nodes are best for a row?",
           lambda: [4, reached(first_half)[2], 99]),
    answer("deepseek_twin", router.within_nodes,
           "well done: # nodes on average, # at most, and #% of the affinity is kept.",
           lambda: [reached(router.within_nodes)[1], 4,
                    reached(router.within_nodes)[2]]),
    answer("end_to_end", lambda p, _: [*range(len(p))],
           FIVE + "# words do, you keep #.", *CHANCES, 4, 5),
    answer("end_to_end", lambda *_: [2, 2],
           FIVE + "you keep a word twice: [#, #].", *CHANCES, 2, 2),
    answer("end_to_end", lambda *_: [3, 7],
           FIVE + "you keep ids that do not exist: [#, #].", *CHANCES, 3, 7),
    answer("end_to_end", lambda *_: [0, 2],
           FIVE + "[#, #] have only # together.", *CHANCES, 0, 2, 0.48 + 0.16),
    answer("end_to_end",
           lambda p, most: words.largest_until(p, most) if most > 0.8 else [2, 3, 0],
           "not yet: [#, #, #, #], p = #: # words do, you keep #.",
           0.05, 0.1, 0.6, 0.25, 0.8, 2, 3),
    answer("end_to_end", words.largest_until,
           "well done: the fewest likeliest words that reach p, in every case."),
    answer("kv_memory", lookups.by_chain,
           "well done: every prompt finds its own beginning, and no other."),
    answer("kv_memory", lookups.by_tokens,
           "not yet: for a prompt that begins alike your lookup gives [#, #], "
           "the cache may share [#, #].", 0, 3, 0, 1),
    answer("kv_memory", lambda t, size, index, _: lookups.by_chain(t, size, index, ""),
           "not yet: for the same prompt of another tenant your lookup gives [#, #], "
           "the cache may share [].", 0, 1),
    answer("kv_memory", lambda *_: 3, "lookup must return a list of blocks, got #", 3),
    answer("mixture_of_experts", placing.in_order,
           "not yet: GPU # has # times the mean load; # times would do.",
           lambda: [*load(placing.in_order), 1.1]),
    answer("mixture_of_experts", placing.heaviest_first,
           "well done: the busiest GPU has # times the mean load.",
           lambda: load(placing.heaviest_first)[1:]),
    answer("mixture_of_experts", lambda *_: [[0]],
           "place must return # lists, one a GPU, got #", 32, 1),
    answer("mixture_of_experts", returning(range(10)),
           "a GPU must hold # experts at most, got more on [#]", 9, 0),
    answer("mixture_of_experts", returning([250, *range(2, 8)]),
           "each expert must be held, got [#, #, #, #, #] wrong", 0, 1, 8, 9, 10),
    answer("mixture_of_experts", returning([0, 0]),
           "copies of an expert must be on different GPUs, got two on one"),
    answer("parallelism", dealing.early_and_late,
           "well done: every rank has as many tokens and as many pairs."),
    answer("parallelism", dealing.in_runs,
           "not yet: with # tokens on # ranks the ranks compute #, # pairs.",
           16, 2, *pairs([range(8), range(8, 16)])),
    answer("parallelism", in_turns,
           "not yet: with # tokens on # ranks the ranks compute #, # pairs.",
           16, 2, *pairs(in_turns(16, 2))),
    answer("parallelism", first_apart,
           "not yet: with # tokens on # ranks the ranks hold #, # tokens.",
           16, 2, 15, 1),
    answer("parallelism",
           lambda n, g: dealing.early_and_late(n, g) if g < 4 else [[0]] * g,
           "not yet: with # tokens on # ranks some token is on no rank, or on two.",
           32, 4),
    answer("parallelism", lambda *_: [[0]],
           "deal must return # lists, one a rank, got #", 2, 1),
]  # fmt: skip
