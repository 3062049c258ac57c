"""Attention in the tokens it reads, the FFN in the requests it serves: which ratio?

In four files:

- ``load``: how many tokens a full batch attends to;
- ``regimes``: the paper's period, throughput and best ratio;
- ``loop``: the same with the batch's own loop counted;
- ``hardware``: coefficients from a machine and a model.
"""

from llmserve_lab.afd.formulas.hardware import *  # noqa: F403
from llmserve_lab.afd.formulas.load import *  # noqa: F403
from llmserve_lab.afd.formulas.loop import *  # noqa: F403
from llmserve_lab.afd.formulas.regimes import *  # noqa: F403
