"""The chapter's bench: the simulator with numbers of your own, ratio by ratio."""

from __future__ import annotations

from typing import Any

from llmserve_lab.afd import paper
from llmserve_lab.afd.bundle import Bundle, bundle
from llmserve_lab.afd.choices import LABELS
from llmserve_lab.afd.laws import Geometric, Independent, Law, Uniform
from llmserve_lab.afd.pictures import own
from llmserve_lab.book.bench import Bench, Choose, Knob, Turn
from llmserve_lab.book.static import StaticFigure

MOST = 16
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
        "batch": Turn("requests in a batch", 1, 4096, paper.BATCH),
        "n_batches": Turn("batches in flight", 1, 8, 2),
        "prompt": Turn("mean prompt", 1, 100_000, paper.PROMPT),
        "answer": Turn("mean answer", 1, 100_000, paper.ANSWER),
        "answers": Choose("answers are", ANSWERS, ANSWERS[0]),
        "comm": Choose("wire", tuple(COMM), "on the loop"),
        "barrier": Choose("Attention moves on", tuple(BARRIER), "instance by instance"),
        "n_requests": Turn("requests per instance", 100, 20_000, 1000),
        **coefficients,
    }
    start = {name: getattr(knob, "default", None) for name, knob in knobs.items()}
    return Bench("Bench: a bundle of your own", knobs, _show, _picture(**start))


def unit(name: str) -> str:
    """Slopes are turned in picoseconds, what is fixed in nanoseconds."""
    return "ps" if name.startswith("a_") else "ns"


def _shown(name: str) -> int:
    return round(paper.known()[name] / SCALES[unit(name)])


def _show(**settings: Any) -> str:
    """The picture for these settings."""
    return _picture(**settings).html()


def _picture(**settings: Any) -> StaticFigure:
    made, law = _settings(**settings)
    return own(made, law, most=MOST, n_requests=settings["n_requests"])


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
    return Uniform(*spread[kind]) if kind in spread else Geometric(mean)
