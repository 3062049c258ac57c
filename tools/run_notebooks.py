"""Run every chapter and store what it printed: the one way an output enters a page.

A notebook is normalised as it is written (no times, no widget state, streams joined,
the kernel's patch version gone), so that running it twice changes no byte.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from named_links import filled, glued

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
FRONT = ROOT / "intro.ipynb"  # runs last: it adds up what the chapters say
TIMEOUT_S = 120

KERNEL = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
CELL_KEYS = {"mystnb", "tags"}
# What the built page hides is collapsed where a notebook is opened.
SOURCE_HIDDEN = {"remove-input", "hide-input", "remove-cell"}
# Where the package is not installed (Colab, say), the first cell installs it.
SETUP_ID = "the-package"
SETUP = """\
from importlib.util import find_spec

if find_spec("llmserve_lab") is None:
{remedy}"""
INSTALL = '    get_ipython().run_line_magic("pip", "install -q {wheel}")'
ASK = """\
    raise SystemExit(
        "The book's package is not installed here. Make its wheel in a clone of the "
        "book (`make wheel` writes it to dist/), upload that file beside this notebook "
        "(in Colab: the folder at the left), run `%pip install FILE.whl`, and go on."
    )"""
WIDGET = "application/vnd.jupyter.widget-view+json"

Node = dict[str, Any]


def joined_streams(outputs: list[Node]) -> list[Node]:
    """Outputs with each run of the same stream as one: how they split is chance."""
    kept: list[Node] = []
    for output in outputs:
        last = kept[-1] if kept else {}
        same = output["output_type"] == "stream" and last.get("name") == output["name"]
        if same:
            last["text"] = _text(last["text"]) + _text(output["text"])
        else:
            kept.append(dict(output))
    return kept


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def normalised_output(output: Node) -> Node:
    """One output without the random model id of a widget."""
    data = {k: v for k, v in output.get("data", {}).items() if k != WIDGET}
    return output | {"data": data} if data else output


def normalised_cell(cell: Node, position: int, taken: set[str]) -> Node:
    """One cell with an id of its own and only the metadata that the book reads."""
    cell = dict(cell)
    metadata = cell.get("metadata", {})
    cell["metadata"] = {k: v for k, v in metadata.items() if k in CELL_KEYS}
    cell["metadata"] |= collapsed(cell["metadata"].get("tags", []))
    if "outputs" in cell:
        outputs = joined_streams(cell["outputs"])
        cell["outputs"] = [normalised_output(output) for output in outputs]
    if cell.get("id") is None or cell["id"] in taken:
        seed = f"{position} {_text(cell['source'])}"
        cell["id"] = hashlib.sha256(seed.encode()).hexdigest()[:8]
    taken.add(cell["id"])
    return cell


def setup_source(wheel: str) -> str:
    """The first cell of a notebook; ``wheel`` is an address, or empty."""
    return SETUP.format(remedy=INSTALL.format(wheel=wheel) if wheel else ASK)


def with_setup(cells: list[Node]) -> list[Node]:
    """The cells after a first code cell that says where the package is from."""
    rest = [cell for cell in cells if cell.get("id") != SETUP_ID]
    codes = [n for n, cell in enumerate(rest) if cell["cell_type"] == "code"]
    if not codes:
        return rest
    address = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["wheel"]
    source = setup_source(address)
    setup: Node = {
        "cell_type": "code",
        "execution_count": None,
        "id": SETUP_ID,
        "metadata": {"tags": ["remove-cell"]},
        "outputs": [],
        "source": source,
    }
    old = [cell for cell in cells if cell.get("id") == SETUP_ID]
    same = old and _text(old[0]["source"]) == source
    first = old[0] if same else setup
    return [*rest[: codes[0]], first, *rest[codes[0] :]]


def collapsed(tags: list[str]) -> Node:
    """Metadata by which JupyterLab folds what the built page hides.

    The outputs stay open: what a hidden cell prints is where numbers are from.
    """
    is_folded = bool(SOURCE_HIDDEN & set(tags))
    return {"jupyter": {"source_hidden": True}} if is_folded else {}


def normalised(notebook: Node) -> Node:
    """The notebook with everything removed that a second run would write anew."""
    taken, numbers = set[str](), glued(notebook)
    own = with_setup(notebook["cells"])
    cells = [normalised_cell(c, n, taken) for n, c in enumerate(own)]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = filled(_text(cell["source"]), numbers)
    return {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


def serialised(notebook: Node) -> str:
    """The notebook as it lies on disk: nbformat's layout, LF at the end."""
    import nbformat

    text: str = nbformat.writes(nbformat.from_dict(normalised(notebook)), version=4)
    return text.rstrip("\n") + "\n"


def execute(path: Path, scratch: Path, progress: Any) -> str:
    """Run one notebook and store its outputs; say whether it changed, and its seconds.

    Raises:
        RuntimeError: a cell raised, with the notebook, the cell and the traceback.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    before = path.read_text("utf8")
    started: list[int] = []
    # Files, not ports: two notebooks that start at once cannot take the same one.
    sockets = {"transport": "ipc", "ip": str(scratch / path.stem)}
    client = NotebookClient(
        nbformat.from_dict(normalised(nbformat.v4.reads(before))),
        config=Config(KernelManager=sockets),
        timeout=TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell_index + 1),
        on_cell_complete=lambda cell, cell_index: progress.update(),
    )
    began = time.monotonic()
    try:
        client.execute()
    except Exception as error:
        cell = started[-1] if started else "none"
        raise RuntimeError(f"{error}\n{path.name}, cell {cell}: raised this") from error
    ran_s, after = time.monotonic() - began, serialised(client.nb)
    if after != before:
        path.write_text(after, "utf8", newline="\n")
    return f"{'unchanged' if after == before else 'rewritten'}, {ran_s:.1f} s"


def run_all(paths: list[Path], scratch: Path, workers: int) -> list[str]:
    """Run the notebooks, `workers` at a time; return one message for each failure."""
    from tqdm import tqdm

    cells = sum(len(json.loads(p.read_text("utf8"))["cells"]) for p in paths)
    failures: list[str] = []
    with (
        tqdm(total=cells, unit="cell", disable=None) as progress,
        ThreadPoolExecutor(workers) as pool,
    ):
        jobs = {path: pool.submit(execute, path, scratch, progress) for path in paths}
        for path, job in jobs.items():
            try:
                tqdm.write(f"{path.name}: {job.result()}")
            except Exception as error:  # reported, and every other notebook still runs
                failures.append(str(error))
    return failures


def main() -> None:
    """Read the command line, fix what could vary between runs, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    paths = options.notebooks or sorted(CHAPTERS.glob("*.ipynb"))
    last = [] if options.notebooks else [FRONT]
    with tempfile.TemporaryDirectory() as scratch:
        # An empty profile: the chapters must not see how this person set up IPython.
        os.environ |= {"PYTHONHASHSEED": "0", "IPYTHONDIR": scratch}
        failures = run_all(paths, Path(scratch), options.workers)
        failures += run_all(last, Path(scratch), 1)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
