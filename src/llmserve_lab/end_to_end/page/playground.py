"""The chapter's bench: the small model answers what you type, as hot as you like."""

from __future__ import annotations

from typing import Any

from llmserve_lab.end_to_end.replies import LoopRun, reply
from llmserve_lab.end_to_end.story import END, PROMPT, WORDS, spell
from llmserve_lab.page.html import escape, tag
from llmserve_lab.page.palette import GREEN, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn, Write

LOOPS = {"with a KV cache": True, "everything again": False}


def bench() -> Bench:
    """Prompt, temperature, top-p and seed open; its picture is the start."""
    knobs: dict[str, Knob] = {
        "prompt": Write("prompt", PROMPT),
        "temperature": Turn("temperature (%)", 0, 500, 100),
        "top_p": Turn("top-p (%)", 1, 100, 100),
        "seed": Turn("seed", 0, 10_000, 0),
        "loop": Choose("loop", tuple(LOOPS), next(iter(LOOPS))),
    }
    return Bench("Bench: let the small model answer", knobs, show, passes(run()))


def run(
    *,
    prompt: str = "",
    temperature: int = 100,
    top_p: int = 100,
    seed: int = 0,
    loop: str = "with a KV cache",
) -> LoopRun:
    """The answer at these settings; without a prompt, that of the chapter.

    Raises:
        ValueError: the model does not know a word of the prompt.
    """
    return reply(
        prompt or PROMPT,
        temperature=temperature / 100,
        top_p=top_p / 100,
        seed=seed,
        cached=LOOPS[loop],
    )


def show(**settings: Any) -> str:
    """The answer, and a row for each pass."""
    found = run(**settings)
    text = spell(found.prompt) + found.text
    rows: list[tuple[str | int, ...]] = [
        (number, one.computed, one.reused, WORDS[one.token].replace(" ", "␣"))
        for number, one in enumerate(found.passes, start=1)
    ]
    total = sum(one.computed for one in found.passes)
    rows.append(("all", total, sum(one.reused for one in found.passes), ""))
    columns = ("pass", "rows computed", "rows from the cache", "token")
    said = tag("p", tag("strong", escape(text)))
    return said + Table("Pass by pass", columns, rows)._repr_html_()


@figure_style()
def passes(found: LoopRun) -> StaticFigure:
    """Rows computed and rows found in the cache, pass by pass."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 2.4))
    names = [WORDS[one.token].strip() or "␣" for one in found.passes]
    computed = [one.computed for one in found.passes]
    reused = [one.reused for one in found.passes]
    places = range(len(names))
    axes.bar(places, reused, color=GREEN.light, label="from the cache")
    axes.bar(places, computed, bottom=reused, color=VERMILLION.light, label="computed")
    axes.set_xticks(list(places), names, color=GREY.light)
    axes.set(xlabel="token that a pass wrote", ylabel="rows")
    axes.legend(loc="upper left")
    text = spell(found.prompt) + found.text
    return StaticFigure.of(
        figure,
        name="end_to_end.bench",
        title="A pass of decode computes one row and finds the others in the cache",
        sentence=(
            f"“{text}”, drawn at temperature 1: {len(names)} passes, {sum(computed)} "
            f"rows computed; the last pass writes {END}."
        ),
    )
