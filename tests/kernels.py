"""Kernels of the chapters, forked off a process that has imported their libraries.

A kernel spends more time on the imports of IPython, SymPy and matplotlib than most
chapters spend on their cells. Here one process of each worker imports them, and every
chapter runs in a fork of it: a process of its own, with a namespace of its own, in
which nothing of the package itself has been imported yet.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import Any

# What most chapters import sooner or later; the rest each kernel imports by itself.
LIBRARIES = (
    "altair",
    "ipykernel.kernelapp",
    "ipywidgets",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "numpy.f2py",  # SymPy asks NumPy for all that it has
    "pint",
    "pygments.lexers.python",
    "scipy.stats",
    "sympy.codegen.ast",
    "sympy.physics.units",
    "vl_convert",
)
INLINE = "module://matplotlib_inline.backend_inline"  # as a kernel chooses


class Forked:
    """A kernel, as far as Jupyter's provisioner asks a process for anything."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Its end; the provisioner asks only when it has come."""
        return 0

    def send_signal(self, signum: int) -> None:
        os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def launch(cmd: list[str], *, env: dict[str, str], cwd: str, **_: Any) -> Forked:
    """What ``jupyter_client`` calls to start the kernel of a chapter."""
    arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
    server = _server()
    assert server.stdin and server.stdout
    print(json.dumps([arguments, env, cwd]), file=server.stdin, flush=True)
    return Forked(int(server.stdout.readline()))


@cache
def _server() -> subprocess.Popen[str]:
    """The process that forks; it ends with the one that has started it."""
    server = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"MPLBACKEND": INLINE, **os.environ},
        text=True,
    )
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Fork a kernel for each line that comes."""
    del sys.path[0]  # this folder
    for name in LIBRARIES:
        import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel
    for line in sys.stdin:
        if os.fork() == 0:
            return _run(*json.loads(line))


def _run(arguments: list[str], env: dict[str, str], cwd: str) -> None:
    """Be a kernel, in a session of its own: it is the session that is interrupted."""
    os.setsid()
    print(os.getpid(), flush=True)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    from ipykernel.kernelapp import IPKernelApp

    ends_with = f"--IPKernelApp.parent_handle={os.getppid()}"
    IPKernelApp.launch_instance([*arguments, ends_with])


if __name__ == "__main__":
    _serve()
