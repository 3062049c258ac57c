"""What a reader can change on this page: the GPU, the chunk, the prompt, the target.

The model stays the running example, and no stop exceeds its maximum context.
"""

from __future__ import annotations

from llmserve_lab.catalog import ACCELERATORS, machine, workload
from llmserve_lab.continuous_batching.lanes import CHUNKS
from llmserve_lab.continuous_batching.machine import LONG, model, share
from llmserve_lab.page.live.controls import Choice

DEVICES = ("h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "a100-80-sxm")
STOPS = tuple(map(float, CHUNKS))
PRICED = tuple(2.0**i for i in range(4, 15))  # chunks
PREFIXES = (0.0, *(2.0**i for i in range(10, 17)), float(LONG))
PROMPTS = (1024.0, 4096.0, 16_384.0, 65_536.0, float(LONG))
CROWDS = (0.0, 5.0, 32.0, 128.0)
TARGETS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2)


def device_choice() -> Choice:
    """The model on each accelerator that holds it, as efficient as the default one."""
    devices = [ACCELERATORS[key] for key in DEVICES]
    work = workload(model())
    columns = [work | machine(device, efficiency=share()) for device in devices]
    sets = {name: tuple(each[name] for each in columns) for name in columns[0]}
    del sets["hbm_bytes"]
    names = tuple(device.name for device in devices)
    return Choice("accelerator", "GPU", names, names[0], sets)
