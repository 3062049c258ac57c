"""Public config.json files, transcribed apart from the catalog, and rounding."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def configs() -> dict[str, dict[str, Any]]:
    text = (Path(__file__).parent / "configs.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, Any]] = json.loads(text)
    return loaded


@pytest.fixture
def agrees() -> Callable[[float, float], bool]:
    """Whether a count rounds to a number exactly as it was printed."""

    def rounds_to(counted: float, printed: float) -> bool:
        shown = Decimal(repr(printed)).normalize()
        digits = len(shown.as_tuple().digits)
        return float(f"{counted:.{digits - 1}e}") == printed

    return rounds_to
