"""A mixture of experts stores much and touches little; the batch decides how little.

Chapter 7, equations (7.1) to (7.24), in four files:

- :mod:`llmserve_lab.moe.sizes`: parameters stored, parameters touched;
- :mod:`llmserve_lab.moe.touched`: what a whole batch touches, and what a slice reaches;
- :mod:`llmserve_lab.moe.traffic`: what ranks send each other;
- :mod:`llmserve_lab.moe.skew`: what happens when all want the same experts.

Source: article 07 ("MoE and Expert Parallelism").
"""

from llmserve_lab.moe.sizes import *  # noqa: F403
from llmserve_lab.moe.skew import *  # noqa: F403
from llmserve_lab.moe.touched import *  # noqa: F403
from llmserve_lab.moe.traffic import *  # noqa: F403
