"""The chapter's bench: two models, a batch, an acceptance; which chain is best?"""

from __future__ import annotations

from llmserve_lab.engine import Acceptance
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.page import stills

SOURCES = (m.SMALL, m.HEAD, m.LOOKUP)
PER_CENT = 100


def bench() -> Bench:
    """Source of drafts, batch and acceptance open; its picture is the start."""
    knobs: dict[str, Knob] = {
        "source": Choose("drafts from", SOURCES, SOURCES[0]),
        "batch": Turn("batch", 1, 256, 32),
        "kept": Turn("first draft kept, %", 5, 99, int(PER_CENT * m.usual().rate)),
        "falls": Turn("the next over it, %", 50, 100, int(PER_CENT * m.usual().falls)),
    }
    picture = stills.gains(32, m.usual(), SOURCES[0])
    return Bench("Bench: how many drafts?", knobs, show, picture)


def show(*, source: str, batch: int, kept: int, falls: int) -> str:
    """The speedup of every chain as bars, and a table of what it is made of."""
    law = Acceptance(kept / PER_CENT, falls / PER_CENT)
    picture = stills.gains(batch, law, source)
    return picture.html() + _table(batch, law, source)._repr_html_()


def _table(batch: int, law: Acceptance, source: str) -> Table:
    rows = [
        (
            f"{k}",
            f"{law.tokens(k):.2f}",
            f"{1e3 * m.drafting_s(batch, k, source):.2f} ms",
            f"{1e3 * m.verify_s(batch, k):.2f} ms",
            f"{m.speedup(batch, k, law, source):.2f}",
        )
        for k in range(1, m.MOST + 1)
    ]
    even = m.break_even(m.MOST, law, source)
    said = f"from a batch of {even} on" if even else "at no batch that fits"
    return Table(
        f"Batch of {batch}, drafts from {source}",
        ("drafts", "tokens of a pass", "drafting", "verifying", "speedup"),
        rows,
        notes=(f"Eight drafts lose {said} ({m.fits(source)} requests fit).",),
    )
