"""What a reader can change on this page: chunk, prefix, target.

Model and machine stay the running example; no stop exceeds its maximum context.
"""

from __future__ import annotations

from llmserve_lab.continuous_batching.lanes import CHUNKS
from llmserve_lab.continuous_batching.machine import LONG

STOPS = tuple(map(float, CHUNKS))
PREFIXES = (0.0, *(2.0**i for i in range(10, 17)), float(LONG))
TARGETS = (0.05, 0.075, 0.1, 0.15, 0.25, 0.3)
REACHED = TARGETS[1:]  # by a chunk of ``STOPS`` after the whole prompt
