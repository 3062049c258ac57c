"""Many ranks run one program: each holds a part, collectives make them whole.

A program is a function whose first argument is its :class:`Rank`. :func:`run` runs it
on any number of ranks, in one process (``backend="lockstep"``) or on the processes that
``mpiexec`` has started (``backend="mpi"``), with the same result to the last bit, and
hands back what each rank returned and a :class:`Ledger` of all that was exchanged.
"""

from llmserve_lab.collectives.launch import ClusterRun, launched, run
from llmserve_lab.collectives.ledger import Ledger, Record
from llmserve_lab.collectives.rank import Rank
from llmserve_lab.collectives.rendezvous import ClusterError

__all__ = ["ClusterError", "ClusterRun", "Ledger", "Rank", "Record", "launched", "run"]
