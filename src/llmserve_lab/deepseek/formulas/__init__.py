"""A decode step of a mixture of experts with latent attention, term by term.

In three files:

- ``attention``: latent attention, its two forms;
- ``experts``: experts and the all-to-alls between them;
- ``step``: the whole step, overlap, memory.

Source: Mazurek and Schreiber, "DeepSeek Inference Theoretical Model", 2025.
"""

from llmserve_lab.deepseek.formulas.attention import *  # noqa: F403
from llmserve_lab.deepseek.formulas.experts import *  # noqa: F403
from llmserve_lab.deepseek.formulas.step import *  # noqa: F403
