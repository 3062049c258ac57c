"""What the book promises about speed and size, measured and set beside its limit.

A module here has a ``main`` that yields :class:`Line`; ``python -m benchmarks`` finds
it, prints the lines, and fails where a limit is broken. Ratios come from pairs of runs
taken one after the other, so that a busy machine slows both.
"""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One measurement; ``limit`` is the most that it may come to, None for no limit."""

    what: str
    value: float
    limit: float | None = None
    unit: str = ""

    @property
    def kept(self) -> bool:
        """Whether the value is within its limit."""
        return self.limit is None or self.value <= self.limit

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        limit = "" if self.limit is None else f" (limit {self.limit:g}{unit})"
        broken = "" if self.kept else "  <- over the limit"
        return f"{self.what}: {self.value:.2g}{unit}{limit}{broken}"

    def record(self) -> str:
        """The line as JSON, its value to the two digits that are printed."""
        value = float(f"{self.value:.2g}")
        return json.dumps({"what": self.what, "value": value, "limit": self.limit})
