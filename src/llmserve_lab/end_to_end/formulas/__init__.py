"""A block has so many parameters, a loop so many rows and pairs; both are counted.

One request brings a prompt of s tokens and wants
u new ones. The formulas stand in two files:

- ``parameters``: what a block is made of;
- ``cost``: what an answer takes, run again or remembered.
"""

from llmserve_lab.end_to_end.formulas.cost import *  # noqa: F403
from llmserve_lab.end_to_end.formulas.parameters import *  # noqa: F403
