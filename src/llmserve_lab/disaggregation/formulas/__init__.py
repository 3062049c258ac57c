"""Two pools instead of one engine: what is handed over, how many GPUs, what they carry.

In five files:

- ``kv_transfer``: the cache that travels;
- ``pools``: the batch of a decode GPU, GPUs for each phase;
- ``latency``: what a user waits for;
- ``gpu_time``: one engine for both phases;
- ``capacity``: one engine or two pools.

Sources: article 06 ("Prefill and decode disaggregation") §4–7, and the sections of
the scaling chapter on disaggregation and cost.
"""

from llmserve_lab.disaggregation.formulas.capacity import *  # noqa: F403
from llmserve_lab.disaggregation.formulas.gpu_time import *  # noqa: F403
from llmserve_lab.disaggregation.formulas.kv_transfer import *  # noqa: F403
from llmserve_lab.disaggregation.formulas.latency import *  # noqa: F403
from llmserve_lab.disaggregation.formulas.pools import *  # noqa: F403
