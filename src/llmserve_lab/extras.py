"""Optional libraries by name: imported when used; a missing one is named.

A plain install computes with NumPy, SymPy and pint. What draws, fits, simulates events
or runs in a notebook is an extra, imported from here inside the function in need of it:
``from llmserve_lab.extras import pyplot as plt``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as altair
    import ipywidgets as ipywidgets  # type: ignore[import-untyped]
    import matplotlib as matplotlib
    import simpy as simpy
    import tqdm as tqdm
    import vl_convert as vl_convert
    from matplotlib import patches as patches
    from matplotlib import pyplot as pyplot
    from pygments import lexers as lexers  # type: ignore[import-untyped]
    from scipy import optimize as optimize
    from scipy import special as special
    from scipy import stats as stats

# Name here -> module, extra of pyproject.toml.
LIBRARIES = {
    "altair": ("altair", "plot"),
    "matplotlib": ("matplotlib", "plot"),
    "patches": ("matplotlib.patches", "plot"),
    "pyplot": ("matplotlib.pyplot", "plot"),
    "vl_convert": ("vl_convert", "plot"),
    "ipywidgets": ("ipywidgets", "notebook"),
    "lexers": ("pygments.lexers", "notebook"),
    "tqdm": ("tqdm.auto", "notebook"),
    "optimize": ("scipy.optimize", "science"),
    "special": ("scipy.special", "science"),
    "stats": ("scipy.stats", "science"),
    "simpy": ("simpy", "science"),
}


def __getattr__(name: str) -> Any:
    """Import an optional library.

    Raises:
        ModuleNotFoundError: it is not installed; the message says which extra has it.
    """
    if name not in LIBRARIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, extra = LIBRARIES[name]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".")[0]
        if error.name != package:  # it is there, and misses something of its own
            raise
        raise ModuleNotFoundError(
            f"{package} is needed for this: pip install 'llmserve-lab[{extra}]'",
            name=package,
        ) from None
