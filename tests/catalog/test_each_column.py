"""Each column of the catalog's tables is what its heading says, by the row's record."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.catalog import tables
from llmserve_lab.catalog.evidence import deployments, kernels, measurements, servers
from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.catalog.evidence.tiers import TIERS
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.page.table import Table
from tests.each import agrees, rows

SIZES = (1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e15)
PREFIX = dict(zip("nµmkMGTP", SIZES, strict=True))
CELL = re.compile(r"^([\d.,]+)(?: ([nµmkMGTP]?)(?:B/s|B|FLOP/s|s)(?= \[|$))?")
Read = Callable[[Any], Any]


def scaled(cell: str) -> tuple[str, float] | None:
    """Digits of a number, and what one of its unit is; None for a dash."""
    found = CELL.match(cell)
    return found and (found[1], PREFIX.get(found[2] or "", 1.0))


def value(cell: str) -> float:
    """A number in its unit without a prefix."""
    digits, unit = scaled(cell) or ("nan", 1.0)
    return float(digits.replace(",", "")) * unit


def shows(cell: str, wanted: Any) -> bool:
    """Whether a cell shows a record's number, its text, or a dash for nothing."""
    if wanted is None:
        return cell == "–"
    if isinstance(wanted, str):
        return re.sub(r" \[\d+\]$", "", cell) == wanted
    found = scaled(cell)
    return found is not None and agrees(found[0], float(wanted) / found[1])


def check(table: Table, records: Iterable[Any], columns: dict[str, Read]) -> None:
    """Every cell of every row; a column that is not named fails."""
    found = rows(table)
    known = list(records)
    assert [re.sub(r" \[\d+\]", "", head) for head in found[0]] == [*columns]
    assert len(found) == len(known)
    for row, each in zip(found, known, strict=True):
        for (head, read), cell in zip(columns.items(), row.values(), strict=True):
            assert shows(cell, read(each)), (head, cell, read(each))


def peak(name: str) -> Read:
    def read(gpu: Any) -> float | None:
        found = gpu.peak_flops.get(name) if gpu.disclosed else None
        return None if found is None else float(found) / 1e12

    return read


def test_accelerators() -> None:
    check(
        catalog.accelerator_table(),
        catalog.ACCELERATORS.values(),
        {
            "accelerator": lambda gpu: gpu.name,
            "BF16": peak("bf16"),
            "FP8": peak("fp8"),
            "FP4": peak("fp4"),
            "bandwidth": lambda gpu: gpu.hbm_bw if gpu.disclosed else None,
        },
    )


def test_memories_and_their_links() -> None:
    """No driver shows less than is sold in GB of 1e9 bytes, or far more."""
    disclosed = [gpu for gpu in catalog.ACCELERATORS.values() if gpu.disclosed]
    check(
        catalog.capacity_table(),
        disclosed,
        {
            "accelerator": lambda gpu: gpu.name,
            "memory": lambda gpu: gpu.hbm_bytes,
            "driver shows": lambda gpu: gpu.usable_bytes,
            "link": lambda gpu: catalog.LINKS[gpu.scale_up].name,
            "joins": lambda gpu: gpu.num_devices,
        },
    )
    for row in rows(catalog.capacity_table()):
        sold, *_ = (cell for head, cell in row.items() if head.startswith("memory"))
        if row["driver shows"] != "–":
            assert 0.9 < value(row["driver shows"]) / value(sold) < 1.1


def test_links() -> None:
    check(
        catalog.link_table(),
        catalog.LINKS.values(),
        {
            "link": lambda link: link.name,
            "scope": lambda link: link.scope,
            "one way": lambda link: link.bandwidth,
            "both ways": lambda link: link.bidirectional,
            "latency": lambda link: link.latency,
            "devices joined": lambda link: link.num_devices,
        },
    )


def experts(model: Any) -> str | None:
    found = model.ffn
    if not isinstance(found, MoeFfn):
        return None
    return f"{found.top_k} of {found.n_experts}" + f" + {found.n_shared}" * bool(
        found.n_shared
    )


def published(model: Any) -> float | None:
    found = model.published.get("params_total")
    return None if found is None else float(found) / 1e9


def test_models_and_their_sizes() -> None:
    """A token meets fewer parameters than there are; of a dense model most."""
    check(
        catalog.model_table(),
        catalog.MODELS.values(),
        {
            "model": lambda model: model.name,
            "attention": lambda model: model.attention.kind,
            "layers": lambda model: model.n_layers,
            "experts": experts,
            "cache a token": lambda model: float(model.kv_bytes_per_token(2)),
        },
    )
    check(
        catalog.size_table(),
        catalog.MODELS.values(),
        {
            "model": lambda model: model.name,
            "parameters": lambda model: model.params_total / 1e9,
            "active": lambda model: model.params_active / 1e9,
            "published": published,
        },
    )
    for row, model in zip(
        rows(catalog.size_table()), catalog.MODELS.values(), strict=True
    ):
        sparse = isinstance(model.ffn, MoeFfn)
        ratio = float(row["active"]) / float(row["parameters"])
        assert (ratio < 0.6) == sparse or 0.6 <= ratio <= 1


def test_efficiencies_and_levels_of_memory() -> None:
    check(
        catalog.efficiency_table(),
        catalog.EFFICIENCIES.values(),
        {
            "name": lambda share: share.name,
            "compute": lambda share: share.compute,
            "memory": lambda share: share.memory,
            "link": lambda share: share.link,
            "device": lambda share: share.device,
            "precision": lambda share: share.precision,
        },
    )
    gpu = catalog.accelerator("h100-sxm")
    for table, levels in ((tables.memory_table(gpu), gpu.levels()),
                          (catalog.tier_table(), TIERS)):  # fmt: skip
        columns: dict[str, Read] = {
            table.columns[0]: lambda level: level.name,
            "size": lambda level: level.bytes,
            "bandwidth": lambda level: level.bandwidth,
        }
        check(table, levels, columns)


def test_deployments() -> None:
    check(
        catalog.deployment_table(),
        (*deployments.DEPLOYMENTS, *deployments.SMALL_BATCHES),
        {
            "deployment": lambda run: run.name,
            "model": lambda run: catalog.MODELS[run.model].name,
            "device": lambda run: catalog.ACCELERATORS[run.accelerator].name,
            "GPUs": lambda run: run.n_gpus,
            "context": lambda run: run.context,
            "batch": lambda run: run.batch,
            "rate": lambda run: run.gpu_tokens_per_s,
            "a user's": lambda run: run.user_tokens_per_s,
            "the run was": lambda run: f"{run.status.kind}, {run.status.date}",
        },
    )


def test_decode_workers() -> None:
    """Those that were predicted blind have the second source."""
    table = catalog.decode_run_table()
    check(
        table,
        (*DECODE_RUNS, *BLIND_RUNS),
        {
            "device": lambda run: catalog.ACCELERATORS[run.accelerator].name,
            "engine": lambda run: run.engine,
            "weights": lambda run: run.precision,
            "GPUs": lambda run: run.ep,
            "prompt / output": lambda run: f"{run.prompt_tokens} / {run.output_tokens}",
            "requests on a GPU": lambda run: run.requests_per_gpu,
            "first token": lambda run: run.ttft_s,
            "each token": lambda run: run.tpot_s,
            "the run was": lambda run: f"{run.status.kind}, {run.status.date}",
        },
    )
    notes = [str(row[7])[-2] for row in table.rows]
    assert notes == ["1"] * len(DECODE_RUNS) + ["2"] * len(BLIND_RUNS)
    assert "blind" in table.notes[1] and "blind" not in table.notes[0]


def test_products_requests_alone_exchanges_and_servers() -> None:
    """Dispatch is sent in a byte a number, combine in two, and takes longer."""
    check(
        catalog.product_table(),
        kernels.PRODUCT_RUNS,
        {
            "product": lambda run: (
                f"{run.groups} × [{run.rows}, {run.n_in}]·[{run.n_in}, {run.n_out}]"
            ),
            "computed": lambda run: run.flops_per_s,
            "moved": lambda run: run.bytes_per_s,
        },
    )
    check(
        catalog.lone_request_table(),
        measurements.SMALL_BATCH.values(),
        {
            "model": lambda run: catalog.MODELS[run.model].name,
            "devices": lambda run: (
                f"{run.num_devices} × {catalog.ACCELERATORS[run.accelerator].name}"
            ),
            "prompt tokens": lambda run: run.prompt_tokens,
            "prompt": lambda run: run.prompt_s,
            "each token": lambda run: run.token_s,
        },
    )
    check(
        catalog.exchange_table(),
        measurements.ALL_TO_ALL,
        {
            "GPUs": lambda run: run.ep,
            "dispatch": lambda run: run.dispatch_s,
            "combine": lambda run: run.combine_s,
        },
    )
    for row in rows(catalog.exchange_table()):
        assert value(row["dispatch"]) < value(row["combine"])
    check(
        catalog.server_table(),
        servers.CHUNK_SIZES,
        {
            "tokens in a chunk": lambda server: server.chunk_tokens,
            "rate": lambda server: server.output_per_s,
            "longest gap": lambda server: server.longest_gap_s,
        },
    )
    chunks = rows(catalog.server_table())
    gaps = [value(row["longest gap"]) for row in chunks]
    assert gaps == sorted(gaps), "a larger chunk stops the others for longer"
