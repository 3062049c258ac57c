"""The chapter's still picture: eight GPUs laid out in four ways, in both phases."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.page.palette import BLUE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.deployments import LAYOUTS, GpuLayout, eight

BETWEEN = "infiniband-ndr"
REQUESTS, CONTEXT, CHUNK = 64, 1000, 2048


def layouts() -> dict[str, GpuLayout]:
    """The four layouts of the page, two servers joined by 400 Gb/s."""
    link = catalog.link(BETWEEN)
    return {name: eight(name, link) for name in LAYOUTS}


def decode_ms(name: str) -> float:
    """Milliseconds from token to token."""
    return 1e3 * layouts()[name].decode(REQUESTS, CONTEXT).token_s


def prefill_rate(name: str) -> float:
    """Prompt tokens per second."""
    return layouts()[name].prefill_rate(CHUNK)


@figure_style()
def eight_gpus() -> StaticFigure:
    """Time from token to token, and prompt tokens per second, a bar a layout."""
    from llmserve_lab.extras import pyplot as plt

    names = list(LAYOUTS)
    decode = [decode_ms(name) for name in names]
    prefill = [prefill_rate(name) / 1e3 for name in names]
    figure, (left, right) = plt.subplots(1, 2, figsize=(4.9, 2.5), sharey=True)
    left.barh(names, decode, color=BLUE.light)
    right.barh(names, prefill, color=VERMILLION.light)
    left.invert_yaxis()
    panels = (
        (left, decode, "decode: ms from token to token\n(short is good)", "{:.1f}"),
        (right, prefill, "prefill: thousand tokens/s\n(long is good)", "{:.1f}"),
    )
    for axes, values, title, form in panels:
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(title)
        axes.set_xlim(0, 1.28 * max(values))
        for place, value in enumerate(values):
            axes.text(value, place, f" {form.format(value)}", va="center", fontsize=9)
    quick = min(names, key=decode_ms)
    rich = max(names, key=prefill_rate)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Llama-3.1-70B on eight H100 in two servers of four, 400 Gb/s for each "
            f"GPU between them. {REQUESTS} requests with {CONTEXT:,} tokens in cache "
            f"get their tokens soonest with {quick} ({decode_ms(quick):.1f} ms); "
            f"prompts in chunks of {CHUNK:,} are read fastest with {rich} "
            f"({prefill_rate(rich):,.0f} tokens/s)."
        ),
        title="The best layout for decode is not the best for prefill",
        name="parallelism.eight-gpus",
    )
