"""A bench names Binder where the published book has a button that starts it there.

A Sphinx extension, loaded from ``_config.yml``. A book built from a clone has no such
button, and its benches say how to start them on the reader's machine alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llmserve_lab.page.html import escape, tag
from llmserve_lab.page.widget import START

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GITHUB = "https://github.com/"


def address(theme: Mapping[str, Any], page: str) -> str:
    """Where Binder opens the notebook of ``page``; empty without a launch button."""
    hub = str(theme.get("launch_buttons", {}).get("binderhub_url") or "")
    repository = str(theme.get("repository_url") or "")
    if not (hub and repository.startswith(GITHUB)):
        return ""
    branch = theme.get("repository_branch") or "HEAD"
    named = repository.removeprefix(GITHUB).strip("/")
    return f"{hub.rstrip('/')}/v2/gh/{named}/{branch}?urlpath=lab/tree/{page}.ipynb"


def launched(body: str, link: str) -> str:
    """The page with a link to Binder behind how a bench is started."""
    start = escape(START)
    there = tag("a", "open this chapter on Binder", href=link)
    return body.replace(start, f"{start} Or {there} and run it there.")


def offer(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Sphinx is about to write a page: name Binder if the book is on it."""
    link = address(app.config.html_theme_options, page)
    if link and "body" in context:
        context["body"] = launched(context["body"], link)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("html-page-context", offer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
