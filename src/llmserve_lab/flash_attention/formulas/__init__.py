"""A running softmax, traffic in tiles, splits of the keys, in closed form.

- ``traffic``: bytes to and from memory, intensity, and what fits on the chip;
- ``splits``: the running sum, the merge, and the time of a decode in splits.
"""

from llmserve_lab.flash_attention.formulas.splits import *  # noqa: F403
from llmserve_lab.flash_attention.formulas.traffic import *  # noqa: F403
