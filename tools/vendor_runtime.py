"""Put the Vega runtime among the book's own files, so that no page asks a network.

`vl_convert` carries Vega, Vega-Lite and vega-embed in one bundle. Its top-level names
would collide with those of Sphinx on the same page (`Identifier '_' has already been
declared`), so it is wrapped in a function; `window.vegaEmbed` is all that leaves it.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = ROOT / "assets" / "vendor" / "vega.js"
EXPORT = "window.vegaEmbed = vegaEmbed;"


def banner() -> str:
    """The first line of the file: which release of the bundle it holds."""
    return f"/* Vega runtime of vl-convert-python {version('vl-convert-python')} */\n"


def wrapped(bundle: str) -> str:
    """The bundle as one classic script that shares no top-level name with the page."""
    return f"{banner()}(function () {{\n{bundle}\n}})();\n"


def vendor(path: Path = RUNTIME) -> bool:
    """Write the runtime to `path`; return whether that was needed."""
    if path.is_file() and path.read_text("utf8").startswith(banner()):
        return False
    import vl_convert  # slow to load, and needed only once

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(wrapped(vl_convert.javascript_bundle(EXPORT)), "utf8")
    return True


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    if vendor():
        print(f"wrote {RUNTIME.relative_to(ROOT)}")
