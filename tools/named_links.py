"""Names in the prose: numbers that a cell printed, equations, figures, chapters.

A number stands in the text as ``[295 FLOP/byte](#num-ridge)``: what is in brackets is
written by ``make run`` from what ``glue(ridge=…)`` stored, so that it can be read in
JupyterLab and wherever else a notebook is shown. Everything that has a number is
referred to by name, ``[intensity](#eq-intensity)``; a typed number is a fault.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

Notebook = dict[str, Any]

NUMBER = re.compile(r"\[([^\[\]]*)\]\(#num-(\w+)\)")
GLUE_ROLE = re.compile(r"\{glue:\w*\}`(\w+)`")
GLUED = "application/papermill.record/text/plain"
NAMED = re.compile(r"\]\((?:([\w-]+)\.ipynb)?#((?:eq|fig)-[\w.-]+)\)")
SHOWN = re.compile(r'id=\\?"((?:eq|fig)-[\w.-]+)\\?"')
TYPED = re.compile(
    r"(?<![\w\]])\(\d{1,2}\.\d{1,2}\)|\\tag\{"
    r"|\b(?:[Cc]hapter|[Ee]xercise)s? \d+|\b(?:[Ee]quation|[Ff]igure)s? \(?\d+\.\d+"
)


def glued(notebook: Notebook) -> dict[str, str]:
    """Texts that the notebook's cells have handed to its prose, by name.

    Raises:
        ValueError: a name is handed over twice, so prose would show the second alone.
    """
    found: dict[str, str] = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if name and GLUED in output.get("data", {}):
                if name in found:
                    raise ValueError(f"{name} must be glued once a page, got it twice")
                text = output["data"][GLUED]
                text = text if isinstance(text, str) else "".join(text)
                found[name] = str(ast.literal_eval(text))
    return found


def filled(markdown: str, numbers: dict[str, str]) -> str:
    """The text with each number as its cell printed it; unknown names stay."""

    def shown(name: str, otherwise: str) -> str:
        return f"[{numbers[name]}](#num-{name})" if name in numbers else otherwise

    markdown = GLUE_ROLE.sub(lambda role: shown(role[1], role[0]), markdown)
    return NUMBER.sub(lambda link: shown(link[2], link[0]), markdown)


def wrong_numbers(markdown: str, numbers: dict[str, str]) -> Iterator[str]:
    """Numbers in the text that are not what a cell of the notebook printed."""
    for role in GLUE_ROLE.finditer(markdown):
        yield f"{role[0]} shows no number in JupyterLab; write [?](#num-{role[1]})"
    for text, name in NUMBER.findall(markdown):
        want = numbers.get(name)
        if want is None:
            yield f"nothing is glued as {name}"
        elif text != want:
            yield f"{name} must be {want!r} as its cell printed it, got {text!r}"


def typed_references(text: str) -> list[str]:
    """Numbers of equations, chapters, exercises that are typed, not referred to."""
    return [match.group() for match in TYPED.finditer(text)]


def displayed(notebook_text: str) -> set[str]:
    """What a stored notebook shows under a name: ``eq-intensity``, ``fig-…``."""
    return set(SHOWN.findall(notebook_text))


def lost_references(text: str, shown: dict[str, set[str]]) -> Iterator[str]:
    """References in a text to what no notebook shows, or not the one that is named."""
    for page, target in NAMED.findall(text):
        where = {name for name, targets in shown.items() if target in targets}
        if not where:
            yield f"nothing in the book is named {target}"
        elif page and page not in where:
            yield f"{target} is shown in {', '.join(sorted(where))}, not in {page}"
