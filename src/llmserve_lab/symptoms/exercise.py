"""The reader's own diagnosis: from a panel of metrics to the name of the cause.

The check shows it dashboards of runs that it has not seen: two symptoms with two
causes each, a healthy server, and one whose cause is none of the four.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llmserve_lab.symptoms.case import watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import Dashboard

Panel = Mapping[str, float] | Dashboard
Diagnosis = Callable[[Mapping[str, float]], str]
ASKED = ("first-token", "pauses")
SEEDS = (0, 1)
HEALTHY, UNKNOWN = "healthy", "none of these"


def panels() -> list[tuple[str, str, Mapping[str, float]]]:
    """Title, right answer and metrics of each run that the check asks about.

    Beside the four causes there are a healthy run and one whose cause is none of them.
    """
    found: list[tuple[str, str, Mapping[str, float]]] = []
    for key in ASKED:
        of = case(key)
        for cause in of.causes:
            for seed in SEEDS:
                seen = watched(of, cause.name, seed)
                found.append((of.title, cause.name, dict(seen.values)))
    for seed in SEEDS:
        calm = watched(case("pauses"), None, seed)
        full = watched(case("idle-arithmetic"), "a full cache", seed)
        found.append(("A healthy server", HEALTHY, dict(calm.values)))
        found.append(("A late first token", UNKNOWN, dict(full.values)))
    return found


def why_it_pauses(panel: Panel) -> str:
    """Two questions, in the order of the page."""
    if panel["long_gaps"] <= 0.05:  # gaps above half a second, per request
        return "no answer pauses"
    if panel["preemptions"] > 0.02:  # per request
        return "preemption: fewer seats, or 8 bits for the cache"
    return "long prompts in one piece: smaller chunks"


def by_first_alarm(panel: Mapping[str, float]) -> str:
    """The naive diagnosis: more GPUs, whatever the metrics say."""
    return "too few GPUs"


def by_signs(panel: Mapping[str, float]) -> str:
    """Preemptions, then pauses, then the queue; refuse what fits no cause."""
    if panel["preemptions"] > 0.02:
        return "preemption"
    if panel["long_gaps"] > 0.05 and panel["ttft_p50"] < 1.0:
        return "long prompts in one piece"
    if panel["ttft_p50"] < 1.0:
        return "healthy"
    if panel["kv_peak"] > 0.95:
        return "none of these"
    return "too few seats" if panel["queue_share"] > 0.5 else "long prompts"


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
)
