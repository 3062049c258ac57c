"""Pictures as they are handed to the page: not yet written as SVG, which takes longest.

That every picture can be written, the chapters' own tests and notebooks show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from llmserve_lab.page.still import StaticFigure


@contextmanager
def handed_to(look: Callable[[Any], object]) -> Iterator[None]:
    """Let ``look`` have what matplotlib was told to draw, and close it."""
    from matplotlib import pyplot as plt

    def of(figure: Any, **words: Any) -> StaticFigure:
        look(figure)
        plt.close(figure)
        return StaticFigure("", **words)

    with mock.patch.object(StaticFigure, "of", of):
        yield
