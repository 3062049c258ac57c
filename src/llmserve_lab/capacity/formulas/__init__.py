"""What a token costs, how long a queue is, and how many replicas a load takes.

- ``money``: dollars by token and request, busy and idle;
- ``load``: replicas, queues, and scaling with a cold start.
"""

from llmserve_lab.capacity.formulas.load import *  # noqa: F403
from llmserve_lab.capacity.formulas.money import *  # noqa: F403
