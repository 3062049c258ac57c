"""The blind score of DeepSeek-V3's twin, as this page words it."""

from __future__ import annotations

from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.deepseek.evaluation.predictions import Score

GOAL, GOAL_BIAS = blind_runs.GOAL, blind_runs.GOAL_BIAS


def score() -> Score:
    """Errors of its decode steps that were predicted blind."""
    return blind_runs.blind_score()


def on(gpu: str) -> Score:
    """Of the blind steps those on one kind of GPU.

    Raises:
        KeyError: none was on such a GPU.
    """
    return blind_runs.parts()["GPU"][gpu]
