"""What a bench answers when some of its knobs are turned, the others left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmserve_lab.page.widget import Bench


def answered(made: Callable[[], Bench], **changes: Any) -> str:
    """The answer after ``changes`` to the settings that the bench opens with."""
    bench = made()
    knobs = bench.knobs.items()
    start = {name: getattr(knob, "default", "") for name, knob in knobs}
    return bench.answer(**start | changes)
