"""An iteration lasts as long as its largest piece; a chunk bounds the piece.

The formulas stand in four files:

- ``mixed_batch``: an iteration of a chunk and of decodes;
- ``chunk_cost``: what cutting a prompt into chunks costs;
- ``budget``: how large a chunk may be;
- ``served``: the same on a machine as servers reach it.

Sources: article 05 ("ORCA and chunked prefill"), Yu et al. 2022 and Agrawal et al. 2024
for the two ideas themselves.
"""

from llmserve_lab.continuous_batching.formulas.budget import *  # noqa: F403
from llmserve_lab.continuous_batching.formulas.chunk_cost import *  # noqa: F403
from llmserve_lab.continuous_batching.formulas.mixed_batch import *  # noqa: F403
from llmserve_lab.continuous_batching.formulas.served import *  # noqa: F403
