"""A goal that the page checks: "bring decode to the ridge", and it says when you are.

The condition is written once, over the names of signals. NumPy's numbers decide it in
Python, the same expression decides it in the browser.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmserve_lab.page.html import inline, tag

SIGNAL = "goal_reached"


@dataclass(frozen=True)
class Goal:
    """What the reader should bring a figure to, and when it is there.

    The arguments of ``reached`` are signals, as in ``lambda intensity, ridge:
    intensity >= ridge``; conditions are joined with ``&`` and ``|``, each in brackets.
    ``example`` is a setting at which it is reached, which the tests try; the page does
    not show it.
    """

    sentence: str
    reached: Callable[..., Any]
    example: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that the condition reads."""
        return tuple(inspect.signature(self.reached).parameters)

    def met(self, known: Mapping[str, float]) -> bool:
        """Whether the signals in ``known`` reach it.

        Raises:
            ValueError: the condition reads a signal that is not known.
        """
        missing = [name for name in self.signals if name not in known]
        if missing:
            raise ValueError(f"the goal reads {', '.join(missing)}, which nothing sets")
        return bool(self.reached(*(known[name] for name in self.signals)))

    def expression(self) -> str:
        """The condition as an expression of the browser's chart."""
        import sympy

        from llmserve_lab.formula.vega import printed

        names = {name: sympy.Symbol(name, real=True) for name in self.signals}
        texts = {name: name for name in names}
        return printed(sympy.sympify(self.reached(*names.values())), texts, "the goal")

    def param(self) -> dict[str, Any]:
        """The Vega-Lite parameter that is 1 where the goal is reached, 0 elsewhere."""
        return {"name": SIGNAL, "expr": f"{self.expression()} ? 1 : 0"}


def goal_html(goal: Goal) -> str:
    """The goal and the place where the page says that it is reached."""
    said = tag("span", "", class_="goal-said", role="status")
    kind = tag("strong", "Goal:")
    text = f"{kind} {inline(goal.sentence)} {said}"
    return tag("p", text, class_="live-goal", hidden=True)
