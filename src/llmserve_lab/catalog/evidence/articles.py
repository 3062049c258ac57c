"""The articles' own round numbers, kept apart, or they would be taken for ours.

Where a table of a source is reproduced, these are the constants that reproduce it.
Everywhere else the book counts parameters and starts from the datasheet.
"""

from llmserve_lab.catalog.records.cited import Cited

ARTICLE_PARAMS = Cited(
    7e9,
    "parameter",
    "convention",
    "articles 05 and 06, Llama-2-7B",
    "the shapes count 6.74e9",
)
ARTICLE_FLOPS = Cited(
    500e12,
    "FLOP/s",
    "estimate",
    "articles 05 and 06, sustained fp16 matrix multiplication on an H100",
    "about half of the datasheet peak",
)
SCALING_HBM_BW = Cited(
    2000e9,
    "byte/s",
    "convention",
    "scaling chapter, example of 142.9 steps per second",
    "an idealised memory; the A100 80GB has 2039 GB/s",
)
