"""What a reader can choose here: a model that one device holds, and the device."""

from __future__ import annotations

from llmserve_lab.catalog import ACCELERATORS, EFFICIENCIES, MODELS, machine, workload
from llmserve_lab.continuous_batching.serving import LONG
from llmserve_lab.page.live.controls import Choice

ON_ONE_DEVICE = tuple(MODELS[key] for key in ("llama-2-7b", "llama-3-8b"))
DEVICES = ("h100-sxm", "h200-sxm", "b200-sxm", "mi300x")
SHARES = tuple(EFFICIENCIES[key] for key in ("article-06", "datasheet"))
CHUNKS = tuple(2.0**i for i in range(4, 16))
PREFIXES = (0.0, *(2.0**i for i in range(10, 17)))
CROWDS = (0.0, 8.0, 16.0, 32.0)
TARGETS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
STOPS = (1024, 2048, 4096, 16_384, LONG)


def model_choice() -> Choice:
    """Models that one device holds, in 16 bits."""
    works = [workload(model) for model in ON_ONE_DEVICE]
    sets = {name: tuple(work[name] for work in works) for name in works[0]}
    names = tuple(model.name for model in ON_ONE_DEVICE)
    return Choice("model", "Model", names, names[0], sets)


def machine_choices() -> tuple[Choice, Choice]:
    """An accelerator, and how much of its datasheet is reached."""
    devices = [ACCELERATORS[key] for key in DEVICES]
    peaks = [machine(device) for device in devices]
    rates = {n: tuple(p[n] for p in peaks) for n in ("peak_flops", "hbm_bw")}
    names = tuple(device.name for device in devices)
    shares = {
        "eff_compute": tuple(share.compute for share in SHARES),
        "eff_mem": tuple(share.memory for share in SHARES),
    }
    reached = tuple(share.name for share in SHARES)
    return (
        Choice("accelerator", "Accelerator", names, names[0], rates),
        Choice("efficiency", "Share of peak reached", reached, reached[0], shares),
    )
