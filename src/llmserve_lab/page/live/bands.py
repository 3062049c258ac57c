"""Error bands of readouts: one for all settings, or one for each setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from llmserve_lab.formula.band import Band, ErrorBand
from llmserve_lab.page.live.controls import Choice, Control, Slider

MOST = 3000  # settings of a table, of which each is a digit or two in the page


@dataclass(frozen=True)
class BandTable:
    """The band at each stop of some controls, computed when the notebook runs.

    ``of`` takes the controls in ``by`` as keywords: a slider's number, a choice's
    option. What the other controls do is not in it. The number is one over what the
    band is of, where it is a ``rate``.
    """

    of: Callable[..., ErrorBand]
    by: tuple[str, ...]
    rate: bool = False

    @property
    def times(self) -> BandTable:
        """The table itself, of what a rate is one over."""
        return replace(self, rate=False)

    def inverse(self) -> BandTable:
        """The bands of the rate, given those of the time that it is one over."""
        return replace(self, rate=not self.rate)

    def at(self, controls: Sequence[Control], known: Mapping[str, float]) -> ErrorBand:
        """The band where the signals are as ``known`` says."""
        turned = _named(controls, self.by)
        found = self.of(
            **{each.name: _value(each, known[each.name]) for each in turned}
        )
        return found.inverse() if self.rate else found

    def stops(self, controls: Sequence[Control]) -> dict[str, list[float]]:
        """The signals that each control is asked at.

        Raises:
            ValueError: there is no such control, or the table would be too large.
        """
        found = {each.name: _stops(each) for each in _named(controls, self.by)}
        size = prod(map(len, found.values()))
        if size > MOST:
            raise ValueError(f"by must have at most {MOST:,} settings, got {size:,}")
        return found

    def bands(self, controls: Sequence[Control]) -> Iterator[ErrorBand]:
        """The bands of all settings, the last control turning fastest."""
        stops = self.stops(controls)
        for signals in product(*stops.values()):
            yield self.at(controls, dict(zip(stops, signals, strict=True)))


ReadoutBand = ErrorBand | BandTable


def opens_with(band: ReadoutBand) -> bool:
    """Whether a band is only that of the setting that a figure opens with.

    Errors belong to a setting; a limit, or that nothing was measured, to them all.
    """
    return isinstance(band, Band)


def band_at(
    band: ReadoutBand, controls: Sequence[Control], known: Mapping[str, float]
) -> ErrorBand:
    """The band of a readout where the signals are as ``known`` says."""
    return band.at(controls, known) if isinstance(band, BandTable) else band


def _named(controls: Sequence[Control], names: Sequence[str]) -> list[Slider | Choice]:
    turned = {c.name: c for c in controls if isinstance(c, Slider | Choice)}
    unknown = [name for name in names if name not in turned]
    if unknown:
        raise ValueError(f"by must name controls of the figure, got {unknown}")
    return [turned[name] for name in names]


def _stops(control: Slider | Choice) -> list[float]:
    if isinstance(control, Slider):
        return [*control.stops]
    return [float(index) for index in range(len(control.options))]


def _value(control: Slider | Choice, signal: float) -> Any:
    return signal if isinstance(control, Slider) else control.options[int(signal)]
