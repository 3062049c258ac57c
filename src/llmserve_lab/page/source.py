"""The package's own code on the page: a function, a method or a class, as it runs."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from llmserve_lab.page import engines
from llmserve_lab.page.html import escape, tag

SHOWN_LINES = 30  # the rest is folded
# Kinds of tokens that are coloured, with the classes that the theme knows.
MARKED = {
    "Token.Keyword": "k",
    "Token.Operator.Word": "k",
    "Token.Literal.String": "s",
    "Token.Comment": "c",
    "Token.Literal.Number": "m",
    "Token.Name.Function": "nf",
    "Token.Name.Class": "nc",
    "Token.Name.Decorator": "nd",
}


@dataclass(frozen=True)
class Source:
    """Lines of code with their name, and what the mechanism is called in vLLM."""

    name: str
    code: str
    concept: str = ""

    def __repr__(self) -> str:
        return f"{self.code}\n{self._elsewhere()}".rstrip("\n")

    def _elsewhere(self) -> str:
        """Where the engine has it, in one line."""
        if not self.concept:
            return ""
        found = engines.named(self.concept)
        note = f" ({found.note})" if found.note else ""
        return f"In {engines.ENGINE} {engines.VERSION}: {found.name}{note}"

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}

    def html(self) -> str:
        """The highlighted lines, those beyond the thirtieth in a fold."""
        lines = self.code.splitlines()
        parts = [
            tag("p", tag("code", escape(self.name)), class_="source-name"),
            _block(highlighted(lines)[:SHOWN_LINES]),
        ]
        rest = len(lines) - SHOWN_LINES
        if rest > 0:
            plural = "s" if rest > 1 else ""
            summary = tag("summary", f"{rest} more line{plural}")
            folded = _block(highlighted(lines)[SHOWN_LINES:])
            parts.append(tag("details", summary + folded))
        if self.concept:
            parts.append(self._named_html())
        return tag("div", "\n".join(parts), class_="source")

    def _named_html(self) -> str:
        found = engines.named(self.concept)
        link = tag("a", tag("code", escape(found.name)), href=found.url)
        note = f" ({escape(found.note)})" if found.note else ""
        where = f"In {engines.ENGINE} {engines.VERSION}: {link}{note}"
        return tag("p", where, class_="source-engine")


def source(obj: Any, concept: str = "") -> Source:
    """Show the lines of ``obj``, a function, method, property or class of the package.

    ``concept`` names a row of :data:`llmserve_lab.page.engines.NAMES`, whose name in
    vLLM is then given below the code.

    Raises:
        TypeError: the object has no source, or is not one of the package's.
        ValueError: the table of engines has no such concept.
    """
    if isinstance(obj, property):
        obj = obj.fget
    found = inspect.unwrap(getattr(obj, "func", obj))
    module = getattr(found, "__module__", "")
    if module.split(".")[0] != "llmserve_lab":
        raise TypeError(f"obj must be of llmserve_lab, got {obj!r}")
    if concept:
        engines.named(concept)
    code = textwrap.dedent(inspect.getsource(found)).rstrip()
    return Source(f"{module}.{found.__qualname__}", code, concept)


def highlighted(lines: list[str]) -> list[str]:
    """Each line as HTML; keywords, strings, comments, numbers and names are marked."""
    from llmserve_lab.extras import lexers

    tokens = lexers.get_lexer_by_name("python", stripnl=False).get_tokens(
        "\n".join(lines)
    )
    text = "".join(_marked(str(kind), value) for kind, value in tokens)
    return text.rstrip("\n").split("\n")


def _marked(kind: str, value: str) -> str:
    """One token; a string that runs over several lines is marked line by line."""
    class_ = next((c for start, c in MARKED.items() if kind.startswith(start)), "")
    if not class_ or not value.strip():
        return escape(value)
    parts = value.split("\n")
    return "\n".join(tag("span", escape(p), class_=class_) if p else "" for p in parts)


def _block(lines: list[str]) -> str:
    pre = tag("pre", "\n".join(lines), tabindex="0")
    return tag("div", pre, class_="highlight")
