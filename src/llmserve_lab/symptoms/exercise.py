"""The reader's own diagnosis: from a panel of metrics to the name of the cause.

The check shows it dashboards of runs that it has not seen: two symptoms with two
causes each, a healthy server, and two whose cause is none of the four.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llmserve_lab.engine import Chunked
from llmserve_lab.symptoms.case import Watchable
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import Dashboard
from llmserve_lab.symptoms.mapped import panel_of
from llmserve_lab.symptoms.served import SLOTS, WatchedRun, poisson, server

Panel = Mapping[str, float] | Dashboard
Diagnosis = Callable[[Mapping[str, float]], str]
ASKED = ("first-token", "pauses")
DRAWN = (0, 1)  # seeds of the loads
HEALTHY, UNKNOWN = "healthy", "none of these"


def panels() -> list[tuple[str, str, Mapping[str, float]]]:
    """Title, right answer and metrics of each run that the check asks about.

    Beside the four causes there are a healthy run and two whose cause is none of them:
    a full cache, and more requests than a GPU carries.
    """
    found: list[tuple[str, str, Mapping[str, float]]] = []
    for key in ASKED:
        of = case(key)
        for cause in of.causes:
            for seed in DRAWN:
                found.append((of.title, cause.name, _seen(cause.setup(seed))))
    for seed in DRAWN:
        calm = case("pauses").healthy(seed)
        full = case("idle-arithmetic").cause("a full cache").setup(seed)
        found.append(("A healthy server", HEALTHY, _seen(calm)))
        found.append(("A late first token", UNKNOWN, _seen(full)))
        found.append(("A late first token", UNKNOWN, _seen(_overloaded(seed))))
    return found


def _overloaded(seed: int) -> WatchedRun:
    """More arrives than the GPU carries, and hardly any slot is taken."""
    requests = poisson(rate_per_s=60.0, many=900, seed=seed)
    return WatchedRun(requests, server(Chunked(512, SLOTS)))


def _seen(run: Watchable) -> Mapping[str, float]:
    assert isinstance(run, WatchedRun), "a run of the engine"
    return panel_of(run)


def why_it_pauses(panel: Panel) -> str:
    """Two questions, in the order of the page."""
    if panel["long_gaps"] <= 0.05:  # gaps above half a second, per request
        return "no answer pauses"
    if panel["preemptions"] > 0.02:  # per request
        return "preemption: fewer slots, or 8 bits for the cache"
    return "long prompts in one piece: smaller chunks"


def by_first_alarm(panel: Mapping[str, float]) -> str:
    """The naive diagnosis: more GPUs, whatever the metrics say."""
    return "too few GPUs"


def by_signs(panel: Mapping[str, float]) -> str:
    """In the order of the map; what fits no cause is refused."""
    late = panel["ttft_p50"] > 1.0
    if panel["preemptions"] > 0.02:
        return "preemption"
    if late and panel["queue_share"] > 0.5:
        taken = panel["running_most"] >= panel["slots"]
        room = panel["itl_p50"] < 0.01 and panel["kv_peak"] < 0.5
        return "too few slots" if taken and room else "none of these"
    if panel["long_gaps"] > 0.05:
        return "long prompts in one piece"
    return "long prompts" if late else "healthy"


def check(diagnose: Diagnosis) -> str:
    """What is still named wrongly, beginning with "not yet"; or that all is well.

    Raises:
        ValueError: the diagnosis is not a text.
    """
    for title, cause, panel in panels():
        said = diagnose(panel)
        if not isinstance(said, str):
            raise ValueError(f"diagnose must return the name of a cause, got {said!r}")
        if said != cause:
            told = "\n".join(f"    {name}: {panel[name]:.3f}" for name in SHOWN)
            return (
                f"not yet: a run of {title.lower()!r} with\n{told}\n"
                f"is {cause!r}, your diagnosis says {said!r}."
            )
    return f"well done: {len(panels())} dashboards, each named rightly or refused."


SHOWN = (
    "ttft_p50",
    "queue_share",
    "preemptions",
    "long_gaps",
    "kv_peak",
    "itl_p50",
    "running_most",
    "slots",
)
