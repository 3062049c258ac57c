"""A lane of a step figure holds what its name says: one request, one link.

Lanes that change names leave every bar where it is. A lane that is called after a
letter has marks of this request's ink alone; one that is called after a link has bars
that are as long as the cache takes over this link.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from llmserve_lab import catalog
from llmserve_lab.disaggregation.page import router
from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from llmserve_lab.running_example import cost, share
from tests.page.seen import alive, notes

LETTER = re.compile(r"\b([A-F])\b(?! machine)")
PROMPT = 8000  # tokens of a prompt, as a sentence says where all are sent
BETWEEN = {"NVLink": "nvlink4", "InfiniBand": "infiniband-ndr"}  # as lanes say it
MS = 1e3


def lettered() -> list[str]:
    """Step figures with a lane that is called after a request, by their notes."""
    return [
        name
        for name in registry.steps()
        if any(map(LETTER.search, notes(name.split(".")[0])[name]["lanes"]))
    ]


def lanes(figure: StepFigure) -> dict[str, set[str]]:
    """Of each lane that is called after a letter: inks of requests that it holds.

    An ink is that of a request where the legend calls it after the same letter.
    """
    found: dict[str, set[str]] = {}
    own = {ink for ink, said in figure.legend.items() if ink in LETTER.findall(said)}
    for mark in figure.scene.marks:
        for row in figure.rows.get(mark.table, ()):
            lane, ink = str(row.get(mark.y, "")), row.get(mark.ink)
            if LETTER.search(lane) and ink in own:
                found.setdefault(lane, set()).add(ink)
    return found


def strayed(figure: StepFigure) -> Iterator[tuple[str, str]]:
    """Lanes with a mark of another request: lane and ink."""
    for lane, inks in lanes(figure).items():
        yield from ((lane, ink) for ink in inks if ink not in LETTER.findall(lane))


@pytest.mark.parametrize("name", lettered())
def test_a_lane_holds_the_request_that_it_is_called_after(name: str) -> None:
    figure = registry.steps()[name]()
    assert len(lanes(figure)) > 0
    assert list(strayed(figure)) == []


def test_lanes_that_change_places_are_found() -> None:
    figure = registry.steps()["symptoms.storm_steps"]()
    assert {"A", "B"} <= set(lanes(figure))
    names = {"A": "B", "B": "A"}
    logs = {
        name: StepLog(
            log.frames,
            {
                table: [{**row, "y": names.get(row["y"], row["y"])} for row in rows]
                for table, rows in log.tables.items()
            },
        )
        for name, log in figure.logs.items()
    }
    assert {lane for lane, _ in strayed(replace(figure, logs=logs))} == {"A", "B"}


def sent_ms(link: str, said: str) -> float:
    """Time over a link, for what a GPU that holds so much of a prompt still needs."""
    held = re.search(r"holds ([\d,]+)", said)
    tokens = PROMPT - (float(held[1].replace(",", "")) if held else 0)
    per_s = float(catalog.link(BETWEEN[link]).bandwidth) * float(share().link)
    return MS * tokens * cost().kv_bytes_per_token / per_s


def test_a_lane_is_called_after_the_link_that_its_cache_is_sent_over() -> None:
    """By tokens of the lane's words, bytes of the served model, links of the catalog.

    And the sentence says so of the GPU that is chosen.
    """
    for log in router.routes_by_rule().logs.values():
        for frame, told in enumerate(log.frames):
            bars, words = (
                [row for row in log.tables[table] if alive(row, frame)]
                for table in ("bars", "words")
            )
            goes = re.search(r"goes to (D\d) in (the same|another) node", told.sentence)
            if "all" in told.sentence:
                assert f"all {PROMPT:,} tokens are sent" in told.sentence
            assert goes is not None and len({word["y"] for word in words}) == 4
            for word in words:
                name, link = word["y"].split(", ")
                of_lane = [bar for bar in bars if bar["y"] == word["y"]]
                queue_ms = [bar["x2"] for bar in of_lane if bar["ink"] == "idle"]
                ready_ms = max([sent_ms(link, word["text"]), *queue_ms])
                assert max(b["x2"] for b in of_lane) == pytest.approx(
                    ready_ms, abs=2e-3
                )
                assert ("chosen" in word["text"]) == (name == goes[1])
                if name == goes[1]:
                    assert (link == "NVLink") == (goes[2] == "the same")
