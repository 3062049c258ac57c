"""Cutting a model saves time on every rank and costs time on every link.

Chapter 3. Equations (3.1) to (3.5) are the ring's and live with the collectives, in
:mod:`llmserve_lab.cluster.formulas`; (3.6) to (3.14) say what a block sends and keeps
(``traffic``), (3.15) to (3.20) how long it all takes
(``times``).

Sources: articles 02 and 03; Patarasuk and Yuan 2009 for the ring.
"""

from llmserve_lab.cluster.formulas import *  # noqa: F403
from llmserve_lab.tensor_parallel.formulas.times import *  # noqa: F403
from llmserve_lab.tensor_parallel.formulas.traffic import *  # noqa: F403
