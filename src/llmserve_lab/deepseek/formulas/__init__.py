"""A decode step of a mixture of experts with latent attention, term by term.

In three files:

- ``attention``: latent attention, its two forms;
- ``experts``: experts and the all-to-alls between them;
- ``step``: the whole step, overlap, memory.

The two formulas of latent attention that the roofline stands on are shown here, too.

Source: Mazurek and Schreiber, "DeepSeek Inference Theoretical Model", 2025.
"""

from llmserve_lab.deepseek.formulas.attention import *  # noqa: F403
from llmserve_lab.deepseek.formulas.experts import *  # noqa: F403
from llmserve_lab.deepseek.formulas.step import *  # noqa: F403
from llmserve_lab.roofline.formulas import (
    ATTN_FLOPS_PER_PAIR_MLA as ATTN_FLOPS_PER_PAIR_MLA,
)
from llmserve_lab.roofline.formulas import (
    KV_BYTES_PER_TOKEN_MLA as KV_BYTES_PER_TOKEN_MLA,
)
