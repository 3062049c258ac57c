"""Twins under the book's assumptions, some of them changed."""

from dataclasses import replace
from typing import Any

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.deepseek.model.step_model import Twin


def assume(**changes: Any) -> Assumptions:
    """The book's assumptions but for these."""
    return replace(book_assumptions(), **changes)


def twin(setup: Setup, **changes: Any) -> Twin:
    """The twin of ``setup`` under them."""
    return Twin(setup=setup, assumptions=assume(**changes))
