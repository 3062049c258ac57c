"""Which group size? Tokens per second of a GPU, where every user keeps a target.

For each group the largest batch is taken that fits into memory and keeps the time per
output token (TPOT), in the faster of the two schedules; where even one request does not
fit, or is too slow, there is nothing. Weights and caches share what a published decode
server on H100s gives them.

The error of a step at a given batch is not the error of the rate at a given target: if
steps are shorter than predicted, the target admits a larger batch as well. So both ends
of the step's band go through the same search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from llmserve_lab.catalog.evidence.servers import SGLANG_DECODE_SHARE
from llmserve_lab.checks import at_least, positive
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import HOW, DecodeSetting, band
from llmserve_lab.deepseek.evaluation.decode_scores import Predicted
from llmserve_lab.deepseek.model.assumptions import Assumptions, Overlap
from llmserve_lab.deepseek.model.setup import Setup, setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.band import Band, ErrorBand, Unmeasured

WAYS: tuple[Overlap, ...] = ("halves", "none")
CARRIED = f"{HOW}; both errors of a step carried through the target"
UNKNOWN = Unmeasured("if the twin errs as on measured runs, no batch keeps the target")


@dataclass(frozen=True, kw_only=True)
class ServedGroup:
    """A group of ``ep`` GPUs at its best: requests on a GPU, and its tokens per second.

    ``fits`` is how many requests fit into memory; ``halves`` whether it runs two
    batches in flight. ``band`` is that of the rate at the target.
    """

    ep: int
    batch: int
    tokens_per_s: float
    fits: int
    halves: bool
    band: ErrorBand

    @property
    def full(self) -> bool:
        """Whether memory, and not the target, limits the batch."""
        return self.batch == self.fits


ROWS = 128  # that SGLang makes room for, if it is not told another number
BUFFERS = 4  # to send and to receive, each twice, for two steps in flight
CONTROL_BYTES = 16  # beside each row
BF16_BYTES = 2


def buffer_bytes(twin: Twin, rows: int = ROWS) -> float:
    """Bytes that DeepEP's low-latency buffers take on each GPU.

    Each holds every row of a dispatch for every expert of the group, copies included,
    as wide as a combine sends it. (``LowLatencyLayout`` in the library's code.)
    """
    place = twin.setup
    experts = place.experts.n_experts + twin.n_redundant
    return float(BUFFERS * experts * rows * (2 * place.model.d_model + CONTROL_BYTES))


def served_bytes(twin: Twin) -> float:
    """Bytes of a GPU's memory that a decode server gives to weights and caches.

    The rest is for buffers of the communication library, CUDA graphs and results.
    """
    usable = float(twin.setup.accelerator.usable_bytes)
    return usable * float(SGLANG_DECODE_SHARE)


def published_bytes(twin: Twin) -> float:
    """Bytes of the weights on a GPU as they are published.

    Embedding table and LM head are in BF16, one byte more of each parameter.
    """
    return twin.resident_bytes() + 2 * float(twin.shape["table_params"])


def second_copy_bytes(twin: Twin) -> float:
    """Bytes of the copy of the up-projection that the absorbed form multiplies by."""
    return BF16_BYTES * float(twin.shape["up_params"])


def weights_bytes(twin: Twin) -> float:
    """Bytes of the weights on a GPU as SGLang holds them.

    It makes the second copy while it loads weights, so before it measures what is left
    for caches.
    """
    return published_bytes(twin) + second_copy_bytes(twin)


def fits_as_served(twin: Twin, context: float) -> int:
    """Requests whose caches fit beside the weights in a decode server's share."""
    request = context * float(twin.shape["kv_bytes_per_token"])
    return max(0, int((served_bytes(twin) - weights_bytes(twin)) // request))


def dealt_evenly(place: Setup, *, lean: bool = False) -> Assumptions:
    """The book's assumptions, with redundant experts that an engine can deal out.

    Those of the book, or the fewest where a group does not divide them; ``lean`` is the
    fewest in every group, and caches in FP8.
    """
    known = book_assumptions()
    copies = place.redundant(0 if lean else known.n_redundant)
    cache = "fp8" if lean else known.cache
    return replace(known, n_redundant=copies, cache=cache)


@cache
def served(
    accelerator: str, ep: int, *, context: float, tpot_s: float, lean: bool = False
) -> ServedGroup | None:
    """The best that a group can do within a target; None where nothing keeps it.

    ``lean`` is with the fewest redundant experts, and with caches in FP8.

    Raises:
        ValueError: ``tpot_s`` is not positive.
    """
    positive("tpot_s", tpot_s)
    place = setup(accelerator, ep)
    best = _best(place, context, tpot_s, lean=lean)
    if best is None:
        return None
    at = DecodeSetting(
        accelerator=accelerator, ep=ep, batch=best.batch, context=context
    )
    step = band("decode_step", at)
    if not isinstance(step, Band):
        return replace(best, band=step)
    ends = (
        _best(place, context, tpot_s, error, lean=lean)
        for error in (step.low, step.high)
    )
    made = [end.tokens_per_s if end else 0.0 for end in ends]
    return replace(best, band=_carried(step, best.tokens_per_s, made))


@cache
def rate_with(
    accelerator: str,
    ep: int,
    *,
    context: float,
    tpot_s: float,
    error: float,
    lean: bool = False,
) -> float:
    """Tokens/s of a GPU at a target, if every step were predicted with this error.

    Zero where no batch keeps the target then; contexts are of a token or more.
    """
    at_least("context", context, 1)
    positive("1 + error", 1 + error)
    positive("tpot_s", tpot_s)
    found = _best(setup(accelerator, ep), context, tpot_s, error, lean=lean)
    return found.tokens_per_s if found else 0.0


def _best(
    place: Setup, context: float, tpot_s: float, error: float = 0.0, *, lean: bool
) -> ServedGroup | None:
    """The best within the target, if every step were predicted with this error."""
    found, known = [], dealt_evenly(place, lean=lean)
    for overlap in WAYS:
        assumed = replace(known, overlap=overlap)
        twin = Twin(setup=place, assumptions=assumed)
        fits = fits_as_served(twin, context)
        slowest = 1 / (tpot_s * (1 + error))  # tokens/s of a user, by the twin
        batch = min(fits, twin.batch_at(slowest, context=context))
        if batch:
            rate = float(twin.gpu_tokens_per_s(batch=batch, context=context))
            found.append((rate * (1 + error), batch, fits, overlap == "halves"))
    if not found:
        return None
    rate, batch, fits, halves = max(found)
    return ServedGroup(
        ep=place.n_gpus,
        batch=batch,
        tokens_per_s=rate,
        fits=fits,
        halves=halves,
        band=UNKNOWN,
    )


def _carried(step: Band, rate: float, ends: list[float]) -> ErrorBand:
    """The band of the rate at a target, from the rates at both ends of a step's."""
    low, high = min(ends), max(ends)
    if not low:
        return UNKNOWN
    return replace(step, low=rate / high - 1, high=rate / low - 1, how=CARRIED)


@dataclass(frozen=True)
class Squeezed:
    """What a run held on a GPU, and what it takes to fit: bytes, and a share of memory.

    ``share`` is that of caches in FP8 and weights without redundant experts.
    """

    cache_bytes: float
    squeezed_bytes: float
    share: float


def squeezed(run: Predicted) -> Squeezed:
    """Caches of a decode worker in BF16 and in FP8, and the least share for it all.

    Weights as they are published: another engine may hold no second copy.
    """
    place = setup(run.run.accelerator, run.run.ep)
    lean = replace(book_assumptions(), cache="fp8", n_redundant=0)
    usual, least = (
        Twin(setup=place, assumptions=each) for each in (book_assumptions(), lean)
    )
    tokens = run.requests * run.context
    wide, narrow = (
        tokens * float(twin.shape["kv_bytes_per_token"]) for twin in (usual, least)
    )
    memory = float(place.accelerator.usable_bytes)
    return Squeezed(wide, narrow, (published_bytes(least) + narrow) / memory)
