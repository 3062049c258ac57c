"""A figure of the book is made once in a process, whichever tests ask for it.

Some hundred tests here look at the same figures, each from another side, and to make
one runs what it shows. None of them changes a figure: it is frozen.
"""

from functools import cache

from llmserve_lab.page.live import registry

for makers in (registry.figures(), registry.steps()):
    makers.update({name: cache(make) for name, make in makers.items()})
