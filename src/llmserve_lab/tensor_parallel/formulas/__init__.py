"""Cutting a model saves time on every rank and costs time on every link.

The ring's equations live with the collectives, in
:mod:`llmserve_lab.collectives.formulas`; here stands what a block sends and keeps
(``traffic``), and how long it all takes
(``times``).

Sources: articles 02 and 03; Patarasuk and Yuan 2009 for the ring.
"""

from llmserve_lab.collectives.formulas import *  # noqa: F403
from llmserve_lab.tensor_parallel.formulas.times import *  # noqa: F403
from llmserve_lab.tensor_parallel.formulas.traffic import *  # noqa: F403
