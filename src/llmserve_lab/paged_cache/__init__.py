"""PagedAttention's memory: blocks, block tables, copy-on-write, a prefix cache.

``BlockPool`` knows physical blocks (free list, reference counts, names of contents),
``PagedAllocator`` the requests that hold them. Neither knows what a block contains; the
transformer's arrays (:mod:`llmserve_lab.transformer.paged`) and the serving engine's
simulated memory (:mod:`llmserve_lab.engine.scheduler.paged_memory`) stand on them.
"""

from llmserve_lab.paged_cache.allocator import BlockCopy, PagedAllocator
from llmserve_lab.paged_cache.block_hash import ROOT, block_hash, chained_hashes
from llmserve_lab.paged_cache.block_pool import BlockEvent, BlockPool, NoFreeBlockError

__all__ = [
    "ROOT",
    "BlockCopy",
    "BlockEvent",
    "BlockPool",
    "NoFreeBlockError",
    "PagedAllocator",
    "block_hash",
    "chained_hashes",
]
