"""One request alone on eight devices: what was measured, and the roofline's bound."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab import catalog
from llmserve_lab.catalog import Cited, machine, workload
from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH, SmallBatch
from llmserve_lab.formula.origin import Computed
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


@dataclass(frozen=True)
class BoundedTime:
    """A time of one request alone, measured, and the roofline's bound on it."""

    what: str
    bound: Computed
    measured: Cited

    @property
    def ratio(self) -> float:
        """The measured time over its bound."""
        return float(self.measured) / self.bound.value


def bounded() -> tuple[BoundedTime, ...]:
    """Prefill and one token of one request on eight devices, of each kind measured."""
    found = []
    for record in SMALL_BATCH.values():
        device, tokens = catalog.accelerator(record.accelerator), record.prompt_tokens
        where = f"{record.num_devices} × {device.name}"
        prefill = bound_s(record, chunk=tokens, context=0)
        decode = bound_s(record, chunk=1, context=tokens)
        found += [
            BoundedTime(f"{where}: prompt of {tokens}", prefill, record.prompt_s),
            BoundedTime(f"{where}: one token", decode, record.token_s),
        ]
    return tuple(found)
