"""Write the page "Glossary": every term, its synonyms, the chapter that explains it.

Nothing is typed here; the entries are those of ``llmserve_lab.glossary``, which the
pages show where a term stands first.
"""

from __future__ import annotations

from pathlib import Path

from llmserve_lab.glossary import Term, terms

PAGE = Path(__file__).resolve().parents[1] / "chapters" / "glossary.md"
HEAD = """\
# Glossary

The terms of the book in alphabetical order, each with the chapter that explains it. In
the other chapters a term is underlined with dots where it stands first: point at it, or
reach it with the Tab key, to read its entry.

```{raw} html
<div class="filter" data-filter="terms" data-what="terms" hidden></div>
```

"""


def entry(term: Term) -> str:
    """A term with its anchor: names, meaning, chapter."""
    also = f"; also *{', '.join(term.also)}*" if term.also else ""
    where = f"[{term.chapter}]({term.chapter}.ipynb)"
    return f"({term.anchor})=\n**{term.name}**{also}\n: {term.meaning} See {where}.\n"


def page() -> str:
    """The page as Markdown."""
    return HEAD + "\n".join(entry(term) for term in terms())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf8", newline="\n")
