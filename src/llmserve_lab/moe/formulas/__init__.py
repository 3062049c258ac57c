"""A mixture of experts stores much and touches little; the batch decides how little.

In five files:

- ``moe_params``: parameters stored, parameters touched;
- ``active_experts``: what a whole batch touches, and what a slice reaches;
- ``group_size``: what each GPU of a group holds, reads, computes and sends;
- ``traffic``: what ranks send each other;
- ``load_imbalance``: what happens when all want the same experts.

Source: article 07 ("MoE and Expert Parallelism").
"""

from llmserve_lab.moe.formulas.active_experts import *  # noqa: F403
from llmserve_lab.moe.formulas.group_size import *  # noqa: F403
from llmserve_lab.moe.formulas.load_imbalance import *  # noqa: F403
from llmserve_lab.moe.formulas.moe_params import *  # noqa: F403
from llmserve_lab.moe.formulas.traffic import *  # noqa: F403
