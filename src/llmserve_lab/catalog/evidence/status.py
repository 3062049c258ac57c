"""Protocol of a comparison: was a published run looked at while the model was made?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmserve_lab.checks import one_of

Kind = Literal["seen", "calibrated", "blind"]


@dataclass(frozen=True)
class Status:
    """Status of a published run towards the models of this book.

    *seen*: looked at while the model took its form, so that its error is a description;
    *calibrated*: a constant was fitted to it, so that it is not scored; *blind*: never
    opened before the form was fixed. A blind run that is opened is seen from then on.
    ``date`` is that of the record, as year, month and day.

    Raises:
        ValueError: the kind is unknown, or the date is no date.
    """

    kind: Kind
    date: str

    def __post_init__(self) -> None:
        from datetime import date

        one_of("kind", self.kind, Kind)
        try:
            date.fromisoformat(self.date)
        except ValueError:
            raise ValueError(
                f"date must be year-month-day, got {self.date!r}"
            ) from None
