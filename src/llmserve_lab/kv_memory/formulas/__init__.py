"""What fits into the memory of a GPU, and what paging, sharing and swapping do."""

from llmserve_lab.kv_memory.formulas.capacity import *  # noqa: F403
from llmserve_lab.kv_memory.formulas.paging import *  # noqa: F403
