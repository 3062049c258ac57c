"""The page's worked numbers: one decode step of the standing example, part by part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.executed.overlap import LayerTimes, layer_times
from llmserve_lab.deepseek.formulas import FLIGHT_S
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from llmserve_lab.deepseek.model.step_model import Twin

PLACE, GPUS = SETUPS["9 × 8 H100"], 72
MANY, FEW, CONTEXT = 256, 32, 2000  # requests on a GPU, tokens in each cache
MORE = 64  # requests, the second point of a line
MS = 1e3


@cache
def twin(overlap: Overlap = "halves", ep: int = GPUS) -> Twin:
    """The twin of the standing example, or of a group of so many H100s."""
    place = PLACE if ep == GPUS else setup("h100-sxm", ep)
    return Twin(setup=place, assumptions=replace(book_assumptions(), overlap=overlap))


def step_ms(
    requests: int, overlap: Overlap, context: float = CONTEXT, ep: int = GPUS
) -> float:
    """Milliseconds of a decode step of so many requests on every GPU."""
    return MS * float(twin(overlap, ep).step_s(batch=requests, context=context))


def faster_ms(requests: int, context: float = CONTEXT, ep: int = GPUS) -> float:
    """Milliseconds of such a step in the faster of the two schedules."""
    ways: tuple[Overlap, ...] = ("none", "halves")
    return min(step_ms(requests, way, context, ep) for way in ways)


def fewest(context: float = CONTEXT, ep: int = GPUS) -> int:
    """Requests on a GPU from which two halves are faster than one batch."""
    return next(
        n
        for n in range(1, MANY)
        if step_ms(n, "halves", context, ep) < step_ms(n, "none", context, ep)
    )


@dataclass(frozen=True)
class StepLine:
    """Milliseconds of one batch against its requests, a line through two steps."""

    few_ms: float
    more_ms: float

    @property
    def each_ms(self) -> float:
        """What a request adds."""
        return (self.more_ms - self.few_ms) / (MORE - FEW)

    @property
    def always_ms(self) -> float:
        """What every step costs."""
        return self.few_ms - FEW * self.each_ms

    def room(self, target_ms: float) -> float:
        """Requests that a target leaves time for."""
        return (target_ms - self.always_ms) / self.each_ms

    def at(self, requests: float) -> float:
        """The step of so many requests."""
        return self.always_ms + requests * self.each_ms

    def meets(self, other: StepLine) -> float:
        """Requests with which both steps take equally long."""
        saved = self.always_ms - other.always_ms
        return saved / (other.each_ms - self.each_ms)


def line(ep: int, context: float) -> StepLine:
    """One batch on so many H100s, by the whole twin with few requests and with more."""
    return StepLine(*(step_ms(n, "none", context, ep) for n in (FEW, MORE)))


@dataclass(frozen=True)
class WithinTarget:
    """Requests in both schedules, and rates, if all steps err alike."""

    predicted_ms: float
    one_batch: int
    one_batch_rate: float
    halves: int
    halves_rate: float


def within_target(context: float, target_ms: float, error: float) -> WithinTarget:
    """The standing group at a target, if steps are predicted with this error."""
    found: list[float] = []
    ways: tuple[Overlap, ...] = ("none", "halves")
    for way in ways:
        one = twin(way)
        n = one.batch_at(MS / (target_ms * (1 + error)), context=context)
        found += [n, n * MS / step_ms(n, way, context) * (1 + error) if n else 0.0]
    return WithinTarget(
        target_ms * (1 + error), int(found[0]), found[1], int(found[2]), found[3]
    )


@dataclass(frozen=True)
class BreakEven:
    """Two halves against one batch, by hand: what a half repeats, what it can hide.

    Milliseconds; ``wire`` is of one request on a GPU, ``slowdown`` what hiding costs.
    """

    reading: float
    launches: float
    starts: float
    wire: float
    slowdown: float

    @property
    def repeated(self) -> float:
        """What the second half does once more, with however few requests."""
        return self.reading + self.launches + self.starts

    @property
    def requests(self) -> float:
        """Requests on a GPU whose hidden time pays for what is repeated."""
        return self.repeated / (self.wire * (1 - self.slowdown))


def break_even(ep: int = GPUS) -> BreakEven:
    """What a group of H100s repeats in two halves, and hides for each request."""
    one = twin("none", ep)
    known = one.settled(one.arguments(batch=1.0, context=float(CONTEXT)))
    names = ("mla_params", "other_params")  # one byte each, as all weights
    held = float(known["local_experts"]) + float(known["n_shared"])
    read = sum(float(known[name]) for name in names)
    read += held * float(known["expert_stack"])
    launched = float(known["attn_launches"]) + float(known["moe_launches"])
    return BreakEven(
        reading=MS * read / float(known["read_rate"]),
        launches=MS * launched * float(known["launch_s"]),
        starts=MS * float(known["transfer_starts_s"]),
        wire=MS * float(FLIGHT_S.reusing(known)),
        slowdown=float(known["overlap_slowdown"]),
    )


def in_bf16_ms(requests: int) -> float:
    """Milliseconds at most that LM head and up-projection add, where kept in BF16.

    The twin reads both at one byte a parameter and computes both at the rate of FP8;
    in BF16 each is read at two, and computed at half the rate.
    """
    one = twin("none")
    known = one.settled(one.arguments(batch=float(requests), context=float(CONTEXT)))
    params = float(known["table_params"]) + float(known["up_params"])
    read = params / float(known["read_rate"])
    return MS * (read + 2 * params * requests / float(known["gemm_rate"]))


def blocks_ms(requests: int = MANY) -> dict[str, float]:
    """Milliseconds of each part of a step, one batch after another."""
    found = twin("none").blocks(batch=requests, context=CONTEXT)
    return {name: MS * float(seconds) for name, seconds in found.items()}


def layer_ms(overlap: Overlap, requests: int = MANY) -> LayerTimes:
    """One layer of one batch in flight, in milliseconds."""
    found = layer_times(twin(overlap), batch=requests, context=CONTEXT)
    times = {name: MS * at for name, at in vars(found).items() if name != "slowdown"}
    return LayerTimes(**times, slowdown=found.slowdown)


@dataclass(frozen=True)
class Halves:
    """One layer of two halves: four stages, what slowing down adds, and the starts.

    Milliseconds; ``stages`` in the order in which they follow each other.
    """

    stages: tuple[float, ...]
    slowed: float
    starts: float

    @property
    def layer(self) -> float:
        """Milliseconds of a layer of both halves."""
        return sum(self.stages) + self.slowed + self.starts


def halves_ms(requests: int = MANY) -> Halves:
    """A layer of two halves, stage by stage: the longer of what runs side by side."""
    of = layer_ms("halves", requests)
    pairs = (
        (of.attention, of.dispatch),
        (of.experts, of.dispatch),
        (of.experts, of.combine),
        (of.attention, of.combine),
    )
    slowed = of.slowdown * sum(map(min, pairs))
    return Halves(tuple(map(max, pairs)), slowed, len(pairs) * of.start)


def idle_share(overlap: Overlap, requests: int = MANY) -> float:
    """Share of a layer in which the GPU neither computes nor starts a transfer.

    In two halves it computes more slowly while bytes fly, and so for longer.
    """
    of = layer_ms(overlap, requests)
    computes = of.attention + of.experts
    if overlap == "none":
        return 1 - (computes + 2 * of.start) / one_batch_ms(requests)
    made = halves_ms(requests)
    return 1 - (2 * computes + made.slowed + made.starts) / made.layer


def one_batch_ms(requests: int = MANY) -> float:
    """Milliseconds of a layer of one batch, one phase after another."""
    of = layer_ms("none", requests)
    return of.attention + of.dispatch + of.experts + of.combine + 2 * of.start
