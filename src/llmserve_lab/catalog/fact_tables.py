"""Single numbers that others measured, one table a subject."""

from __future__ import annotations

from collections.abc import Iterator

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.evidence import deployments, kernels, measurements, servers
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.tables import Sources
from llmserve_lab.page.table import Cell, Table

Facts = Iterator[tuple[str, Cited]]


def lone_request_table() -> Table:
    """Times of one request that has a server to itself."""
    sources = Sources()
    rows: list[tuple[Cell, ...]] = [
        (
            MODELS[alone.model].name,
            f"{alone.num_devices} × {ACCELERATORS[alone.accelerator].name}",
            alone.prompt_tokens,
            sources.cell(alone.prompt_s),
            sources.cell(alone.token_s),
        )
        for alone in measurements.SMALL_BATCH.values()
    ]
    columns = ("model", "devices", "prompt tokens", "prompt", "each token")
    return Table("One request alone", columns, rows, sources.notes)


def kernel_table() -> Table:
    """Rates and times of single kernels."""
    return _facts("Single kernels", _kernels())


def exchange_table() -> Table:
    """Times to send the rows of a layer to their experts and back."""
    sources = Sources()
    rows: list[tuple[Cell, ...]] = [
        (each.ep, sources.cell(each.dispatch_s), sources.cell(each.combine_s))
        for each in measurements.ALL_TO_ALL
    ]
    size = measurements.ALL_TO_ALL_ROWS
    title = f"Rows to experts and back: {size.value:g} rows of each GPU"
    columns = ("GPUs", "dispatch", "combine")
    return Table(title, columns, rows, sources.notes)


def server_table() -> Table:
    """What the chunk size of one small server changes."""
    sources = Sources()
    rows: list[tuple[Cell, ...]] = [
        (
            server.chunk_tokens,
            sources.cell(server.output_per_s),
            sources.cell(server.longest_gap_s),
        )
        for server in servers.CHUNK_SIZES
    ]
    columns = ("tokens in a chunk", "rate", "longest gap")
    return Table("One small server by chunk size", columns, rows, sources.notes)


def operation_table() -> Table:
    """What deployments report of their prompts, users, drafts, overlap and experts."""
    return _facts("Reported by deployments", _operation())


def _facts(title: str, facts: Facts) -> Table:
    sources = Sources()
    rows: list[tuple[Cell, ...]] = [
        (f"{what} ({cited.note})" if cited.note else what, sources.cell(cited))
        for what, cited in facts
    ]
    return Table(title, ("what", "measured"), rows, sources.notes)


def _kernels() -> Facts:
    for tokens, rate in kernels.CAUSAL_RUNS.items():
        yield f"attention over {tokens} tokens, causal", rate
    yield "MLA decode, tokens in cache", kernels.CUTLASS_MLA_CONTEXT
    yield "MLA decode, traffic", kernels.CUTLASS_MLA_BW
    yield "kernel of a graph", kernels.GRAPH_KERNEL_S
    yield "step of a graph", kernels.GRAPH_STEP_S
    yield "multiprocessors lent to the wire", kernels.LENT_SMS


def _operation() -> Facts:
    for batch, gain in deployments.OVERLAP_GAINS.items():
        yield f"two-batch overlap at {batch} requests, gain", gain
    yield "two-batch overlap, gain", deployments.DRAFTED_OVERLAP_GAIN
    for gain in deployments.PREFILL_OVERLAP_GAINS:
        yield "two-batch overlap in prefill, gain", gain
    yield "two-batch overlap in prefill, rows", deployments.PREFILL_OVERLAP_ROWS
    for phase, gain in deployments.REBALANCING_GAINS.items():
        yield f"experts rebalanced in {phase}, gain", gain
    yield "prefill, rows of a GPU", deployments.PREFILL_ROWS
    yield "prefill, a node of DeepSeek", deployments.NODE_INPUT_TOKENS
    yield "prefill computed, a node of DeepSeek", deployments.NODE_INPUT_COMPUTED
    for rate in deployments.DEEPSEEK_USER_RATES:
        yield "a user of DeepSeek", rate
    yield "drafted tokens kept", deployments.DRAFT_KEPT
    yield "redundant experts of Kimi K2", deployments.KIMI_REDUNDANT
    yield "blocks of cache, Llama-2-7B on an H100", servers.VLLM_ROOM.blocks
