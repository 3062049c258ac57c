"""Tables of the chapter: records of the evaluation, rendered for the page."""

from __future__ import annotations

from collections.abc import Iterable

from llmserve_lab.checks import positive
from llmserve_lab.deepseek.calibration.host_time import GROUPS, leave_one_out
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import blind_runs, kernels, predictions
from llmserve_lab.deepseek.evaluation.caveats import few_requests
from llmserve_lab.deepseek.evaluation.decode_scores import Predicted
from llmserve_lab.deepseek.evaluation.group_size import served_bytes
from llmserve_lab.deepseek.evaluation.predictions import NOTES, Point
from llmserve_lab.deepseek.executed.mla import Compared
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.elementwise_kernels import places
from llmserve_lab.deepseek.model.setup import Setup, setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import plain, si, signed
from llmserve_lab.page.table import Table

Row = tuple[str, ...]
PER_CENT, THOUSAND = 100, 1000
SUITE = "InferenceX"
TOO_MANY = "more caches than fit, unless in FP8 and without redundant experts"


def per_cent(share: float) -> str:
    """A share as a percentage."""
    return f"{PER_CENT * share:.0f} %"


def tenths(share: float, sign: str = "") -> str:
    """A share as a percentage to one decimal."""
    return f"{PER_CENT * share:{sign}.1f} %".replace("-", "−")


def inputs() -> Table:
    """What two GPUs can do by their datasheets, and what the twin takes of it."""
    groups = [setup(key, 72) for key in ("h100-sxm", "gb200-nvl72")]
    columns = [column for place in groups for column in _reached(place)]
    names = (
        "memory (GB)",
        "weights read (TB/s)",
        "caches read (TB/s)",
        "FP8 products (TFLOP/s)",
        "attention, BF16 (TFLOP/s)",
        "link in node or rack (GB/s)",
        "port to the network (GB/s)",
    )
    return Table(
        "What each GPU could do, and what the twin takes",
        ("what", "H100", "taken", "GB200", "taken"),
        list(zip(names, *columns, strict=True)),
        [
            "H100, GB200: by their datasheets, links one way; an H100's memory as its "
            "driver reports it. Of the memory, what a decode server gives weights and "
            "caches",
            "taken: for weights and FP8 products a share fitted to GEMMs on Hopper; "
            "for caches and attention the headlines of DeepSeek's library on H800s, on "
            "the GB200 the attention of another kernel's benchmark; for links a share "
            "fitted to DeepEP's times on H800s",
        ],
    )


def _reached(place: Setup) -> tuple[list[str], list[str]]:
    """Peaks of one GPU, and the rates that its kernels and links are taken to reach."""
    gpu, twin = place.accelerator, Twin(setup=place, assumptions=book_assumptions())
    made, memory = twin.machine, float(gpu.hbm_bw)
    links = (float(place.near.bandwidth), float(place.far.bandwidth))
    peaks = (float(gpu.peak_flops["fp8"]), float(gpu.peak_flops["bf16"]))
    scales = (1e9, 1e12, 1e12, 1e12, 1e12, 1e9, 1e9)
    most = (float(gpu.usable_bytes), memory, memory, *peaks, *links)
    kernels = ("read_rate", "cache_rate", "gemm_rate", "attn_rate")
    rates = (*kernels, "near_rate", "far_rate")
    taken = (served_bytes(twin), *(made[name] for name in rates))
    least, best = (
        [_in_full(float(at) / scale) for at, scale in zip(of, scales, strict=True)]
        for of in (taken, most)
    )
    return best, least


def _in_full(value: float) -> str:
    """Three digits, or all before the point, as the text has them."""
    return f"{value:,.0f}" if value >= THOUSAND else plain(value)


def elementwise(place: Setup) -> Table:
    """Kernels of a layer and the bytes that each moves for a row."""
    rows = [
        (
            each.name,
            each.n_kernels,
            each.gemm_bytes / 1e3,
            each.elementwise_bytes / 1e3,
            each.largest,
        )
        for each in places(place)
    ]
    columns = ("where", "kernels", "kB in GEMMs", "kB elementwise", "most of it")
    return Table("One layer of a decode step, kernel by kernel", columns, rows)


def two_forms(found: Iterable[Compared]) -> Table:
    """FLOPs of both forms of latent attention as counted, and how they differ."""
    rows = [
        (
            f"{each.n_rows} on {each.context}",
            each.vanilla_flops,
            each.absorbed_flops,
            each.vanilla_flops / each.absorbed_flops,
            "yes" if each.equal else f"no, by {each.gap:.1e}",
        )
        for each in found
    ]
    columns = (
        "new rows on cached",
        "FLOPs, plain",
        "FLOPs, absorbed",
        "plain / absorbed",
        "equal outputs",
    )
    return Table("One layer of a tiny MLA, executed", columns, rows)


def numbered() -> list[str]:
    """The notes below the table of points, each once."""
    return [*dict.fromkeys(NOTES.values()), TOO_MANY]


def noted(point: Point) -> str:
    """The name of a point, with the number of its note if it has one."""
    note = NOTES.get(point.record.name)
    return (
        point.name if note is None else f"{point.name} [{numbered().index(note) + 1}]"
    )


def points(assumed: Assumptions) -> Table:
    """Tokens per second of a GPU, predicted and measured, with error and status.

    All deployments, and the blind decode workers whose group stood in several nodes.
    """
    few = (each.point for each in few_requests(assumed) if each.point.status == "seen")
    told = [*predictions.points(assumed), *few]
    rows = [
        (noted(each), float(each.record.context), each.predicted, each.measured)
        for each in told
    ]
    workers = [each for each in blind_runs.blind() if _across(each)]
    for each in workers:
        name = f"{SUITE}, {each.run.ep} H100, batch {each.requests:.4g}"
        if not _held(each, assumed):
            name += f" [{len(numbered())}]"
        made, real = (each.requests / s for s in (each.predicted_s, each.measured_s))
        rows.append((name, each.context, made, real))
    uses = [*(each.status for each in told), *["blind"] * len(workers)]
    cells = [
        (name, f"{at:,.0f}", plain(made), plain(real), signed(made / real - 1), use)
        for (name, at, made, real), use in zip(rows, uses, strict=True)
    ]
    columns = ("run", "context", "predicted", "measured", "error", "the run was")
    seen = sum(map(is_worker, told))
    caption = (
        f"Tokens per second of a GPU: all {len(told) - seen} deployments, and {seen} "
        f"workers known before and {len(workers)} blind ones, these in two nodes"
    )
    return Table(caption, columns, cells, numbered())


def is_worker(point: Point) -> bool:
    """Whether a run is a decode worker of the benchmark suite, not a deployment."""
    return point.record.name.startswith(SUITE)


def _held(found: Predicted, assumed: Assumptions) -> bool:
    """Whether the requests of a worker fit beside weights, as the twin counts both."""
    twin = Twin(setup=setup(found.run.accelerator, found.run.ep), assumptions=assumed)
    return found.requests <= float(twin.batch_fits(found.context))


def _across(found: Predicted) -> bool:
    """Whether the group of a worker stood in several nodes."""
    return setup(found.run.accelerator, found.run.ep).n_nodes > 1


def of_rate(error: float) -> float:
    """The error of a rate, given that of the time that it is one over.

    Raises:
        ValueError: the time would be below nothing.
    """
    positive("1 + error", 1 + error)
    return 1 / (1 + error) - 1


def left_out(assumed: Assumptions) -> Table:
    """Cross-validation of the time on the host over the decode runs."""
    rows = []
    for by in GROUPS:
        for each in leave_one_out(assumed, by):
            rates = [of_rate(error) for error in each.errors]
            total = predictions.score("calibrated", rates)
            errors = (tenths(total.mean_error), tenths(total.bias, "+"))
            rows.append((by, each.group, total.n_runs, si(each.host_s, "s"), *errors))
    columns = (
        "left out",
        "which",
        "runs",
        "host, of the others",
        "mean error, rate",
        "bias",
    )
    return Table("Each group predicted with the time of all others", columns, rows)


def transfers(assumed: Assumptions) -> Table:
    """The library's dispatch and combine: predicted, measured, error."""
    found = kernels.transfers(assumed)
    rows: list[Row] = []
    for there, back in zip(found[::2], found[1::2], strict=True):
        cells = [f"EP {there.ep}"]
        for each in (there, back):
            both = (plain(1e6 * s) for s in (each.predicted_s, each.measured_s))
            cells += [" / ".join(both), signed(each.error)]
        rows.append(tuple(cells))
    columns = ("group", "dispatch", "of the time", "combine", "of its time")
    start = next(iter(assumed.kernels.values())).transfer_start_s
    by = f"two shares and {si(start, 's')} a transfer" if start else "two shares"
    caption = f"All-to-all of the communication library, by {by} / measured, in µs"
    return Table(caption, columns, rows)
