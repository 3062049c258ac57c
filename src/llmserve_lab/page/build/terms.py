"""Terms of the glossary in the text of a page: the first of each leads to its entry."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from docutils import nodes

from llmserve_lab.glossary import Term, terms

PAGE = "chapters/glossary"
# Where words are names of something else, or lead somewhere already.
LEFT = (
    nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block,
    nodes.raw, nodes.title, nodes.caption, nodes.table, nodes.target, nodes.comment,
)  # fmt: skip


@cache
def _known() -> tuple[re.Pattern[str], dict[str, Term]]:
    """One pattern for all names, and the term of each."""
    marked = {name: term for term in terms() if term.marked for name in term.names}
    longest_first = sorted(marked, key=len, reverse=True)
    found = "|".join(_either_case(name) for name in longest_first)
    return re.compile(rf"(?<![\w/–-])(?:{found})(?=s?(?![\w/–-]))"), marked


def _either_case(name: str) -> str:
    """A pattern for a name, which a sentence may begin with; HBM stays HBM."""
    head, rest = name[0], re.escape(name[1:])
    return f"[{head.upper()}{head}]{rest}" if head.islower() else re.escape(name)


def _term(text: str) -> Term:
    marked = _known()[1]
    return marked[text] if text in marked else marked[text[0].lower() + text[1:]]


def mark(document: nodes.document, chapter: str, glossary: str) -> list[Term]:
    """Turn the first mention of each term into a link; return the terms found.

    What ``chapter`` explains itself is left alone. ``glossary`` is the address of the
    glossary's page.
    """
    found: dict[str, Term] = {}
    for text in list(document.findall(nodes.Text)):
        if _prose(text):
            parts = list(_split(text.astext(), chapter, glossary, found))
            if len(parts) > 1:
                text.parent.replace(text, parts)
    return list(found.values())


def _prose(text: nodes.Text) -> bool:
    """Whether it stands in a paragraph, and not in a name, a link or code."""
    node, paragraph = text.parent, False
    while node is not None:
        if isinstance(node, LEFT):
            return False
        paragraph = paragraph or isinstance(node, nodes.paragraph)
        node = node.parent
    return paragraph and not _in_number(text)


def _in_number(text: nodes.Text) -> bool:
    """Whether a number that opens a card begins right before it."""
    beside = text.parent.children
    before = beside[beside.index(text) - 1] if beside.index(text) else None
    return isinstance(before, nodes.raw) and "data-sourced" in before.astext()


def _split(
    text: str, chapter: str, glossary: str, found: dict[str, Term]
) -> Iterable[nodes.Node]:
    """The text in pieces, with a link where a term stands for the first time."""
    done = 0
    for match in _known()[0].finditer(text):
        term = _term(match.group())
        if term.name in found or term.chapter == chapter:
            continue
        found[term.name] = term
        yield nodes.Text(text[done : match.start()])
        yield _link(match.group(), term, glossary)
        done = match.end()
    yield nodes.Text(text[done:])


def _link(text: str, term: Term, glossary: str) -> nodes.reference:
    place = f"{glossary}#{term.anchor}"
    link = nodes.reference("", "", internal=True, refuri=place, classes=["term"])
    link += nodes.inline("", text)
    return link


def meanings(found: Iterable[Term]) -> dict[str, list[str]]:
    """What the page shows at a term, by its anchor: the name and the meaning."""
    return {term.anchor: [term.name, term.meaning] for term in found}


def keywords(chapter: str) -> str:
    """Names and synonyms of all that a chapter explains, for the search of the book."""
    explained = (term for term in terms() if term.chapter == chapter)
    return ", ".join(name for term in explained for name in term.names)
