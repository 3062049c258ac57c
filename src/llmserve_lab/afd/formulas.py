"""Attention in the tokens it reads, the FFN in the requests it serves: which ratio?

Chapter 9, equations (9.1) to (9.38), in four files:

- :mod:`llmserve_lab.afd.loads`: how many tokens a full batch attends to;
- :mod:`llmserve_lab.afd.regimes`: the paper's period, throughput and best ratio;
- :mod:`llmserve_lab.afd.loops`: the same with the batch's own loop counted;
- :mod:`llmserve_lab.afd.hardware`: coefficients from a machine and a model.
"""

from llmserve_lab.afd.hardware import *  # noqa: F403
from llmserve_lab.afd.loads import *  # noqa: F403
from llmserve_lab.afd.loops import *  # noqa: F403
from llmserve_lab.afd.regimes import *  # noqa: F403
