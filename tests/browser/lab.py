"""A JupyterLab of its own for a test: any root, any base URL, nothing of the user's."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from lab_extension import assemble

PROGRAM = Path(sys.executable).parent / "jupyter"
START_S = 90.0
SCROLL_PX = 700
DARK = '{"theme": "JupyterLab Dark"}'
THEMES = "@jupyterlab/apputils-extension/themes.jupyterlab-settings"
BOTTOM = """() => {
  const page = document.querySelector(".jp-WindowedPanel-outer");
  page.scrollTop += %d;
  return page.scrollTop + page.clientHeight >= page.scrollHeight - 2;
}"""


def environment(home: Path) -> dict[str, str]:
    """Settings, trust, workspaces and kernels of nobody, and the tree's extension."""
    assemble(home / "share")
    own = {
        "JUPYTER_PATH": home / "share",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
    }
    return {**os.environ, **{name: str(path) for name, path in own.items()}}


def in_the_dark(home: Path) -> None:
    """Store the wish for the dark theme, as JupyterLab does."""
    place = home / "settings" / THEMES
    place.parent.mkdir(parents=True)
    place.write_text(DARK, "utf8")


def trust(home: Path, notebook: Path) -> None:
    """Sign a notebook for this home."""
    command = [str(PROGRAM), "trust", str(notebook)]
    subprocess.run(command, env=environment(home), check=True, capture_output=True)


def free_port() -> int:
    """A port that no other server on this machine listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def lab(home: Path, root: Path, base: str) -> Iterator[str]:
    """A server that shows ``root`` under ``base``; gives the address of its tree."""
    port = free_port()
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.base_url={base}",
        f"--ServerApp.root_dir={root}",
        "--IdentityProvider.token=",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with open(home / "log.txt", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [str(PROGRAM), "lab", *options],
            env=environment(home),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        address = f"http://127.0.0.1:{port}{base}"
        try:
            wait_for(f"{address}api", server)
            yield f"{address}lab/tree/"
        finally:
            server.terminate()
            server.wait(timeout=30)


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    """Until the server answers.

    Raises:
        RuntimeError: it stopped, or did not answer in time.
    """
    ends = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < ends:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise RuntimeError(f"JupyterLab did not answer at {address}")


def read_through(page: Page) -> None:
    """Scroll to the end: JupyterLab draws only the cells that are in sight."""
    while not page.evaluate(BOTTOM % SCROLL_PX):
        page.wait_for_timeout(250)
    page.wait_for_timeout(500)
