"""What others measured, as the book prints it: deployments, runs, products, tiers."""

from __future__ import annotations

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.evidence import kernels
from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.blind_decode_runs import SOURCE as BLIND_SOURCE
from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.catalog.evidence.decode_runs import SOURCE as DECODE_SOURCE
from llmserve_lab.catalog.evidence.deployments import DEPLOYMENTS, SMALL_BATCHES
from llmserve_lab.catalog.evidence.tiers import TIERS
from llmserve_lab.catalog.tables import Sources, level_table
from llmserve_lab.page.table import Table


def deployment_table() -> Table:
    """How fast models with experts were served, per GPU, and under what load."""
    sources = Sources()
    rows = [
        (
            each.name,
            MODELS[each.model].name,
            ACCELERATORS[each.accelerator].name,
            each.n_gpus,
            sources.cell(each.context),
            sources.cell(each.batch),
            sources.cell(each.gpu_tokens_per_s),
            sources.cell(each.user_tokens_per_s),
            f"{each.status.kind}, {each.status.date}",
        )
        for each in (*DEPLOYMENTS, *SMALL_BATCHES)
    ]
    load = ("context", "batch", "rate", "a user's")
    return Table(
        "Deployments: load and rate of one GPU",
        ("deployment", "model", "device", "GPUs", *load, "the run was"),
        rows,
        sources.notes,
        sortable=True,
    )


def decode_run_table() -> Table:
    """Steps of decode workers, as a benchmark suite measured them."""
    rows = [
        (
            ACCELERATORS[run.accelerator].name,
            run.engine,
            run.precision,
            run.ep,
            f"{run.prompt_tokens} / {run.output_tokens}",
            f"{run.requests_per_gpu:g}",
            f"{run.ttft_s:.2f} s",
            f"{1e3 * run.tpot_s:.1f} ms [{source}]",
            f"{run.status.kind}, {run.status.date}",
        )
        for source, runs in enumerate((DECODE_RUNS, BLIND_RUNS), start=1)
        for run in runs
    ]
    columns = (
        *("device", "engine", "weights", "GPUs", "prompt / output"),
        *("requests on a GPU", "first token", "each token", "the run was"),
    )
    title = "Decode workers of DeepSeek-V3, lengths nominal"
    sources = (
        DECODE_SOURCE,
        f"{BLIND_SOURCE}; predicted blind before they were seen",
    )
    return Table(title, columns, rows, [f"measured: {each}" for each in sources])


def product_table() -> Table:
    """Rates of FP8 products of the sizes that DeepSeek-V3 needs."""
    sources = Sources()
    rows = [
        (
            f"{run.groups} × [{run.rows}, {run.n_in}]·[{run.n_in}, {run.n_out}]",
            sources.cell(run.flops_per_s),
            sources.cell(run.bytes_per_s),
        )
        for run in kernels.PRODUCT_RUNS
    ]
    title = "FP8 products on an H800, each alone on it"
    return Table(title, ("product", "computed", "moved"), rows, sources.notes)


def tier_table() -> Table:
    """Where a cache can wait, for one GPU of a server."""
    title = "Where a cache can wait: one GPU's share of a DGX H100"
    return level_table(title, "tier", TIERS)
