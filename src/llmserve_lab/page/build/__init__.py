"""When the book is built, names become numbers and letters explain themselves.

A Sphinx extension, loaded from ``_config.yml``. Cells store names, never numbers; here
each page is told what the whole book knows. A name that leads nowhere is a warning, and
a warning fails the build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    from llmserve_lab.page.build import sphinx_events

    sphinx_events.connect(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
