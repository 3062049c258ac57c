"""Second readings of questions: their words, and where each chapter keeps its own."""

import importlib
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

MORE, LESS = "more", "less"
Slip = float | str
TESTS = Path(__file__).resolve().parents[1]


def readings() -> list[ModuleType]:
    """The second reading of every chapter: ``tests/CHAPTER/readings.py``."""
    rooms = sorted(path.parent.name for path in TESTS.glob("*/readings.py"))
    return [importlib.import_module(f"tests.{room}.readings") for room in rooms]


def collected(table: str) -> dict[str, Any]:
    """One table of all chapters, by the name of the question."""
    held = (getattr(room, table).items() for room in readings())
    return dict(chain.from_iterable(held))
