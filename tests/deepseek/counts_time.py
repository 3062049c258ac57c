"""The twin's times: what a tiny model did, worked off by a machine with few rates."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.executed.overlap import COMBINE, DISPATCH, START
from llmserve_lab.deepseek.model.elementwise_kernels import (
    AT_HOME,
    OF_A_COPY,
    Kernel,
    Widths,
    attention_kernels,
    row_traffic,
)
from llmserve_lab.deepseek.model.setup import SETUPS
from llmserve_lab.engine import (
    Acceptance,
    Chunked,
    IterationCost,
    Pool,
    Report,
    Request,
    Speculation,
    simulate,
)
from llmserve_lab.formula.formula import Formula
from tests.counted import Case, Kind, counts
from tests.deepseek.clock import rounded, stream, ticks, two_halves
from tests.deepseek.works import Works, run_of

SETUP = SETUPS["9 × 8 H100"]

GIVEN = ("read_experts", "far_share")
LINKS = ("far_rate", "near_rate")


def timed(works: Works, formula: Formula, time: Fraction | float) -> Case:
    return Case(run_of(works, formula, *GIVEN), float(time))


def clocked(
    formula: Formula,
    clock: Callable[[Works], Fraction | float],
    *,
    by: Kind,
    why: str = "",
) -> None:
    """Register a time that the machine is seen to take."""

    def count(rng: random.Random) -> Case:
        works = Works(rng)
        return timed(works, formula, clock(works))

    counts(formula, by=by, why=why)(count)


executed = partial(clocked, by="executed")  # a model runs; bytes and FLOPs are metered
enumerated = partial(clocked, by="enumerated")  # kernels wait for each other in a queue
unrolled = partial(  # what the root is taken of is metered; it is found by halving
    clocked,
    by="unrolled",
    why="the root of squares is a law fitted to published kernel times",
)

executed(f.MLA_READ_S, lambda w: ticks((w.attention_bytes(), w.read_rate)))
executed(f.MLA_COMPUTE_S, lambda w: w.attention_ticks())
executed(f.ATTN_GEMM_READ_S, lambda w: w.attention_gemm_ticks()[0])
executed(f.ATTN_GEMM_COMPUTE_S, lambda w: w.attention_gemm_ticks()[1])
unrolled(f.ATTN_GEMM_S, lambda w: rounded(*w.attention_gemm_ticks()))
executed(f.ATTN_KERNEL_S, lambda w: stream(w.attention_kernel()))
enumerated(f.MLA_S, lambda w: stream(*w.mla_kernels()))
executed(f.EXPERT_READ_S, lambda w: ticks((w.expert_bytes(), w.read_rate)))
executed(f.EXPERT_COMPUTE_S, lambda w: w.expert_ticks())
unrolled(f.EXPERTS_S, lambda w: w.block_ticks()["experts_s"])
executed(f.ALL_TO_ALL_S, lambda w: seen(w, START, DISPATCH, COMBINE))
executed(f.OTHER_READ_S, lambda w: w.other_ticks()[0])
executed(f.OTHER_COMPUTE_S, lambda w: w.other_ticks()[1])
unrolled(f.OTHER_S, lambda w: w.block_ticks()["other_s"])
enumerated(f.ATTN_PHASE_S, lambda w: w.phases()[0])
enumerated(f.MOE_PHASE_S, lambda w: w.phases()[1])


@counts(f.FLIGHT_S, by="executed")
def flight_s(rng: random.Random) -> Case:
    """Every row goes to all experts; what is for other nodes takes another link."""
    works = slowly_sent(rng, even=True)
    return Case(run_of(works, f.FLIGHT_S), float(works.flight_ticks()))


def seen(works: Works, *phases: str) -> float:
    """Seconds of a turn in which these phases are under way."""
    spans = [span for span in works.turn() if span.phase in phases]
    return sum(span.end - span.start for span in spans)


def kernel_by_kernel(
    kernels: Iterable[Kernel], rows: int, works: dict[str, float]
) -> float:
    """Launch each; if it is elementwise, send every row through it."""
    spent, widths = 0.0, Widths.of(SETUP)
    for kernel in kernels:
        spent += works["launch_s"]
        if kernel.kind == "elementwise":
            spent += sum(kernel.moved(widths) for _ in range(rows)) / works["read_rate"]
    return spent


def launched(rng: random.Random, form: str) -> dict[str, float]:
    """A few rows of DeepSeek-V3 on a slow GPU."""
    size = {"batch": rng.randint(1, 3), "chunk": rng.randint(1, 3), "top_k": 4}
    rates = {"read_rate": 1e9 * rng.randint(1, 9), "launch_s": 1e-4 * rng.randint(1, 9)}
    return row_traffic(SETUP, form) | size | rates


@counts(f.ATTN_ELEMENTWISE_S, by="enumerated")
def attn_elementwise_s(rng: random.Random) -> Case:
    """Layer by layer, kernel by kernel of a list that the formula knows as a sum."""
    form = rng.choice(("absorbed", "vanilla"))
    known = launched(rng, form)
    rows, kernels = int(known["batch"] * known["chunk"]), attention_kernels(form)
    layers = range(SETUP.model.n_layers)
    spent = sum(kernel_by_kernel(kernels, rows, known) for _ in layers)
    return Case(f.ATTN_ELEMENTWISE_S.given(known), spent)


@counts(f.MOE_ELEMENTWISE_S, by="enumerated")
def moe_elementwise_s(rng: random.Random) -> Case:
    """The same: rows at home, and every copy that the busiest GPU gets of them."""
    known = launched(rng, "absorbed")
    hot = rng.randint(1, 3)  # times what a GPU gets on average
    rows = int(known["batch"] * known["chunk"])
    copies = sum(1 for _ in range(rows) for _ in range(int(known["top_k"]) * hot))
    known["balancedness"] = 1 / hot
    spent = 0.0
    for _ in range(SETUP.experts.n_dense_layers, SETUP.model.n_layers):
        spent += kernel_by_kernel(AT_HOME, rows, known)
        spent += kernel_by_kernel(OF_A_COPY, copies, known)
    return Case(f.MOE_ELEMENTWISE_S.given(known), spent)


@counts(f.SHARP_S, by="enumerated")
def sharp_s(rng: random.Random) -> Case:
    """Both begin together; the block ends when the second of them has."""
    busy = {unit: Fraction(rng.randint(1, 9)) for unit in ("memory", "compute")}
    values = {"block_read_s": busy["memory"], "block_compute_s": busy["compute"]}
    return Case({k: float(v) for k, v in values.items()}, float(stream(busy)))


@counts(f.TURN_S, by="executed")
def turn_s(rng: random.Random) -> Case:
    """Layer after layer as the page plays it; the rest and the host come last."""
    works = Works(rng)
    rest = float(works.block_ticks()["other_s"]) + works.host_s
    return timed(works, f.TURN_S, works.turn()[-1].end + rest)


@counts(f.HIDDEN_S, by="enumerated")
def hidden_s(rng: random.Random) -> Case:
    """For each batch another is sent beside it; both must be through."""
    works, clock = slowly_sent(rng), Fraction(0)
    block, (attention, experts, *_) = works.block_ticks(), works.phases()
    for _ in range(works.n_batches):
        device = clock + attention + experts
        clock = sorted([device, clock + block["all_to_all_s"]])[-1] + block["other_s"]
    return timed(works, f.HIDDEN_S, clock + works.host_s)


def slowly_sent(rng: random.Random, *, even: bool = False) -> Works:
    """Works whose links are slow or not, so that either time may be the longer one."""
    works = Works(rng, even=even)
    slow = 2.0 ** -rng.randint(0, 6)
    works.values |= {link: works.values[link] * slow for link in LINKS}
    return works


@counts(f.STAGES_S, by="enumerated")
def stages_s(rng: random.Random) -> Case:
    """Two halves on a GPU and its ports, event by event; neither slows the other."""
    works = slowly_sent(rng)
    return timed(works, f.STAGES_S, two_halves(*works.phases(), Fraction(0)))


@counts(f.HALVES_S, by="enumerated")
def halves_s(rng: random.Random) -> Case:
    """The same, slowing each other down; starts and the rest once for each half."""
    works = slowly_sent(rng)
    clock = two_halves(*works.phases(), Fraction(works.overlap_slowdown))
    for _ in ("A", "B"):
        clock += works.transfer_starts_s + works.block_ticks()["other_s"]
    return timed(works, f.HALVES_S, clock + works.host_s)


@dataclass(frozen=True)
class Served:
    """Requests decoded by the engine in steps of one length; all drafts are kept."""

    n_requests: int
    accepted: int
    step_s: float
    report: Report

    @classmethod
    def drawn(cls, rng: random.Random) -> Served:
        """A few requests for some steps, all prompts read in the first iteration."""
        n_requests, accepted, steps = (rng.randint(1, 5) for _ in range(3))
        step_s = rng.randint(1, 9) / 100
        drafts = Speculation(accepted - 1, Acceptance(1.0)) if accepted > 1 else None
        cost = IterationCost(weights_s=step_s, row_s=1e-9)
        tokens = 1 + accepted * steps
        asked = [
            Request(arrival_s=0.0, prompt_len=4, output_len=tokens, id=each)
            for each in range(n_requests)
        ]
        pool = Pool(cost, Chunked(64), kv_blocks=99, speculation=drafts)
        return cls(n_requests, accepted, step_s, simulate(asked, pool))

    def tokens_per_s(self) -> list[float]:
        """Tokens that each request got after its first, over the time it took."""
        report = self.report
        took = report.last_token_s - report.first_token_s
        return [float(each) for each in (report.output_len - 1) / took]


@counts(f.USER_TOKENS_PER_S, by="executed")
def user_tokens_per_s(rng: random.Random) -> Case:
    """Serve requests, and look at what the last of them got."""
    served = Served.drawn(rng)
    values = {"accepted": served.accepted, "twin_step_s": served.step_s}
    return Case(values, served.tokens_per_s()[-1])


@counts(f.GPU_TOKENS_PER_S, by="executed")
def gpu_tokens_per_s(rng: random.Random) -> Case:
    """Serve requests, and add up what all of them got."""
    served = Served.drawn(rng)
    values = {"accepted": served.accepted, "twin_step_s": served.step_s}
    values |= {"gpu_requests": served.n_requests}
    return Case(values, sum(served.tokens_per_s()))


@counts(f.SPLIT, by="enumerated")
def split(rng: random.Random) -> Case:
    """Deal requests out in turn, as often as there are batches; look at each batch."""
    batches = rng.randint(1, 4)
    requests = batches * rng.randint(1, 9)
    dealt = [0] * batches
    for index in range(requests):
        dealt[index % batches] += 1
    (each,) = set(dealt)
    return Case({"gpu_requests": requests, "n_batches": batches}, each)
