"""Where the machines, the wire and their bars are drawn in the picture of a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis

WINDOW = 1200.0  # microseconds of the axis; two rounds of two batches
LEFT = -280.0  # where names begin
NAMES = {0: "A1", 1: "A2", 2: "A3", 4: "FFN"}  # of the machines
WIRE = (3, 5)  # the way there is drawn above the way back
TOPS = {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0, 5: 3.4, 4: 3.85}  # of the lanes, in rows
ROWS = 4.85  # of all lanes
Row = dict[str, Any]


def scene(flights: Mapping[int, str], end: float) -> Scene:
    """Lanes of machines and wires up to an end, two batches above and three below."""
    lanes = [
        cell(0.0, end, place(m, lane), high(lane), "empty", faint=0.2)
        for m in flights
        for lane in TOPS
    ]
    names = [
        {"x": LEFT / 2, "y": place(m, lane) + 0.42, "text": name}
        for m in flights
        for lane, name in {**NAMES, WIRE[0]: "wire"}.items()
    ]
    names += [
        {"x": WINDOW / 2, "y": place(m, 0) - 0.4, "text": f"{word} batches in flight"}
        for m, word in flights.items()
    ]
    foot = place(3, 4) + 1.25
    names += [{"x": float(at), "y": foot, "text": f"{at} µs"} for at in (0, 500, 1000)]
    return Scene(
        x=SceneAxis((LEFT, WINDOW + 10), shown=False),
        y=SceneAxis((foot + 0.5, -0.9), shown=False),
        marks=(
            Cells(table="boxes", x2="x2", y2="y2", text="text", opacity="faint"),
            Cells(
                table="bars", x2="x2", y2="y2", text="text", opacity="faint", grows=True
            ),
            Labels(table="names"),
        ),
        height=375,
        fixed={"boxes": lanes, "names": names},
    )


def place(n_batches: int, lane: int) -> float:
    """Where a lane is drawn: machines of two batches above, of three below."""
    return TOPS[lane] + (ROWS + 1.0) * (n_batches - 2) + 0.08


def high(lane: int) -> float:
    """How high a lane is: the wire has two low ones."""
    return 0.34 if lane in WIRE else 0.84


def cell(
    x: float,
    x2: float,
    y: float,
    tall: float,
    ink: str,
    text: str = "",
    *,
    faint: float = 1.0,
) -> Row:
    """A bar from x to x2, its top at y."""
    place = {"x": x, "x2": x2, "y": round(y, 2), "y2": round(y + tall, 2)}
    return place | {"ink": ink, "text": text, "faint": faint}
