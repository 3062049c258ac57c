"""What others measured, as the book prints it: deployments, kernels, single facts."""

from __future__ import annotations

from collections.abc import Iterator

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.evidence import deployments, kernels, measurements, servers
from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.blind_decode_runs import SOURCE as BLIND_SOURCE
from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.catalog.evidence.decode_runs import SOURCE as DECODE_SOURCE
from llmserve_lab.catalog.evidence.deployments import DEPLOYMENTS, SMALL_BATCHES
from llmserve_lab.catalog.evidence.tiers import TIERS
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.tables import Sources, level_table
from llmserve_lab.page.table import Cell, Table


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


def fact_table() -> Table:
    """Table of all other measurements that the book uses, one number a row."""
    sources = Sources()
    rows: list[tuple[Cell, ...]] = [
        (f"{what} ({cited.note})" if cited.note else what, sources.cell(cited))
        for what, cited in _facts()
    ]
    title = "Single numbers that others measured"
    return Table(title, ("what", "measured"), rows, sources.notes)


def _facts() -> Iterator[tuple[str, Cited]]:
    yield from _times()
    for tokens, rate in kernels.CAUSAL_RUNS.items():
        yield f"attention over {tokens} tokens, causal", rate
    yield "MLA decode, tokens in cache", kernels.CUTLASS_MLA_CONTEXT
    yield "MLA decode, traffic", kernels.CUTLASS_MLA_BW
    yield "kernel of a graph", kernels.GRAPH_KERNEL_S
    yield "step of a graph", kernels.GRAPH_STEP_S
    yield "multiprocessors lent to the wire", kernels.LENT_SMS
    yield from _gains()
    yield "prefill, rows of a GPU", deployments.PREFILL_ROWS
    yield "prefill, a node of DeepSeek", deployments.NODE_INPUT_TOKENS
    yield "prefill computed, a node of DeepSeek", deployments.NODE_INPUT_COMPUTED
    for rate in deployments.DEEPSEEK_USER_RATES:
        yield "a user of DeepSeek", rate
    yield "drafted tokens kept", deployments.DRAFT_KEPT
    yield "redundant experts of Kimi K2", deployments.KIMI_REDUNDANT
    yield "rows of a GPU in an all-to-all", measurements.ALL_TO_ALL_ROWS
    yield "blocks of cache, Llama-2-7B on an H100", servers.VLLM_ROOM.blocks


def _gains() -> Iterator[tuple[str, Cited]]:
    for batch, gain in deployments.OVERLAP_GAINS.items():
        yield f"two-batch overlap at {batch} requests, gain", gain
    yield "two-batch overlap, gain", deployments.DRAFTED_OVERLAP_GAIN
    for gain in deployments.PREFILL_OVERLAP_GAINS:
        yield "two-batch overlap in prefill, gain", gain
    yield "the same, rows", deployments.PREFILL_OVERLAP_ROWS
    for phase, gain in deployments.REBALANCING_GAINS.items():
        yield f"experts rebalanced in {phase}, gain", gain


def _times() -> Iterator[tuple[str, Cited]]:
    for alone in measurements.SMALL_BATCH.values():
        model, device = MODELS[alone.model], ACCELERATORS[alone.accelerator]
        where = f"{model.name} on {alone.num_devices} × {device.name}"
        yield f"{where}, prompt of {alone.prompt_tokens}", alone.prompt_s
        yield f"{where}, a token", alone.token_s
    for kernel in measurements.ALL_TO_ALL:
        yield f"dispatch among {kernel.ep}", kernel.dispatch_s
        yield f"combine among {kernel.ep}", kernel.combine_s
    for server in servers.CHUNK_SIZES:
        yield f"chunks of {server.chunk_tokens}, rate", server.output_per_s
        yield f"chunks of {server.chunk_tokens}, longest gap", server.longest_gap_s
