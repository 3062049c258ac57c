"""A figure of the book is made once in a process, whichever tests ask for it.

Some hundred tests here look at the same figures, each from another side, and to make
one runs what it shows. None of them changes a figure: it is frozen.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from llmserve_lab.page.live import registry

Made = TypeVar("Made")


def make_once(makers: dict[str, Callable[[], Made]]) -> None:
    """Let each of these make its figure once, and then return it."""
    makers.update({name: cache(make) for name, make in makers.items()})


make_once(registry.figures())
make_once(registry.steps())
