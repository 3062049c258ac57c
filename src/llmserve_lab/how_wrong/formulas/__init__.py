"""The relative error of a prediction, and what it says about the next one."""

from llmserve_lab.how_wrong.formulas.error import *  # noqa: F403
