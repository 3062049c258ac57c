"""The table of chapters in README.md, in the order and with the numbers of `_toc.yml`.

A row's title and question are written by hand and stay with their chapter; its place
and number follow from the table of contents. A new chapter has its heading for a title.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
HEAD = "| | chapter | the question it answers |\n| --- | --- | --- |\n"
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


def main() -> None:
    """Write the table anew, if it is not as it should be."""
    path = ROOT / "README.md"
    before = path.read_text("utf8")
    after = TABLE.sub(lambda _: table(before), before)
    if HEAD not in before:
        sys.exit(f"README.md must have a table that begins with {HEAD!r}")
    if after != before:
        path.write_text(after, "utf8", newline="\n")


if __name__ == "__main__":
    main()
