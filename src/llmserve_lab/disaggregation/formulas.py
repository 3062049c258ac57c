"""Two pools instead of one engine: what is handed over, how many GPUs, what they carry.

Chapter 6, equations (6.1) to (6.38), in four files:

- :mod:`llmserve_lab.disaggregation.handing`: the cache that travels;
- :mod:`llmserve_lab.disaggregation.pools`: GPUs for each phase, and what a user feels;
- :mod:`llmserve_lab.disaggregation.gpu_time`: the GPU time of a request;
- :mod:`llmserve_lab.disaggregation.capacity`: one engine or two pools.

Sources: article 06 ("Prefill and decode disaggregation") §4–7, and the sections of
the scaling chapter on disaggregation and cost.
"""

from llmserve_lab.disaggregation.capacity import *  # noqa: F403
from llmserve_lab.disaggregation.gpu_time import *  # noqa: F403
from llmserve_lab.disaggregation.handing import *  # noqa: F403
from llmserve_lab.disaggregation.pools import *  # noqa: F403
