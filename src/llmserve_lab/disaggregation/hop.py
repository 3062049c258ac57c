"""Three requests on two GPUs, played: layers computed, sent, decoded, with times.

The engine serves them; its log says when each iteration ran. The layers of a prompt go
over the link as :func:`.kv_transfer_timeline.hand_over` sends them, and the engine's
own arrival is where the last one ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llmserve_lab import catalog
from llmserve_lab.disaggregation.kv_transfer_timeline import Layer, hand_over
from llmserve_lab.disaggregation.served import LINK
from llmserve_lab.engine import Continuous, Disaggregated, Pool, Request, simulate
from llmserve_lab.running_example import PROMPT, cost, share

ANSWERS = (9, 4, 2)  # tokens of A, of B and of C
ARRIVALS_S = (0.0, 0.001, 0.036)  # B comes while A's prompt is read, C a step later
POOLS = ("prefill", "decode")  # a GPU each
SHARED_BY = 8  # GPUs of a machine, on the one port of the slow link


@dataclass(frozen=True)
class Way:
    """How a cache is sent: over which share of a port, and whether layer by layer."""

    name: str
    ports: float
    streamed: bool


BY_LAYERS = Way("layer by layer", 1.0, True)
AT_THE_END = Way("all at the end", 1.0, False)
SLOW = Way("layer by layer, slow link", 1 / SHARED_BY, True)
WAYS = (BY_LAYERS, AT_THE_END, SLOW)


@dataclass(frozen=True)
class Played:
    """Times of one run in s: prefills and layers by request, steps and tokens."""

    prefills: Mapping[int, tuple[float, float]]
    layers: Mapping[int, tuple[Layer, ...]]
    steps: tuple[tuple[float, float, tuple[int, ...]], ...]
    tokens: Mapping[int, tuple[float, ...]]

    def arrived_s(self, number: int) -> float:
        """When the last layer of a request has come over the link."""
        return self.layers[number][-1].sent_s


def bytes_per_s(way: Way) -> float:
    """What the link reaches, one way."""
    return float(catalog.link(LINK).bandwidth) * float(share().link) * way.ports


@cache
def played(way: Way) -> Played:
    """A, B and C arrive; one GPU reads their prompts, another writes their answers."""
    split = Disaggregated(
        prefill=Pool(cost(), Continuous(max_batch=1)),
        decode=Pool(cost(), Continuous()),
        bytes_per_s=bytes_per_s(way),
        streamed=way.streamed,
    )
    log = simulate(_asked(), split, log=True, leap=False).log
    assert log is not None
    prefills = {
        each.id: (frame.start_s, frame.end_s)
        for frame in log.frames("prefill")
        for each in frame.running
    }
    steps = tuple(
        (frame.start_s, frame.end_s, tuple(each.id for each in frame.running))
        for frame in log.frames("decode")
    )
    layers = _sent(prefills, way)
    tokens = {
        number: (end, *(s[1] for s in steps if number in s[2]))
        for number, (_, end) in prefills.items()
    }
    return Played(prefills, layers, steps, tokens)


@dataclass(frozen=True)
class Shared:
    """The same requests, an engine on each GPU: steps, and when tokens come.

    A step has its start and end, the requests in it, those it reads, and its GPU.
    """

    steps: tuple[tuple[float, float, tuple[int, ...], tuple[int, ...], int], ...]

    def tokens(self, number: int) -> tuple[float, ...]:
        """When the tokens of a request come: at the end of each of its steps."""
        return tuple(end for _, end, ids, *_ in self.steps if number in ids)


@cache
def shared() -> Shared:
    """Two engines that read prompts and write answers; a request goes to the freer."""
    engines = Pool(cost(), Continuous(), replicas=len(POOLS))
    log = simulate(_asked(), engines, log=True, leap=False).log
    assert log is not None
    return Shared(
        tuple(
            (
                step.start_s,
                step.end_s,
                tuple(each.id for each in step.scheduled),
                tuple(chunk[0] for chunk in step.chunks),
                step.replica,
            )
            for step in log
        )
    )


def _asked() -> list[Request]:
    pairs = zip(ARRIVALS_S, ANSWERS, strict=True)
    return [
        Request(id=n, arrival_s=at_s, prompt_len=PROMPT, output_len=answer)
        for n, (at_s, answer) in enumerate(pairs)
    ]


def _sent(
    prefills: Mapping[int, tuple[float, float]], way: Way
) -> dict[int, tuple[Layer, ...]]:
    """The layers of each request on the link, one after the other."""
    sent_s = PROMPT * cost().kv_bytes_per_token / bytes_per_s(way)
    found: dict[int, tuple[Layer, ...]] = {}
    free_s = 0.0
    for number, (start_s, end_s) in prefills.items():
        own = hand_over(
            n_layers=cost().n_layers,
            prefill_s=end_s - start_s,
            transfer_s=sent_s,
            streamed=way.streamed,
            free_s=max(0.0, free_s - start_s),
        )
        found[number] = tuple(
            Layer(start_s + x.made_s, start_s + x.begun_s, start_s + x.sent_s)
            for x in own
        )
        free_s = found[number][-1].sent_s
    return found
