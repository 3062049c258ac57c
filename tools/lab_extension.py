"""Lay out the JupyterLab extension as `pyproject.toml` installs it, in a folder.

`make lab` and the tests use what lies in the tree, not a copy installed earlier.
"""

import argparse
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "share/jupyter/"


def assemble(folder: Path) -> None:
    """Copy every file of the extension under ``folder``, a member of JUPYTER_PATH."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
    for target, patterns in project["tool"]["setuptools"]["data-files"].items():
        place = folder / target.removeprefix(PREFIX)
        place.mkdir(parents=True, exist_ok=True)
        for path in (each for pattern in patterns for each in ROOT.glob(pattern)):
            shutil.copy(path, place)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    assemble(parser.parse_args().folder)
