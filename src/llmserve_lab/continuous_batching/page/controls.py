"""What a reader can change on this page: budget, prefix, target.

Model and machine stay the running example; no stop exceeds its maximum context.
"""

from __future__ import annotations

from llmserve_lab.continuous_batching.lanes import BUDGETS
from llmserve_lab.continuous_batching.machine import LONG

LIMITS = (*(f"{rows:,} rows" for rows in BUDGETS), "no limit")
PREFIXES = (0.0, *(2.0**i for i in range(10, 17)), float(LONG))
TARGETS = (0.075, 0.1, 0.15, 0.25, 0.3)  # reached by a budget after the whole prompt
