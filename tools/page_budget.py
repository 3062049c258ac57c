"""How much of a chapter is explanation: words, equations, paragraphs, pixels.

Words are those of paragraphs and list items outside cells, tables, captions, exercises
and folds. An equation is a numbered display outside folds. Where a built page is at
hand, chromium says where the first picture begins and how long the page is.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LEAST_WORDS, MOST_EQUATIONS, MOST_IN_PARAGRAPH = 150, 10, 90
MOST_TOP, MOST_HEIGHT, WIDTH = 1350, 20_000, 1280  # CSS pixels
LONGER = {"end_to_end": 24_000}
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
PICTURE = "figure.step, figure.live, figure.static"
NUMBERED = re.compile(r'id="eq-|\\tag\{')
OPENS = re.compile(r"<details|\{(?:exercise|solution)-start\}")
CLOSES = re.compile(r"</details>|\{(?:exercise|solution)-end\}")
LISTED = re.compile(r"^\s*(?:[-*]|\d+\.) ")
DIRECTIVE = re.compile(r"^(?:`{3,}|:{3,}|:[\w-]+:|\{)")
LINK = re.compile(r"\[([^\[\]]*)\]\([^)]*\)")


@dataclass
class Budget:
    """What was measured of one chapter; ``top`` and ``height`` of its built page."""

    paragraphs: list[str] = field(default_factory=list)
    equations: int = 0
    top: float | None = None
    height: float | None = None
    most_height: float = MOST_HEIGHT

    @property
    def words(self) -> int:
        """Words of the main line."""
        return sum(count(paragraph) for paragraph in self.paragraphs)

    @property
    def longest(self) -> str:
        """The paragraph of most words."""
        return max(self.paragraphs, key=count, default="")

    def faults(self) -> Iterator[str]:
        """What exceeds the budget."""
        if self.words < LEAST_WORDS * self.equations:
            each = self.words / self.equations
            yield f"{each:.0f} words for each equation, at least {LEAST_WORDS}"
        if self.equations > MOST_EQUATIONS:
            yield f"{self.equations} equations, at most {MOST_EQUATIONS}"
        for paragraph in self.paragraphs:
            if count(paragraph) > MOST_IN_PARAGRAPH:
                start = " ".join(paragraph.split()[:8])
                yield f"{count(paragraph)} words in the paragraph “{start} …”"
        if self.top is not None and self.top > MOST_TOP:
            yield f"the first picture begins at {self.top:.0f} px, at most {MOST_TOP}"
        if self.height is not None and self.height > self.most_height:
            yield f"the page is {self.height:.0f} px long, at most {self.most_height}"


def count(text: str) -> int:
    """Words of a paragraph; a formula is one, and so is a link's every word."""
    plain = LINK.sub(r"\1", re.sub(r"\$[^$]+\$", "x", text))
    plain = re.sub(r"\{[\w:]+\}`[^`]*`", "", plain)
    return len(re.findall(r"[\w’'.,%×/–-]*\w[\w’'.,%×/–-]*", plain))


def measured(notebook: dict[str, Any]) -> Budget:
    """Walk over the cells of a notebook, folds and exercises left out."""
    budget, depth = Budget(), 0
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            kept, depth = outside(text, depth)
            budget.paragraphs += paragraphs(kept)
        elif not depth:
            budget.equations += sum(map(numbered, cell["outputs"]))
    return budget


def numbered(output: dict[str, Any]) -> bool:
    """Whether an output is a numbered display."""
    data = output.get("data", {})
    shown = "".join(data.get("text/html", "")) + "".join(data.get("text/latex", ""))
    return bool(NUMBERED.search(shown)) and "<figure" not in shown


def outside(text: str, depth: int) -> tuple[str, int]:
    """The lines of a text that stand in no fold, and how deep its end is in folds."""
    kept = []
    for line in text.splitlines():
        depth += len(OPENS.findall(line))
        if not depth:
            kept.append(line)
        depth -= len(CLOSES.findall(line))
    return "\n".join(kept), depth


def paragraphs(text: str) -> list[str]:
    """Paragraphs and list items; no headings, tables, directives or tags."""
    found, lines = list[str](), list[str]()
    for line in [*text.splitlines(), ""]:
        skipped = not line.strip() or line.startswith(("#", "|", "<"))
        if skipped or DIRECTIVE.match(line) or LISTED.match(line):
            found, lines = [*found, *([" ".join(lines)] if lines else [])], []
        if not (skipped or DIRECTIVE.match(line)):
            lines.append(line)
    return found


def in_browser(budget: Budget, page: Path) -> None:
    """Measure a built page in chromium, folds closed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS.split()
        )
        view = browser.new_page(viewport={"width": WIDTH, "height": 900})
        view.goto(page.as_uri())
        view.wait_for_timeout(3000)
        first = view.locator(PICTURE).first
        top = first.evaluate("e => e.getBoundingClientRect().top + scrollY")
        article = view.locator("article").first
        budget.top = float(top)
        budget.height = float(article.evaluate("e => e.scrollHeight"))
        browser.close()


def main() -> int:
    """Print the budget of some chapters; 1 where one of them exceeds it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapters", nargs="+", type=Path)
    parser.add_argument("--built", type=Path, help="folder of the built pages")
    asked = parser.parse_args()
    wrong = 0
    for path in asked.chapters:
        budget = measured(json.loads(path.read_text("utf8")))
        budget.most_height = LONGER.get(path.stem, MOST_HEIGHT)
        if asked.built:
            in_browser(budget, (asked.built / f"chapters/{path.stem}.html").resolve())
        print(
            f"{path.stem}: {budget.words:,} words, {budget.equations} equations, "
            f"longest paragraph {count(budget.longest)} words"
            + (f", picture at {budget.top:.0f} px" if budget.top else "")
            + (f", {budget.height:.0f} px long" if budget.height else "")
        )
        for fault in budget.faults():
            print(f"  {fault}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
