"""What a reader can change on this page: chunk, prompt, prefix, target.

Model and machine stay the running example; no stop exceeds its maximum context.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog import Given
from llmserve_lab.continuous_batching.lanes import CHUNKS
from llmserve_lab.continuous_batching.machine import LONG
from llmserve_lab.page.live.controls import Lookup
from llmserve_lab.running_example import setting

STOPS = tuple(map(float, CHUNKS))
PRICED = tuple(2.0**i for i in range(8, 15))  # chunks
PREFIXES = (0.0, *(2.0**i for i in range(10, 17)), float(LONG))
PROMPTS = (1024.0, 4096.0, 16_384.0, 65_536.0, float(LONG))
TARGETS = (0.05, 0.075, 0.1, 0.15, 0.25, 0.3)
REACHED = TARGETS[1:]  # by a chunk of ``STOPS`` after the whole prompt


def constants(**known: Given) -> tuple[Lookup, ...]:
    """Signals that the reader cannot change: model, machine, what is ``known``."""
    found: dict[str, Given] = {**setting(), **known}
    del found["hbm_bytes"]
    return tuple(_constant(name, value) for name, value in found.items())


def _constant(name: str, value: Any) -> Lookup:
    """A table of one number, which no choice leads to."""
    return Lookup(name, (), value)
