"""The lines that the chapter adds up by hand, each from the run that it explains."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS
from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.continuous_batching.lanes import longest_gap_s, whole
from llmserve_lab.continuous_batching.machine import DECODES, LONG, TARGET_S, calm
from llmserve_lab.continuous_batching.occupancy import frames, logged
from llmserve_lab.continuous_batching.workloads import four
from llmserve_lab.engine import IterationCost, IterationLoad, Static
from llmserve_lab.formula.origin import Computed
from llmserve_lab.page.table import Table
from llmserve_lab.roofline.formulas import LINEAR_FLOPS
from llmserve_lab.running_example import MODEL, PROMPT, cost, device, served_by, setting
from llmserve_lab.running_example import band as example_band
from llmserve_lab.validation import Band, Setting, Unmeasured, dense_rows, spread
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.prediction import Kind

FIRST = 2  # slots of the figure; C is the first request of the second batch


def static_wait() -> dict[str, float]:
    """C's wait in the static batch, in s: the prompts, the decodes, what is left.

    Rounded to a millisecond on the way, so that the lines add up as they are printed.
    """
    run = logged(four(), Static(FIRST), cost())
    _, b, c, _ = four()
    batch = [frame.end_s - frame.start_s for frame in frames(run)][: b.output_len]
    prompts, decodes = round(batch[0], 3), round(sum(batch[1:]), 3)
    ends = round(prompts + decodes, 3)
    wait = round(ends - c.arrival_s, 3)
    first_s, rows_s = round(batch[0], 5), round(FIRST * PROMPT * cost().row_s, 5)
    launches_s = round(cost().overhead_s + cost().prompt_s, 5)
    unhidden_s = round((1 - cost().overlap) * cost().weights_s, 5)
    return {
        "rows": rows_s,
        "launches": launches_s,
        "unhidden": unhidden_s,
        "rest": round(first_s - rows_s - launches_s - unhidden_s, 5),
        "first": first_s,
        "prompts": prompts,
        "decodes": decodes,
        "each": sum(batch[1:]) / len(batch[1:]),
        "batch": ends,
        "wait": wait,
        "ttft": round(wait + prompts, 3),
    }


def freeze() -> dict[str, float]:
    """The iteration that reads the long prompt in one piece, in s, rounded to ms."""
    machine = cost()
    linear = round(LONG * machine.row_s, 3)
    attention = round(LONG * LONG / 2 * machine.pair_s, 3)
    total = round(longest_gap_s(whole()), 3)
    other = round(total - linear - attention, 3)
    return {"linear": linear, "attention": attention, "other": other, "sum": total}


def measured_attention() -> float:
    """Share of the peak that attention reached where it was measured by itself.

    FlashAttention-3 in 16 bits, causal, at the longest prompt of its authors.
    """
    return float(CAUSAL_RUNS[max(CAUSAL_RUNS)]) / float(setting()["peak_flops"])


def freeze_at(share: float) -> float:
    """The same iteration if attention reached only ``share`` of the peak."""
    parts, reached = freeze(), float(setting()["eff_compute"])
    return parts["sum"] + parts["attention"] * (reached / share - 1)


def attention_share(model_key: str = MODEL) -> float:
    """Attention's part of computing the longest prompt that was measured, in 16 bits.

    It does not depend on the GPU.
    """
    load = IterationLoad.of(chunk=longest_measured())
    machine = served_by(catalog.model(model_key), device())
    return 1 - load.rows * machine.row_s / machine.compute_s(load)


def chunk_parts(prefix: int, machine: IterationCost | None = None) -> dict[str, float]:
    """The inequality of the chunk with numbers in it, after ``prefix`` tokens.

    Launches are each made by themselves, unless a ``machine`` makes them otherwise.
    """
    machine = machine or cost()
    beside = calm()
    fixed_s = machine.overhead_s + machine.prompt_s
    fixed_s += (DECODES + 1) * machine.request_s
    hidden_s = (1 - machine.overlap) * machine.weights_s
    rest_s = fixed_s + hidden_s + machine.compute_s(beside)
    rest_s += (beside.kv_tokens + prefix) * machine.kv_token_s
    return {
        "row": machine.row_s,
        "pair": machine.pair_s,
        "line": machine.row_s + machine.pair_s * (prefix + 0.5),
        "rest": rest_s,
        "left": TARGET_S - rest_s,
        "chunk": float(machine.chunk_within(TARGET_S, load=beside, context=prefix)),
    }


def prompt_runs() -> Setting:
    """The measured runs nearest to the long prompt, in time to first token.

    Of smaller models no run has a public protocol, of longer prompts there is none.
    """
    public = [row for row in dense_rows() if row.public]
    return Setting.on(
        "llama-3-70b",
        "h200-sxm",
        tp=1,
        clients=DECODES,
        prompt_len=max(row.prompt_len for row in public),
        output_len=min(row.output_len for row in public),
        precision="fp8",
    )


def prompt_band() -> Band:
    """Errors of the time to first token on those runs, the middle nine tenths.

    Raises:
        LookupError: nothing like them was measured.
    """
    found = spread("ttft", prompt_runs())
    if not isinstance(found, Band):
        raise UnknownKeyError(f"runs must be measured ones, got {found.reason}")
    return found


def prompt_error(prompt_len: int = LONG) -> Band | Unmeasured:
    """Error band of the time to first token here, of the long prompt by default."""
    return example_band("ttft", clients=DECODES, prompt_len=prompt_len)


def beside_two_rows_s(machine: IterationCost | None = None) -> float:
    """The decodes and, beside them, the first two rows of a prompt."""
    beside = calm()
    return (machine or cost()).seconds(beside.plus(IterationLoad.of(chunk=2)))


def row_flops() -> Computed:
    """FLOPs of one row in the linear layers."""
    return LINEAR_FLOPS.computed(setting(), n_rows=1.0)


def mean_error(kind: Kind) -> float:
    """Mean error of a kind of time for models that were left out of the fit."""
    return float(record()["scores"]["model"][kind]["mean"])


def longest_measured() -> int:
    """The longest prompt among the rows that the machine was fitted to."""
    return max(row.prompt_len for row in dense_rows())


def span(found: Band | Unmeasured) -> str:
    """A band as words: how far below and above the measured value."""
    if isinstance(found, Unmeasured):
        return found.short
    low, high = (f"{abs(each):.0%}" for each in (found.low, found.high))
    return f"{low} below to {high} above"


def reliability_table() -> Table:
    """Table of what was measured nearest to the page's predictions, and their errors.

    Raises:
        LookupError: nothing like the decodes was measured.
    """
    near = example_band("tpot", clients=DECODES)
    if not isinstance(near, Band):
        raise UnknownKeyError(f"decodes must be like measured ones, got {near.reason}")
    rows = [
        ("time per output token (TPOT)", _runs(near), span(near)),
        ("TTFT", _runs(prompt_band()), span(prompt_band())),
        ("TTFT, longer prompt or 8B", "none, no public TTFT of an 8B", "extrapolated"),
    ]
    columns = ("predicted", "nearest measured runs", "nine in ten predictions")
    note = (
        "TPOT: the mean gap between the tokens of an answer. Measured: prompts of up "
        f"to {longest_measured():,} tokens. TP: GPUs that share a model. sglang, "
        "trtllm and vllm are engines."
    )
    return Table("How far off predictions were", columns, rows, (note,))


def _runs(found: Band) -> str:
    """What the runs of a band were, in words."""
    return f"{found.n} runs: {found.regime}".replace("/", ", ")
