"""A bound is honest only beside a measurement: how far from the roof is batch one?"""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import Cited, machine, workload
from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH, SmallBatch
from llmserve_lab.formula.origin import Computed, Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import formulas as f


def bound_s(record: SmallBatch, *, chunk: int, context: int) -> Computed:
    """Lower bound on the time of one iteration for the request of ``record``.

    Tensor parallelism multiplies peak and bandwidth by the number of devices; the links
    between them are free here, as everything is that a roofline does not know.
    """
    one = machine(catalog.accelerator(record.accelerator))
    known = one | workload(catalog.model(record.model))
    rates = ("peak_flops", "hbm_bw")
    all_of_them = {rate: float(one[rate]) * record.num_devices for rate in rates}
    size = {"batch": 1, "chunk": chunk, "context": context}
    return f.ITERATION_S.computed(known, **all_of_them, **size)


def bound_against_measurement() -> Table:
    """Table of bound, measurement and their ratio for one request on eight devices."""
    rows = []
    for record in SMALL_BATCH.values():
        device, prompt = catalog.accelerator(record.accelerator), record.prompt_tokens
        where = f"{record.num_devices} × {device.name}"
        prefill = bound_s(record, chunk=prompt, context=0)
        decode = bound_s(record, chunk=1, context=prompt)
        rows.append(_row(f"{where}: prompt of {prompt}", prefill, record.prompt_s))
        rows.append(_row(f"{where}: one token", decode, record.token_s))
    columns = ("one request alone", "bound", "measured", "measured / bound")
    name = catalog.model(record.model).name
    caption = f"{name}: the roofline's bound and a measurement"
    return Table(caption, columns, rows, notes=(f"Measured: {record.token_s.source}.",))


def _row(what: str, bound: Computed, measured: Cited) -> tuple[str, str, str, str]:
    limit = Sourced(si(bound.value, "s"), bound)
    return what, limit, measured.shown(3), f"{float(measured) / bound.value:.1f}"
