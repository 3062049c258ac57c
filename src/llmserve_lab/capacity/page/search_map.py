"""The search as a map: candidates by kind and number of replicas, and their fates."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.capacity import runs, triangle
from llmserve_lab.capacity.deployment import hourly
from llmserve_lab.capacity.search import GOOD, Fate
from llmserve_lab.page.palette import BLUE, GREEN, GREY, PURPLE, VERMILLION, Ink
from llmserve_lab.page.still import StaticFigure, figure_style

FATES: dict[str, tuple[tuple[Fate, ...], Ink]] = {
    "ruled out by arithmetic": (("does not fit", "too much work"), PURPLE),
    "keeps the promise": (GOOD, GREEN),
    "not cheaper": (("cannot be cheaper",), GREY),
    "run, fails": (("stopped: fails", "fails"), VERMILLION),
    "fewer than one that fails": (("more replicas failed",), BLUE),
}


@figure_style()
def fates(rows: int = triangle.ROWS) -> StaticFigure:
    """Candidates by kind and replicas, each by what became of it in the search."""
    from llmserve_lab.extras import patches
    from llmserve_lab.extras import pyplot as plt

    found = runs.searched()
    shown = {each: fate for each, fate in found.fates.items() if each.rows == rows}
    kinds = sorted({(each.device, each.tp) for each in shown}, key=_dearest)
    figure, axes = plt.subplots(figsize=(4.9, 3.5))
    in_rows = sorted(
        shown, key=lambda one: (_dearest((one.device, one.tp)), one.replicas)
    )
    for each in in_rows:  # neighbours after each other: a page is sent smaller
        fate = shown[each]
        ink = next(ink for fates, ink in FATES.values() if fate in fates)
        at = each.replicas, kinds.index((each.device, each.tp))
        axes.add_patch(
            patches.Rectangle(
                (at[0] - 0.48, at[1] - 0.45),
                0.96,
                0.9,
                fc=ink.light,
                alpha=0.3,
                lw=0,
                clip_on=False,
            )
        )
        bold = "bold" if each == found.best else "normal"
        price = f"{each.dollars_per_hour():.0f}"
        axes.text(*at, price, ha="center", va="center", fontsize=8, weight=bold)
    names = [f"{catalog.accelerator(key).name.split()[0]} × {tp}" for key, tp in kinds]
    axes.set_yticks(range(len(kinds)), names)
    axes.set(xlim=(0.5, 9.5), ylim=(len(kinds) - 0.5, -0.5), xlabel="replicas")
    axes.set_xticks(range(1, 10))
    axes.grid(visible=False)
    handles = [
        patches.Rectangle((0, 0), 1, 1, fc=ink.light, alpha=0.3, label=name)
        for name, (_, ink) in FATES.items()
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2)
    assert found.best is not None
    ran = sum(fate in (*GOOD, *FATES["run, fails"][0]) for fate in shown.values())
    return StaticFigure.of(
        figure,
        sentence=(
            f"The {len(shown)} candidates with {rows:,} tokens a step, with their "
            f"dollars an hour; rows are GPUs of one replica. {ran} were simulated. "
            f"The one found is in bold; none in grey costs less."
        ),
        title="Most candidates are settled without a simulation",
        name="capacity.fates",
    )


def _dearest(kind: tuple[str, int]) -> tuple[int, float]:
    """The price of one replica, the order of the rows: cheapest above."""
    device, tp = kind
    return tp, tp * hourly(device)
