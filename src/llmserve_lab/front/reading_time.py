"""Minutes that the chapters take: as a chapter states them, or from its words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

STATED = re.compile(r"\[(\d+) minutes\]\(#num-minutes\)")
FILE = re.compile(r"file: (\S+)")
FOLD = re.compile(r"(?s)<details.*?</details>")
WORD = re.compile(r"[A-Za-zÀ-ÿ0-9’'-]+")
STEP = 5  # minutes; nothing finer is known


@dataclass(frozen=True)
class Reading:
    """Words of a chapter outside its folds, and the minutes that it states, if any."""

    words: int
    stated: int | None

    @classmethod
    def of(cls, path: Path) -> Reading:
        """Read a notebook's prose.

        Raises:
            OSError: there is no such notebook.
        """
        cells = json.loads(path.read_text("utf8"))["cells"]
        prose = "\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
        found = STATED.search(prose)
        words = len(WORD.findall(FOLD.sub("", prose)))
        return cls(words, int(found[1]) if found else None)


def minutes(paths: Iterable[Path]) -> dict[str, int]:
    """Minutes of each chapter, by its name.

    A chapter that states none takes as long for its words as those that do.

    Raises:
        ValueError: no chapter states how many minutes it takes.
    """
    read = {path.stem: Reading.of(path) for path in paths}
    known = [(each.words, each.stated) for each in read.values() if each.stated]
    if not known:
        raise ValueError("paths must hold a chapter that states its minutes, got none")
    words_a_minute = sum(words for words, _ in known) / sum(took for _, took in known)
    return {
        name: each.stated or max(STEP, STEP * round(each.words / words_a_minute / STEP))
        for name, each in read.items()
    }


def hours(total: int) -> str:
    """Minutes as hours, to the next half: ``5½ hours``."""
    halves = -(-total // 30)
    whole, half = divmod(halves, 2)
    return f"{whole}{'½' if half else ''} hours"


def of_the_book(root: str = ".") -> dict[str, int]:
    """Minutes of every numbered chapter, in the order of ``_toc.yml`` under ``root``.

    Raises:
        OSError: the table of contents or a chapter is not there.
        ValueError: as :func:`minutes`.
    """
    place = Path(root)
    parts = (place / "_toc.yml").read_text("utf8").split("- caption:")
    files = (name for p in parts if "numbered:" in p for name in FILE.findall(p))
    return minutes((place / name).with_suffix(".ipynb") for name in files)
