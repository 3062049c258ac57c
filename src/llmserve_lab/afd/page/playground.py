"""The chapter's bench: the simulator with numbers of your own, ratio by ratio."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import Study, growing
from llmserve_lab.afd.page.controls import LABELS
from llmserve_lab.afd.page.stills import own
from llmserve_lab.afd.simulation.bundle import Bundle, bundle
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Law,
    Uniform,
)
from llmserve_lab.page.widget import Bench, Choose, Knob, PartialAnswer, Turn

MOST = 16
LONGEST = 1e7  # steps of all instances in a run: seconds, and half a gigabyte
SOON_S = 0.25  # between two pictures
ANSWERS = ("geometric", "all alike", "uniform")
COMM = {"on the loop": "loop", "hidden": "hidden"}
BARRIER = {"instance by instance": "instance", "stage together": "stage"}
SCALES = {"ps": 1e-12, "ns": 1e-9}


def bench() -> Bench:
    """Simulate every ratio up to 16; the picture is the paper's setting."""
    coefficients = {
        name: Turn(f"{label} ({unit(name)})", 1, 10**9, _shown(name))
        for name, label in LABELS.items()
    }
    knobs: dict[str, Knob] = {
        "batch": Turn("requests in a batch", 1, 4096, paper_setup.BATCH),
        "n_batches": Turn("batches in flight", 1, 8, 2),
        "prompt": Turn("mean prompt", 1, 100_000, paper_setup.PROMPT),
        "answer": Turn("mean answer", 1, 100_000, paper_setup.ANSWER),
        "answers": Choose("answers are", ANSWERS, ANSWERS[0]),
        "comm": Choose("wire", tuple(COMM), "on the loop"),
        "barrier": Choose("Attention moves on", tuple(BARRIER), "instance by instance"),
        "n_requests": Turn("requests per instance", 100, 20_000, 1000),
        "n_seeds": Turn("runs", 1, 30, 3),
        **coefficients,
    }
    start: dict[str, Any] = {
        name: getattr(knob, "default", None) for name, knob in knobs.items()
    }
    *_, whole = _studies(**start)
    return Bench("Bench: a bundle of your own", knobs, _show, own(whole))


def unit(name: str) -> str:
    """Slopes are turned in picoseconds, what is fixed in nanoseconds."""
    return "ps" if name.startswith("a_") else "ns"


def _shown(name: str) -> int:
    return round(paper_setup.known()[name] / SCALES[unit(name)])


def _show(n_seeds: int, **settings: Any) -> Iterator[PartialAnswer]:
    """The picture after each run, but not more often than one can look: bars shrink."""
    due = monotonic() + SOON_S
    for done, one in enumerate(_studies(n_seeds=n_seeds, **settings), start=1):
        if done == n_seeds or monotonic() > due:
            yield PartialAnswer(own(one).html(), done, n_seeds)
            due = monotonic() + SOON_S


def _studies(n_seeds: int, n_requests: int, **settings: Any) -> Iterator[Study]:
    made, law = _settings(**settings)
    steps = n_requests * law.slot().steps / made.batch * MOST
    if steps > LONGEST:
        raise ValueError(
            "requests × steps of one × instances / batch must be at most "
            f"{LONGEST:,.0f}, or a run takes too much memory, got {steps:,.0f}: take "
            "fewer requests, shorter answers or a larger batch"
        )
    return growing(made, law, most=MOST, n_requests=n_requests, seeds=range(n_seeds))


def _settings(**turned: Any) -> tuple[Bundle, Law]:
    """The bundle and the law that the knobs describe."""
    known = {name: turned[name] * SCALES[unit(name)] for name in LABELS}
    made = bundle(
        known,
        batch=turned["batch"],
        n_batches=turned["n_batches"],
        comm=COMM[turned["comm"]],  # type: ignore[arg-type]
        barrier=BARRIER[turned["barrier"]],  # type: ignore[arg-type]
    )
    return made, Independent(Uniform(0, 2 * turned["prompt"]), _answers(turned))


def _answers(turned: dict[str, Any]) -> Geometric | Uniform:
    mean = turned["answer"]
    spread = {"all alike": (mean, mean), "uniform": (0, 2 * mean)}
    kind = turned["answers"]
    return Uniform(*spread[kind]) if kind in spread else Geometric(mean, least=0)
