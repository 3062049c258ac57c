"""Error bands of the chapter's readouts, at every setting of a figure."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.formula.band import Band, ErrorBand, Unmeasured
from llmserve_lab.page.banded import BandTable

KEYS = {device.name: key for key, device in ACCELERATORS.items()}
# The context of most measured runs; another moves the band by little, and as one more
# control it would make the table nine times as large.
CONTEXT = 4096.0
CONTROLS = ("gpu_requests", "ep", "device")


def truth(band: ErrorBand) -> ErrorBand:
    """The same band; beside its number stands where a measurement would lie."""
    return replace(band, truth=True) if isinstance(band, Band) else band


def at_setting(*, gpu_requests: float, ep: float, device: str) -> ErrorBand:
    """The band of a decode step where the figure's controls stand."""
    setting = DecodeSetting(
        accelerator=KEYS[device], ep=int(ep), batch=gpu_requests, context=CONTEXT
    )
    return truth(band("decode_step", setting))


OF_STEP = BandTable(at_setting, CONTROLS)
PART = Unmeasured("only whole steps were measured", True)
