"""Run every benchmark of this folder: ``python -m benchmarks``."""

import sys
from importlib import import_module
from pathlib import Path


def names() -> list[str]:
    """The modules of this folder, found and not listed."""
    paths = Path(__file__).parent.glob("*.py")
    return sorted(path.stem for path in paths if not path.stem.startswith("_"))


def run() -> bool:
    """Print every line of every module that has a ``main``; are all limits kept?"""
    kept = True
    for name in names():
        module = import_module(f"benchmarks.{name}")
        if hasattr(module, "main"):
            for line in module.main():
                print(line, flush=True)
                kept &= line.kept
    return kept


if __name__ == "__main__":
    sys.exit(not run())
