"""Where Sphinx calls the book: a page is read, all are read, a page is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from llmserve_lab.page.build.letters import marked, marked_html, meanings
from llmserve_lab.page.build.numbers import CHAPTER, EXERCISE, Place, displayed, places
from llmserve_lab.page.build.references import NUMBER, TARGET, Page
from llmserve_lab.page.build.terms import PAGE as GLOSSARY
from llmserve_lab.page.build.terms import keywords, mark
from llmserve_lab.page.build.terms import meanings as glossed
from llmserve_lab.page.html import data_script

LOGGER = logging.getLogger(__name__)
LETTERS = "chapters/notation"  # the list of letters and formulas
REFERENCE = "book"  # the kind of a pending reference that is ours


def connect(app: Sphinx) -> None:
    """Register transforms and events."""
    app.add_transform(NamedReferences)
    app.add_transform(Keywords)
    app.add_post_transform(ChapterNumbers)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    # Sphinx gives the chapters their numbers at this event, and ours stand on them.
    app.connect("env-get-updated", number, priority=600)
    app.connect("missing-reference", resolve)
    app.connect("doctree-resolved", write)


def _shown(env: BuildEnvironment) -> dict[str, list[str]]:
    """Targets that each page displays, by page, in the order of the page."""
    if not hasattr(env, "book_shown"):
        env.book_shown = {}  # type: ignore[attr-defined]
    return env.book_shown  # type: ignore[attr-defined,no-any-return]


def _places(env: BuildEnvironment) -> dict[str, Place]:
    return getattr(env, "book_places", {})


class NamedReferences(SphinxTransform):
    """Note what a page displays; take its ``[…](#eq-…)`` out of MyST's hands."""

    default_priority = 870  # MyST resolves links to its own headings at 879

    def apply(self, **kwargs: Any) -> None:
        """Run over one page that was read."""
        _shown(self.env)[self.env.docname] = [
            target for raw in _stored_html(self.document) for target in displayed(raw)
        ]
        for link in list(self.document.findall(nodes.reference)):
            if match := TARGET.fullmatch(link.get("refuri", "")):
                link.replace_self(self._pending(link, match[1]))
            elif match := NUMBER.fullmatch(link.get("refuri", "")):
                link.replace_self(_number(link, match[1]))
        for link in list(self.document.findall(addnodes.pending_xref)):
            if match := TARGET.fullmatch(f"#{link.get('reftargetid')}"):
                link.replace_self(self._pending(link, match[1]))

    def _pending(self, link: nodes.Element, target: str) -> addnodes.pending_xref:
        words = nodes.inline("", "", *link.children)
        pending = addnodes.pending_xref(
            "",
            words,
            refdomain="",
            reftype=REFERENCE,
            reftarget=target,
            refdoc=self.env.docname,
            refwarn=False,
        )
        pending.source, pending.line = link.source, link.line
        return pending


class Keywords(SphinxTransform):
    """The search finds a chapter by the synonyms of what it explains."""

    default_priority = 880

    def apply(self, **kwargs: Any) -> None:
        """Add them to one page that was read."""
        if words := keywords(PurePosixPath(self.env.docname).name):
            self.document += nodes.meta(name="keywords", content=words)


def _number(link: nodes.reference, name: str) -> list[nodes.Node]:
    """A number that a cell printed, marked with the name under which it did."""
    start = f'<span class="sourced" data-sourced="{name}">'
    mark = (nodes.raw("", text, format="html") for text in (start, "</span>"))
    return [next(mark), *link.children, next(mark)]


class ChapterNumbers(SphinxPostTransform):
    """A link to a chapter or exercise whose text is the bare name prints its number."""

    default_priority = 4  # before MyST (9) and sphinx-exercise (5) resolve them

    def run(self, **kwargs: Any) -> None:
        """Run over one page before its references are resolved."""
        chapters = chapter_numbers(self.env)
        for link in self.document.findall(addnodes.pending_xref):
            target, text = link.get("reftarget", ""), link.astext()
            if link.get("refdomain") == "doc" and target in chapters:
                if text == PurePosixPath(target).name:
                    _reword(link, CHAPTER.format(chapters[target]))
            elif link.get("reftype") == "myst" and text == target:
                self._exercise(link, target)
        for link in self.document.findall(nodes.reference):
            if link.get("refid", "") == link.astext():
                self._exercise(link, link["refid"])

    def _exercise(self, link: nodes.Element, label: str) -> None:
        if number := exercise_number(self.env, label):
            link.children = [nodes.inline("", EXERCISE.format(number))]


def exercise_number(env: BuildEnvironment, label: str) -> str:
    """Number of an exercise, 5.2, or nothing where there is none of that label."""
    entry = getattr(env, "sphinx_exercise_registry", {}).get(label)
    numbers = env.toc_fignumbers.get(entry["docname"], {}) if entry else {}
    return ".".join(map(str, numbers.get("exercise", {}).get(label, ())))


def _reword(link: nodes.Element, text: str) -> None:
    link.children[0].children = [nodes.Text(text)]


def _stored_html(document: nodes.document) -> Iterator[str]:
    for raw in document.findall(nodes.raw):
        if "html" in raw.get("format", "").split():
            yield raw.astext()


def chapter_numbers(env: BuildEnvironment) -> dict[str, int]:
    """The number of each page that has one, as the navigation shows it."""
    found = {}
    for page, sections in env.toc_secnumbers.items():
        if number := sections.get(""):
            found[page] = number[0]
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def reading_order(env: BuildEnvironment, page: str) -> Iterator[str]:
    """This page and all below it, as ``_toc.yml`` lists them."""
    yield page
    for below in env.toctree_includes.get(page, ()):
        yield from reading_order(env, below)


def number(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give each display its number; if one changed, every page is written anew."""
    order = list(dict.fromkeys(reading_order(env, app.config.root_doc)))
    before = _places(env)
    env.book_places = places(  # type: ignore[attr-defined]
        order, _shown(env), chapter_numbers(env)
    )
    return [] if before == _places(env) else sorted(env.all_docs)


def resolve(
    app: Sphinx,
    env: BuildEnvironment,
    pending: addnodes.pending_xref,
    words: nodes.Element,
) -> nodes.Element | None:
    """Turn one of our references into a link, or warn that it leads nowhere."""
    if pending.get("reftype") != REFERENCE:
        return None
    page = _page(app.builder, env, pending["refdoc"])
    address, text = page.link(pending["reftarget"], pending.astext())
    _warn(page, pending)
    inside: list[nodes.Node] = [nodes.Text(text)]
    if text.startswith(pending.astext()) and pending.astext():
        more = text[len(pending.astext()) :]
        inside = [*words.children, nodes.Text(more)]
    link = nodes.reference("", "", internal=True, refuri=address, classes=["named"])
    link += nodes.inline("", "", *inside)
    return link


def write(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Resolve the names in a page's stored HTML; mark its letters and explain them."""
    page, letters = _page(app.builder, app.env, docname), set[str]()
    for raw in document.findall(nodes.raw):
        if "html" in raw.get("format", "").split():
            text = marked_html(page.html(raw.astext()), letters)
            raw.children = [nodes.Text(text)]
            _warn(page, raw)
    for formula in _formulas(document):
        text = marked(formula.astext(), letters)
        formula.children = [nodes.Text(text)]
    if letters:
        data = data_script(meanings(letters), "letters")
        document += nodes.raw("", data, format="html")
    _mark_terms(app, document, docname)


def _mark_terms(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Lead from the text of a chapter to the glossary, where the book has one."""
    numbered = docname in chapter_numbers(app.env) or docname == app.config.root_doc
    if not numbered or GLOSSARY not in app.env.all_docs:
        return
    address = app.builder.get_relative_uri(docname, GLOSSARY)
    if found := mark(document, PurePosixPath(docname).name, address):
        data = data_script(glossed(found), "terms")
        document += nodes.raw("", data, format="html")


def _formulas(document: nodes.document) -> Iterator[nodes.Element]:
    """Mathematics of the prose; a table that compares letters is left as it is."""
    for kind in (nodes.math, nodes.math_block):
        for formula in document.findall(kind):
            if not _within(formula, nodes.table):
                yield formula


def _within(node: nodes.Node, kind: type[nodes.Node]) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent
    return parent is not None


def _page(builder: Builder, env: BuildEnvironment, docname: str) -> Page:
    def address(page: str) -> str:
        return builder.get_relative_uri(docname, page)

    index = address(LETTERS) if LETTERS in env.all_docs else ""
    return Page(docname, _places(env), address, index)


def _warn(page: Page, where: nodes.Node) -> None:
    for target in page.missing:
        LOGGER.warning("nothing in the book is named %s", target, location=where)
    page.missing.clear()


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget what a page displayed that is read again, or gone."""
    _shown(env).pop(docname, None)


def merge(
    app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment
) -> None:
    """Take over what another process has read."""
    read = _shown(other)
    _shown(env).update({name: read[name] for name in docnames if name in read})
