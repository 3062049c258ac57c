"""Little's law on a dashboard: gauges, rates and times that must fit together."""

from llmserve_lab.symptoms.formulas.littles_law import *  # noqa: F403
