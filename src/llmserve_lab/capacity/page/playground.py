"""The chapter's bench: an autoscaler over a short burst; which target is early?"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.capacity.autoscaling import Autoscaler, ScaledRun, Signal, scaled
from llmserve_lab.capacity.loads import asked, ramp
from llmserve_lab.capacity.runs import HIGH, LOW
from llmserve_lab.capacity.trace import MINUTE_S
from llmserve_lab.capacity.triangle import LEVEL, pool
from llmserve_lab.page.palette import GREEN, GREY
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Turn

WATCHED: dict[str, tuple[Signal, float]] = {
    "requests in flight": ("requests", 1.0),
    "waiting requests": ("queue", 1.0),
    "KV cache in use, %": ("kv", 0.01),
}
GOAL, GOAL_H = 0.98, 0.6  # share kept, and GPU-hours
LASTS_MIN = 10.0


KNOBS: dict[str, Choose | Turn] = {
    "watched": Choose("watch", tuple(WATCHED), next(iter(WATCHED))),
    "target": Turn("target of one replica", 1, 100, 35),
    "cold": Turn("cold start, s", 10, 240, 120),
    "fewest": Turn("replicas at least", 1, 4, 1),
}


def bench() -> Bench:
    """What is watched, its target, the cold start, the replicas to begin with."""
    return Bench("Bench: scale before the burst hurts", KNOBS, show, opening())


@figure_style()
def opening() -> StaticFigure:
    """Replicas that serve and that start at the settings with which the bench opens."""
    from llmserve_lab.extras import pyplot as plt

    opens: dict[str, Any] = {name: knob.default for name, knob in KNOBS.items()}
    found = run(**opens)
    kept, hours = found.kept(LEVEL), found.replica_s / 3600
    figure, axes = plt.subplots(figsize=(4.7, 2.2))
    edges = np.arange(len(found.minutes) + 1)
    ready = np.array([each.ready for each in found.minutes])
    both = ready + [each.starting for each in found.minutes]
    filled: dict[str, Any] = {"fill": True, "alpha": 0.5}
    axes.stairs(ready, edges, color=GREEN.light, label="serve", **filled)
    axes.stairs(both, edges, baseline=ready, color=GREY.light, label="start", **filled)
    axes.set(xlim=(0, len(ready)), xlabel="minute", ylabel="replicas")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return StaticFigure.of(
        figure,
        sentence=(
            f"As the bench opens, {kept:.0%} of the requests keep both targets, "
            f"for {hours:.2f} GPU-hours until the last answer. The bars show the "
            "replicas at the end of each whole minute."
        ),
        title="In ten minutes with a burst replicas start too late",
        name="capacity.bench",
    )


def run(watched: str, target: int, cold: int, fewest: int) -> ScaledRun:
    """Ten minutes with a burst under an autoscaler."""
    rate = ramp(low=LOW, high=HIGH, up_min=2, ramp_min=2, down_min=7)
    requests = asked(rate, seconds=LASTS_MIN * MINUTE_S, most=HIGH)
    signal, scale = WATCHED[watched]
    policy = Autoscaler(signal, target * scale, cold_s=float(cold), fewest=fewest)
    return scaled(requests, pool("llama-3.1-8b", "h100-sxm"), policy)


def show(*, watched: str, target: int, cold: int, fewest: int) -> str:
    """What was kept, what was paid, and the replicas minute by minute."""
    found = run(watched, target, cold, fewest)
    kept, hours = found.kept(LEVEL), found.replica_s / 3600
    rows = [
        (str(each.minute), str(each.ready), str(each.starting), str(each.waiting))
        for each in found.minutes
    ]
    done = kept >= GOAL and hours <= GOAL_H
    table = Table(
        f"{kept:.1%} kept both targets, {hours:.2f} GPU-hours",
        ("minute", "serve", "start", "waiting requests"),
        rows,
        notes=("Goal reached." if done else "Goal not reached yet.",),
    )
    return table._repr_html_()
