"""The stored simulations of the chapter: minutes of runs, read in no time.

``python -m llmserve_lab.disaggregation`` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "data" / "record.json"


@cache
def recorded() -> Mapping[str, Any]:
    """Shares kept ("goodput") and rates out of a backlog ("backlog"), as stored."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found
