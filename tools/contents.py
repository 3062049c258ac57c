"""Tables of the chapters, in README.md and on the front page, as `_toc.yml` has them.

A row's title and question are written by hand and stay with their chapter; its place
and number follow from the table of contents. A new chapter has its heading for a title.
The front page's table is made from it: the chapters' own headings, their questions, and
the minutes that a cell of that page glues.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
HEAD = "| number | chapter | the question it answers |\n| --- | --- | --- |\n"
FRONT_START = "## The chapters\n\n{.book-contents}\n"
FRONT_HEAD = (
    "| number | chapter | the question it answers | minutes |\n"
    "| --- | --- | --- | --- |\n"
)
GLUED = re.compile(r"\[([^\[\]]+)\]\(#num-(\w+)\)")
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)+")
ROW = re.compile(
    r"^(?:\|[^|]*)?\| (\[[^\]]*\]\(chapters/([\w-]+)\.(?:ipynb|md)\) \| .* \|)$", re.M
)


def parts(root: Path = ROOT) -> Iterator[tuple[str, dict[str, int | None]]]:
    """Each part of the book: its caption, and the number of each page of it, if any."""
    toc, number = yaml.safe_load((root / "_toc.yml").read_text("utf8")), 0
    for part in toc["parts"]:
        pages: dict[str, int | None] = {}
        for entry in part["chapters"]:
            numbered = bool(part.get("numbered"))
            number += numbered
            pages[entry["file"].rpartition("/")[2]] = number if numbered else None
        yield part["caption"], pages


def title(page: str, root: Path = ROOT) -> str:
    """The first heading of a page."""
    path = file_of(page, root)
    text = path.read_text("utf8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    return text.splitlines()[0].removeprefix("# ")


def file_of(page: str, root: Path = ROOT) -> Path:
    """The file of a page: a notebook, or text that a tool has written."""
    path = root / "chapters" / f"{page}.ipynb"
    return path if path.exists() else path.with_suffix(".md")


def table(readme: str, root: Path = ROOT) -> str:
    """The table for README.md, with the rows that it has in their places."""
    known = {page: row for row, page in ROW.findall(readme)}
    rows = []
    for caption, pages in parts(root):
        rows.append(f"| | **{caption}** | |")
        for page, number in pages.items():
            link = f"chapters/{file_of(page, root).name}"
            new = f"[{title(page, root)}]({link}) | |"
            rows.append(f"| {number or ''} | {known.get(page, new)}")
    return HEAD + "\n".join(rows) + "\n"


def front_table(readme: str, root: Path = ROOT) -> str:
    """The front page's table of the numbered chapters, with README.md's questions."""
    rows = []
    for caption, pages in parts(root):
        numbered = [page for page, number in pages.items() if number]
        rows += [f"| | **{caption}** | | |"] if numbered else []
        for page in numbered:
            file = f"chapters/{file_of(page, root).name}"
            row = next((row for row, name in ROW.findall(readme) if name == page), "")
            question = row.rpartition(") | ")[2].removesuffix(" |")
            rows.append(
                f"| [{page}]({file}) | [{title(page, root)}]({file}) "
                f"| {question} | [?](#num-minutes_{page}) |"
            )
    return FRONT_HEAD + "\n".join(rows)


def with_front_table(notebook: str, readme: str, root: Path = ROOT) -> str:
    """The front page's notebook with its table as it should be; numbers stay."""
    known = json.loads(notebook)
    for cell in known["cells"]:
        if (text := "".join(cell["source"])).startswith(FRONT_START):
            new = FRONT_START + front_table(readme, root)
            for shown, name in GLUED.findall(text):
                new = new.replace(f"[?](#num-{name})", f"[{shown}](#num-{name})")
            cell["source"] = new
            return notebook if new == text else _written(known)
    raise ValueError(f"intro.ipynb must have a cell that begins with {FRONT_START!r}")


def main() -> None:
    """Write the tables anew, if they are not as they should be."""
    path = ROOT / "README.md"
    before = path.read_text("utf8")
    after = TABLE.sub(lambda _: table(before), before)
    if HEAD not in before:
        sys.exit(f"README.md must have a table that begins with {HEAD!r}")
    _write(path, before, after)
    front = ROOT / "intro.ipynb"
    stored = front.read_text("utf8")
    _write(front, stored, with_front_table(stored, after))


def _write(path: Path, before: str, after: str) -> None:
    if after != before:
        path.write_text(after, "utf8", newline="\n")


def _written(notebook: dict[str, Any]) -> str:
    from run_notebooks import serialised

    return serialised(notebook)


if __name__ == "__main__":
    main()
