"""The call that printed an output: the notebook cell that is being run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llmserve_lab.formula.origin import CellRun, Origin
from llmserve_lab.page.derivation import NotebookCells, cells
from llmserve_lab.page.predicted.chain import Chain

_RUN: list[str] = []  # the cells of this notebook since the book was imported


def this_run(settings: Mapping[str, Any] | None = None) -> CellRun | None:
    """The last expression of the cell that is being run; None outside a notebook.

    ``settings`` are those that the call does not show.
    """
    codes = _codes()
    body = ast.parse(codes[-1]).body if codes else []
    if not body or not isinstance(body[-1], ast.Expr):
        return None
    node = body[-1].value
    run = cells(_names(), codes, node.lineno).run(node)
    return replace(run, settings={**run.settings, **(settings or {})})


def this_argument(name: str) -> Origin | None:
    """Where the value is from that the cell hands to a call under ``name``."""
    for found, node in _handed(name):
        return found.origin(node)
    return None


def predicted(name: str) -> bool:
    """Whether what the cell hands to a call under ``name`` comes to a prediction."""
    for found, node in _handed(name):
        return Chain(found.names, found.made, _codes()).predicts(node)
    return False


def _handed(name: str) -> Iterator[tuple[NotebookCells, ast.expr]]:
    """What the cell hands to a call under ``name``, and the cells before the call."""
    codes = _codes()
    calls = ast.walk(ast.parse(codes[-1])) if codes else ()
    for call in (each for each in calls if isinstance(each, ast.Call)):
        for word in call.keywords:
            if word.arg == name:
                yield cells(_names(), codes, call.lineno), word.value


def _names() -> Mapping[str, Any]:
    shell = _shell()
    return shell.user_ns if shell else {}


def _codes() -> Sequence[str]:
    """The cells that have run, the present one last; empty outside a notebook."""
    return _RUN if _shell() is not None and _RUN and _parses(_RUN[-1]) else []


def _parses(code: str) -> bool:
    """Whether a cell is Python alone, and no magic line, say."""
    try:
        return bool(ast.parse(code).body)
    except SyntaxError:
        return False


def _follow() -> None:
    """Keep the text of the present cell and of each that runs from now on.

    A kernel that stores no history has no other record of them.
    """
    shell = _shell()
    if shell is not None and hasattr(shell, "get_parent"):
        _RUN.append(str(shell.get_parent().get("content", {}).get("code", "")))
        shell.events.register("pre_run_cell", lambda cell: _RUN.append(cell.raw_cell))


def _shell() -> Any:
    """The notebook's shell, without loading IPython where there is none."""
    import sys

    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


_follow()
