"""An iteration lasts as long as its largest piece; a chunk bounds the piece.

Chapter 5, equations (5.1) to (5.24). The formulas stand in three files:

- :mod:`llmserve_lab.chunked_prefill.mixture`: an iteration of a chunk and of decodes;
- :mod:`llmserve_lab.chunked_prefill.price`: what cutting a prompt into chunks costs;
- :mod:`llmserve_lab.chunked_prefill.budget`: how large a chunk may be.

Sources: article 05 ("ORCA and chunked prefill"), Yu et al. 2022 and Agrawal et al. 2024
for the two ideas themselves.
"""

from llmserve_lab.chunked_prefill.budget import *  # noqa: F403
from llmserve_lab.chunked_prefill.mixture import *  # noqa: F403
from llmserve_lab.chunked_prefill.price import *  # noqa: F403
