"""What a module prints that runs on ranks: ``python -m module``, or under mpiexec."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

OPEN_MPI = {  # more ranks than cores, also where everyone is root
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent))


def printed(module: str, *launcher: str) -> tuple[str, str]:
    """What comes before the ranks, and what comes after."""
    done = subprocess.run(
        [*launcher, sys.executable, "-m", module],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | OPEN_MPI,
    )
    logits, _, ranks = done.stdout.partition("ranks:")
    return logits, ranks
