"""Look-up of a record by its key; an unknown key is refused with those there are."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.data.efficiencies import EFFICIENCIES, Efficiency
from llmserve_lab.catalog.data.links import LINKS
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.data.precisions import PRECISIONS, Precision
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.checks import UnknownKeyError

Record = TypeVar("Record")


def accelerator(key: str) -> Accelerator:
    """Look up an accelerator: ``accelerator("h100-sxm")``.

    Raises:
        LookupError: there is no such key; the message names those there are.
    """
    return _find("accelerator", ACCELERATORS, key)


def link(key: str) -> Link:
    """Look up a link: ``link("nvlink4")``.

    Raises:
        LookupError: there is no such key; the message names those there are.
    """
    return _find("link", LINKS, key)


def model(key: str) -> ModelShape:
    """Look up a model: ``model("llama-2-7b")``.

    Raises:
        LookupError: there is no such key; the message names those there are.
    """
    return _find("model", MODELS, key)


def precision(key: str) -> Precision:
    """Look up a precision: ``precision("fp8")``.

    Raises:
        LookupError: there is no such key; the message names those there are.
    """
    return _find("precision", PRECISIONS, key)


def efficiency(key: str) -> Efficiency:
    """Look up a named efficiency: ``efficiency("article-06")``.

    Raises:
        LookupError: there is no such key; the message names those there are.
    """
    return _find("efficiency", EFFICIENCIES, key)


def _find(what: str, table: Mapping[str, Record], key: str) -> Record:
    if key in table:
        return table[key]
    close = get_close_matches(str(key).lower(), table)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise UnknownKeyError(
        f"{what} must be one of {', '.join(table)}, got {key!r}{hint}"
    )
