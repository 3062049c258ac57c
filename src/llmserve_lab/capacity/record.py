"""The stored simulations of the chapter: minutes of runs, read in no time.

``python -m llmserve_lab.capacity`` writes them anew.
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
    """Points of the triangle, scaled runs, pools, the hour and the search's fates."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found
