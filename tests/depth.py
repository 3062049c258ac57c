"""Number of random inputs that a test tries: few in `make test`, more in test-deep."""

import os

DEPTH = int(os.environ.get("DEEP", "1"))


def examples(few: int) -> int:
    """``few``, or as many times that as ``DEEP`` says."""
    return few * DEPTH
