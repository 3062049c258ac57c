"""Rows and pairs of a batch of unlike lengths, in closed form."""

from llmserve_lab.varlen.formulas.rows_and_pairs import *  # noqa: F403
