"""Tokens of a pass, and what drafting and verifying cost.

- ``acceptance``: how many drafts are kept;
- ``cost``: the verification pass, the speedup, and where it ends.
"""

from llmserve_lab.speculative.formulas.acceptance import *  # noqa: F403
from llmserve_lab.speculative.formulas.cost import *  # noqa: F403
