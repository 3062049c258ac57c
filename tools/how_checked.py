"""Write the page "How this book is checked": what counts and claims each formula has.

Every number on a page leads to the entry of its formula here. Nothing is typed: the
formulas are found, the counts are those of the tests, and a claim uses a formula if the
formula is called while the claim is judged.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the counts are tests

from tests import counted  # noqa: E402

from llmserve_lab.claims import judge  # noqa: E402
from llmserve_lab.claims.all_claims import CLAIMS  # noqa: E402
from llmserve_lab.formula import evaluate  # noqa: E402
from llmserve_lab.formula.equation import Equation  # noqa: E402
from llmserve_lab.formula.formula import Formula  # noqa: E402
from llmserve_lab.formula.registry import modules  # noqa: E402

PAGE = ROOT / "chapters" / "how_checked.md"
NAMED_CLAIMS = 6
# What computes or prints a formula is not a mechanism that is counted.
ARGUMENTS = ("formulas", "arguments", "article", "models")
NOT_A_MECHANISM = ("formula", "notation", "catalog", "checks", "boundary", "page")
HEAD = """\
# How this book is checked

No number in this book is typed. A formula is written down once, as a function; the
page, the figures and the exercises print and compute from that one object. Six gates
stand before each formula, and the tests find the formulas by themselves, so that none
can be left out.

1. **Units**: both sides balance; a token is never a request, a FLOP never a byte.
2. **Digits**: NumPy's result agrees with one in thirty digits.
3. **Browser**: so does the expression that moves the figure.
4. **Count**: an independent program plays the mechanism out and counts; the closed form
   must give the same.
5. **Page**: each letter of the formula is in the equation, each number with its unit in
   the worked line.
6. **Range**: what goes in and what comes out is what the formula means, or is refused.

Below, for every formula: what counts it, in which file of the repository, and which
claims of the sources call it when they are recomputed. *Executed*: the mechanism itself
runs, and a meter counts what it did. *Enumerated*: something smaller plays it out, item
by item. *Unrolled*: the formula's own steps once more, which catches slips of the pen
alone; then it says why nothing executes it. *Runs* names the rooms of the library whose
code runs in a count.
"""


def page() -> str:
    """The page as Markdown."""
    counted.load(ROOT / "tests")
    used = used_by_claims()
    parts = [HEAD]
    for package, formulas in by_package().items():
        parts.append(f"## {heading(package)}\n")
        parts += [entry(formula, used[formula.label]) for formula in formulas]
    return "\n".join(parts)


def by_package() -> dict[str, list[Formula]]:
    """The formulas of each package, in the order in which they are defined."""
    found: dict[str, list[Formula]] = {}
    seen: set[str] = set()
    for module in modules("formulas"):
        for item in vars(module).values():
            if isinstance(item, Formula) and item.label not in seen:
                seen.add(item.label)
                found.setdefault(module.__name__.split(".")[1], []).append(item)
    return found


def heading(package: str) -> str:
    """The name of a package as a heading."""
    return package.replace("_", " ").capitalize()


def entry(formula: Formula, claims: list[str]) -> str:
    """What is known about one formula, under the anchor that numbers lead to."""
    title = formula.title.rstrip(".")
    return (
        f"({anchor(formula.label)})=\n"
        f"**{title}**, {formula.link} (`{formula.label}`). {counted_by(formula)} "
        f"{called_by(claims)}\n"
    )


def anchor(label: str) -> str:
    """Where a formula's entry is, on this page."""
    return "check-" + label.replace("_", "-").lower()


def counted_by(formula: Formula) -> str:
    """The function that counts it, where it is, and what it runs."""
    counter = counted.COUNTED[formula]
    place = Path(inspect.getfile(counter)).resolve().relative_to(ROOT)
    ran = mechanisms(counter)
    kind = counted.KINDS[formula]
    how = f"{kind}, runs {', '.join(ran)}" if ran else kind
    if formula in counted.WHY:
        how = f"{how}: {counted.WHY[formula]}"
    says = " ".join((inspect.getdoc(counter) or "").split("\n\n")[0].split())
    name = getattr(counter, "__name__", "a function")
    return f"Count: `{name}` in `{place.as_posix()}` ({how}). {says}".strip()


def mechanisms(counter: counted.Counter) -> list[str]:
    """Rooms of the library whose code runs while the count is made."""
    rooms: set[str] = set()

    def listen(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("llmserve_lab."):
            _, room, *rest = module.split(".")
            if room not in NOT_A_MECHANISM and rest and rest[0] not in ARGUMENTS:
                rooms.add(room)

    sys.setprofile(listen)
    try:
        counter(random.Random(0))
    finally:
        sys.setprofile(None)
    return sorted(rooms)


def called_by(claims: list[str]) -> str:
    """The claims that call a formula, the first few by name."""
    if not claims:
        return "No claim of a source calls it directly."
    named, more = claims[:NAMED_CLAIMS], len(claims) - NAMED_CLAIMS
    rest = f" and {more} more" if more > 0 else ""
    word = "Claim" if len(claims) == 1 else "Claims"
    return f"{word} on [What the sources say](sources): {', '.join(named)}{rest}."


def used_by_claims() -> defaultdict[str, list[str]]:
    """Ids of the claims that call each formula while they are judged."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for claim in CLAIMS.values():
        with listening() as called:
            judge(claim)
        for label in sorted(called):
            found[label].append(claim.id)
    return found


@contextmanager
def listening() -> Iterator[set[str]]:
    """Labels of the formulas that are called inside a with-block."""
    called: set[str] = set()
    compute: Callable[..., Any] = evaluate.evaluate

    def listen(formula: Equation, values: Any) -> Any:
        called.add(formula.label)
        return compute(formula, values)

    evaluate.evaluate = listen
    try:
        yield called
    finally:
        evaluate.evaluate = compute


if __name__ == "__main__":
    PAGE.write_text(page(), "utf8", newline="\n")
    print(f"wrote {PAGE.name}")
