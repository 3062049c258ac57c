"""Pipelines, rings and attention that is not cut, in closed form."""

from llmserve_lab.parallelism.formulas.pipeline import *  # noqa: F403
from llmserve_lab.parallelism.formulas.ring_attention import *  # noqa: F403
from llmserve_lab.parallelism.formulas.servers import *  # noqa: F403
