"""The runtime's scripts without a browser: quickjs evaluates what needs no page."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import quickjs

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SCRIPTS = (
    *("tables.js", "si.js", "keep.js", "address.js", "figure_parts.js"),
    *("live.js", "step.js", "question.js"),
)
PAGE = """
var window = {addEventListener() {}};
var document = {readyState: "loading", addEventListener() {}, getElementById() {}};
var {min, max, pow, exp, log, floor, ceil, abs, sqrt} = Math;
"""


@cache
def engine() -> quickjs.Context:
    """A JavaScript engine with all scripts loaded and Vega's functions by name."""
    context = quickjs.Context()
    context.eval(PAGE)
    for name in SCRIPTS:
        context.eval((ASSETS / name).read_text("utf8"))
    return context


def evaluate(source: str, **values: Any) -> Any:
    """Evaluate JavaScript with ``values`` as constants in scope."""
    names = "".join(f"const {k} = {json.dumps(v)};" for k, v in values.items())
    shown = engine().eval(f"(() => {{ {names} return JSON.stringify({source}); }})()")
    return json.loads(shown)
