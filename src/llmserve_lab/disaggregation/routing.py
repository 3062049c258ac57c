"""Which decode GPU? Topology-aware, load-aware and prefix-aware routing, played.

A prompt has been read; its cache must go to one of four decode GPUs. Two stand in the
same node, two beyond InfiniBand. Each may hold the prompt's beginning already, and each
admits one request after the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from llmserve_lab import catalog
from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.formula.text import si
from llmserve_lab.running_example import cost, share

NEAR, FAR = "nvlink4", "infiniband-ndr"
TALKS, HOLDS = 12, 3  # conversations in all, and of which a GPU keeps the caches
SHARED, FRESH = 6000, 2000  # tokens of a prompt: said before, and new
BUSY_S = 0.020  # the time for which an admitted request keeps the next one waiting
PER_S = 80.0  # requests that arrive, for four GPUs


@dataclass
class DecodeGpu:
    """A decode GPU: its link, until when it is busy, and the prefixes that it holds."""

    name: str
    link: str
    free_s: float = 0.0  # when the next one can be admitted
    held: list[int] = field(default_factory=list)

    def keep(self, talk: int) -> None:
        """Hold a conversation's cache; the one not used for longest goes."""
        self.held = [*(each for each in self.held if each != talk), talk][-HOLDS:]

    def missing(self, talk: int) -> int:
        """Tokens of a conversation's next prompt that have to be sent."""
        return FRESH if talk in self.held else SHARED + FRESH

    def transfer_s(self, talk: int) -> float:
        """Time to send them over this GPU's link."""
        link = catalog.link(self.link)
        per_s = float(link.bandwidth) * float(share().link)
        return self.missing(talk) * cost().kv_bytes_per_token / per_s

    def queue_s(self, now_s: float) -> float:
        """How long it is still busy."""
        return max(0.0, self.free_s - now_s)

    def delay_s(self, talk: int, now_s: float) -> float:
        """Until the request can decode: the cache is sent while the queue drains."""
        return max(self.queue_s(now_s), self.transfer_s(talk))


Router = Callable[[Sequence[DecodeGpu], int, float], DecodeGpu]


def nearest(places: Sequence[DecodeGpu], talk: int, now_s: float) -> DecodeGpu:
    """The fastest link; of several, the GPU that is free first."""
    near = [place for place in places if place.link == NEAR]
    return min(near, key=lambda place: place.free_s)


def least_loaded(places: Sequence[DecodeGpu], talk: int, now_s: float) -> DecodeGpu:
    """The GPU that is free first; of several, the first."""
    return min(places, key=lambda place: place.queue_s(now_s))


def most_cached(places: Sequence[DecodeGpu], talk: int, now_s: float) -> DecodeGpu:
    """The GPU that needs the fewest tokens; of several, the one that is free first."""
    return min(places, key=lambda place: (place.missing(talk), place.free_s))


def soonest(places: Sequence[DecodeGpu], talk: int, now_s: float) -> DecodeGpu:
    """The GPU that can decode first: the longer of its queue and the transfer."""

    def until_it_decodes_s(place: DecodeGpu) -> float:
        return max(place.queue_s(now_s), place.transfer_s(talk))

    return min(places, key=until_it_decodes_s)


ROUTERS: dict[str, Router] = {
    "least loaded": least_loaded,
    "nearest": nearest,
    "most cached": most_cached,
    "soonest": soonest,
}


@dataclass(frozen=True)
class Sent:
    """One decision: what was asked, where it went, and what each GPU would have cost.

    ``queues_s`` and ``transfers_s`` are those of every GPU, ``holders`` the names of
    the GPUs that held the conversation's beginning.
    """

    at_s: float
    talk: int
    place: str
    tokens: int
    queue_s: float
    delay_s: float
    queues_s: tuple[float, ...]
    transfers_s: tuple[float, ...]
    holders: tuple[str, ...]


def four() -> list[DecodeGpu]:
    """Two GPUs in the node of the prefill, two in another."""
    return [DecodeGpu(f"D{i + 1}", NEAR if i < 2 else FAR) for i in range(4)]


def routed(router: Router, *, num_requests: int, seed: int = 0) -> list[Sent]:
    """Send requests of a few conversations, one after the other.

    Raises:
        ValueError: the router returned something that is no place.
    """
    whole(of="request", most=MOST_PLAYED, num_requests=num_requests)
    rng, places, now_s = random.Random(seed), four(), 0.0
    found = []
    for _ in range(num_requests):
        now_s += rng.expovariate(PER_S)
        talk = rng.randrange(TALKS)
        chosen = router(places, talk, now_s)
        if not any(chosen is place for place in places):
            raise ValueError(f"router must return one of the places, got {chosen!r}")
        delay_s, tokens = chosen.delay_s(talk, now_s), chosen.missing(talk)
        queues = tuple(place.queue_s(now_s) for place in places)
        sending = tuple(place.transfer_s(talk) for place in places)
        holders = tuple(place.name for place in places if talk in place.held)
        queue_s = chosen.queue_s(now_s)
        chosen.free_s = now_s + delay_s + BUSY_S
        chosen.keep(talk)
        costs = (queues, sending, holders)
        row = Sent(now_s, talk, chosen.name, tokens, queue_s, delay_s, *costs)
        found.append(row)
    return found


def mean_delay_s(router: Router, *, num_requests: int = 400, seed: int = 0) -> float:
    """Mean time from the end of the prefill until the request can decode."""
    sent = routed(router, num_requests=num_requests, seed=seed)
    return sum(each.delay_s for each in sent) / len(sent)


def check(router: Router) -> str:
    """What is still wrong with the reader's router, or "well done"."""
    mine, best = mean_delay_s(router), mean_delay_s(soonest)
    others = min(mean_delay_s(r) for r in (nearest, least_loaded, most_cached))
    said = f"the mean delay is {si(mine, 's')}"
    if mine <= 1.02 * best:
        return f"well done: {said}; the best simple rule takes {si(others, 's')}."
    return f"not yet: {said}; weighing both gives {si(best, 's')}."
