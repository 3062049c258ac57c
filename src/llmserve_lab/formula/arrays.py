"""The array that formulas compute with: float64, of any shape."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
