"""Takes anew what was read of takeaways, titles and sentences.

Who has changed one reads it first: ``python -m tests.page.reread``, then ``ruff
format tests/page``, and the difference in ``git diff`` is what was turned.
"""

import sys
from pathlib import Path
from textwrap import wrap

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from llmserve_lab.page.live import registry
from tests.page.comparisons import compared, read
from tests.page.test_takeaways import CHAPTERS, sentences

HERE = Path(__file__).parent


def _text(words: str) -> str:
    """Words as a literal, broken so that each line is short enough."""
    *first, last = wrap(words, 70, break_long_words=False) or [""]
    if not first:
        return repr(last)
    return "(" + "\n".join([*(repr(f"{each} ") for each in first), repr(last)]) + ")"


def _written(name: str, table: str, entries: dict[str, str]) -> None:
    """Replace one table in a file of readings, whatever stands in it."""
    path = HERE / name
    head, _, rest = path.read_text("utf8").partition(f"{table} = {{")
    tail = rest.partition("\n}\n")[2]
    body = "\n".join(f"{key!r}: {text}," for key, text in sorted(entries.items()))
    path.write_text(f"{head}{table} = {{\n{body}\n}}\n{tail}", "utf8")


def main() -> None:
    """Write all three tables."""
    chapters = [
        p.stem for p in CHAPTERS.glob("*.ipynb") if "## Remember" in p.read_text()
    ]
    kept = {
        each: "[" + ", ".join(_text(read(s)) for s in sentences(each)) + "]"
        for each in chapters
    }
    _written("takeaways.py", "KEPT: dict[str, list[str]]", kept)
    live, stepped = registry.figures(), registry.steps()
    titles = {name: compared(make().title) for name, make in (live | stepped).items()}
    below = {name: compared(make().sentence) for name, make in live.items()}
    for table, words in (("TITLES", titles), ("SENTENCES", below)):
        found = {name: _text(each) for name, each in words.items() if each}
        _written("turned.py", f"{table}: dict[str, str]", found)


if __name__ == "__main__":
    main()
