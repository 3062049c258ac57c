"""Write what the page's scripts know of the package into `assets/tables.js`."""

import argparse
from pathlib import Path

from llmserve_lab import __version__
from llmserve_lab.page.browser import script

TABLES = Path(__file__).resolve().parents[1] / "assets" / "tables.js"

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    TABLES.write_text(script(__version__), "utf8")
