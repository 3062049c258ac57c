"""An iteration costs what it reads and what it multiplies; the larger bill decides.

One iteration takes B requests, each with ℓ tokens
in cache, through the model with c new rows each. Decode is c = 1 row; prefill is B = 1
and c in the thousands. The formulas stand in five files:

- ``work``: what an iteration reads and multiplies;
- ``limits``: intensity, ridge, and what crosses it;
- ``times``: seconds;
- ``served``: the laws of served iterations, which chapters make formulas with;
- ``utilisation``: what a measured iteration makes of the datasheet.

Sources: article 06 ("Prefill and decode disaggregation") §1–3, and Williams, Waterman
and Patterson 2009 for the roofline itself.
"""

from llmserve_lab.roofline.formulas.limits import *  # noqa: F403
from llmserve_lab.roofline.formulas.served import *  # noqa: F403
from llmserve_lab.roofline.formulas.times import *  # noqa: F403
from llmserve_lab.roofline.formulas.utilisation import *  # noqa: F403
from llmserve_lab.roofline.formulas.work import *  # noqa: F403
