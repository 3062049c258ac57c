"""A step figure: the player of an executed log, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmserve_lab.page.step.content import Counter as Counter
from llmserve_lab.page.step.content import Frame as Frame
from llmserve_lab.page.step.content import StepContent
from llmserve_lab.page.step.content import StepLog as StepLog
from llmserve_lab.page.step.html import step_html


@dataclass(frozen=True, kw_only=True, repr=False)
class StepFigure(StepContent):
    """A log that shows itself: three frames in print, a player where scripts run."""

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": step_html(self)}
