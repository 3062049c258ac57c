"""The call that printed an output: the notebook cell that is being run, as text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from llmserve_lab.formula.origin import CellRun

MAX_SETTINGS = 12
SAID = (int, float, str, bool)


def this_run(settings: Mapping[str, Any] | None = None) -> CellRun | None:
    """The last expression of the cell that is being run; None outside a notebook.

    ``settings`` are those that the call does not show.
    """
    code = _code()
    body = ast.parse(code).body if code else []
    if not body or not isinstance(body[-1], ast.Expr):
        return None
    run = _run(body[-1].value)
    return replace(run, settings={**run.settings, **(settings or {})})


def this_argument(name: str) -> CellRun | None:
    """The expression that the cell hands to a call under the keyword ``name``."""
    code = _code()
    for node in ast.walk(ast.parse(code)) if code else ():
        if isinstance(node, ast.keyword) and node.arg == name:
            return _run(node.value)
    return None


def _run(node: ast.expr) -> CellRun:
    """The call as it is written, what its function says it does, and its settings."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    function = _named(calls[0].func) if calls else None
    does = (inspect.getdoc(function) or "").split("\n\n")[0] if function else ""
    settings = dict(_settings(calls[0], function)) if function else {}
    return CellRun(ast.unparse(node), " ".join(does.replace("`", "").split()), settings)


def _settings(call: ast.Call, function: Any) -> Iterator[tuple[str, str]]:
    """Arguments and defaults of a call that are plain numbers and words."""
    try:
        signature = inspect.signature(function)
        values = [_literal(each) for each in call.args]
        named = {word.arg: _literal(word.value) for word in call.keywords if word.arg}
        bound = signature.bind_partial(*values, **named)
    except (TypeError, ValueError):
        return
    bound.apply_defaults()
    for name, value in list(bound.arguments.items())[:MAX_SETTINGS]:
        if isinstance(value, SAID) and not isinstance(value, _Unknown):
            yield name, str(value)


class _Unknown(str):
    """An argument that is not written as a number or a word."""


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _Unknown("…")


def _named(node: ast.expr) -> Any:
    """The function that a name or a dotted name stands for in the notebook."""
    if isinstance(node, ast.Attribute):
        owner = _named(node.value)
        return None if owner is None else getattr(owner, node.attr, None)
    return _names().get(node.id) if isinstance(node, ast.Name) else None


def _names() -> Mapping[str, Any]:
    shell = _shell()
    return shell.user_ns if shell else {}


def _code() -> str:
    """The text of the cell: what the front end asked the kernel to run."""
    shell = _shell()
    if shell is None or not hasattr(shell, "get_parent"):
        return ""
    code = shell.get_parent().get("content", {}).get("code", "")
    try:
        ast.parse(code)
    except SyntaxError:  # a magic line, say
        return ""
    return str(code)


def _shell() -> Any:
    """The notebook's shell, without loading IPython where there is none."""
    import sys

    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None
