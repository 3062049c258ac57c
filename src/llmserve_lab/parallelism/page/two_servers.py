"""A drawing of two servers: rank numbers, tensor-parallel groups, stages, copies."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.deployments import LAYOUTS, SERVER

DRAWN = tuple(LAYOUTS)
ACROSS = 3  # panels beside each other
SIDE = 0.8  # of a GPU, in places


def groups(name: str) -> list[list[int]]:
    """Ranks of each tensor-parallel group: neighbours, stage by stage, copy by copy."""
    tp, stages, replicas = LAYOUTS[name]
    return [list(range(i * tp, (i + 1) * tp)) for i in range(stages * replicas)]


def layers(name: str) -> list[int]:
    """The stage of each rank, so which layers it has."""
    tp, stages, replicas = LAYOUTS[name]
    return [rank // tp % stages for rank in range(tp * stages * replicas)]


@figure_style()
def two_servers() -> StaticFigure:
    """All layouts of the same eight GPUs."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        len(DRAWN) // ACROSS, ACROSS, figsize=(4.75, 1.55), gridspec_kw={"hspace": 0.3}
    )
    for axes, name in zip(panels.flat, DRAWN, strict=True):
        _draw(axes, name)
    return StaticFigure.of(
        figure,
        sentence="A square is a GPU with its rank, a row a server, a frame a "
        "tensor-parallel group. Equal fill: equal layers, so in TP 4 × DP 2 each "
        "server has the whole model.",
        title="Two servers of four: groups, replicas and stages",
        name="parallelism.two-servers",
    )


def _draw(axes: Any, name: str) -> None:
    """Ranks of one layout: four in a row, the second server below."""
    from llmserve_lab.extras import matplotlib as mpl

    stage = layers(name)
    for rank, mine in enumerate(stage):
        down, along = divmod(rank, SERVER)
        shade = 0.12 + 0.45 * mine / max(1, len(set(stage)) - 1)
        look: dict[str, Any] = {"facecolor": BLUE.light, "alpha": shade, "linewidth": 0}
        axes.add_patch(mpl.patches.Rectangle((along, down), SIDE, SIDE, **look))
        middle = (along + SIDE / 2, down + SIDE / 2)
        axes.annotate(str(rank), middle, ha="center", va="center", fontsize=10)
    for group in groups(name):
        (top, left), (low, right) = (divmod(group[i], SERVER) for i in (0, -1))
        width, height = right - left + SIDE + 0.08, low - top + SIDE + 0.08
        frame: dict[str, Any] = {
            "fill": False,
            "edgecolor": INK.light,
            "linewidth": 1.3,
        }
        corner = (left - 0.04, top - 0.04)
        axes.add_patch(mpl.patches.Rectangle(corner, width, height, **frame))
    axes.set(xlim=(-0.2, SERVER), ylim=(2.0, -0.2), aspect="equal")
    axes.set_title(name, fontsize=10)
    axes.set_axis_off()
