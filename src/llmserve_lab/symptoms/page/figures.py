"""The chapter's live figure, its step figure, and the map of measurements."""

from __future__ import annotations

from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.symptoms import formulas as f
from llmserve_lab.symptoms.page import charts
from llmserve_lab.symptoms.page.storm_steps import storm

RATES = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
LATENCIES_S = (4.0, 5.0, 6.0, 8.0, 10.0, 12.0)
QUEUES_S = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
SEEN_PER_S, SEEN_RUNNING, SEEN_WAITING = 3.0, 24.0, 6.0
HALF = 0.5  # of a request


def storm_steps() -> StepFigure:
    """A preemption storm, iteration by iteration."""
    return storm()


def little() -> LiveFigure:
    """Running and waiting requests against the rate, by Little's law."""
    names = ("arrival_rate", "system_s", "queue_s")
    return LiveFigure(
        name="little",
        title="Rate times time is how many: in the queue, and in the batch",
        chart=charts.little,
        controls=(
            Slider(quantity("arrival_rate"), RATES, 2.0, "Requests per second"),
            Slider(quantity("system_s"), LATENCIES_S, 5.0, "Mean latency"),
            Slider(quantity("queue_s"), QUEUES_S, 1.0, "Of it in the queue"),
        ),
        derived={
            "running_mean": Bound(f.RUNNING_MEAN, **{n: n for n in names}),
            "waiting_mean": Bound(
                f.WAITING_MEAN, arrival_rate="arrival_rate", queue_s="queue_s"
            ),
        },
        readouts=(
            Readout("running_mean", "Running, mean"),
            Readout("waiting_mean", "Waiting, mean"),
        ),
        sentence=(
            "At {arrival_rate}, with a mean latency of {system_s} of which {queue_s} "
            "pass in the queue, {running_mean} run and {waiting_mean} wait on average."
        ),
        goal=Goal(
            f"a dashboard shows {SEEN_RUNNING:.0f} requests running and "
            f"{SEEN_WAITING:.0f} waiting at {SEEN_PER_S:.0f} requests per second; find "
            "the latency and the queue time that it does not show.",
            lambda arrival_rate, running_mean, waiting_mean: (
                (arrival_rate >= SEEN_PER_S)
                & (arrival_rate <= SEEN_PER_S)
                & (running_mean >= SEEN_RUNNING - HALF)
                & (running_mean <= SEEN_RUNNING + HALF)
                & (waiting_mean >= SEEN_WAITING - HALF)
                & (waiting_mean <= SEEN_WAITING + HALF)
            ),
            {"arrival_rate": 3.0, "system_s": 10.0, "queue_s": 2.0},
        ),
    )
