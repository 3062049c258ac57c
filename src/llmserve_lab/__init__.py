"""How large language models are served: one formula, four lives.

Every chapter of the book stands on one small package here. Start with
:mod:`llmserve_lab.roofline`; the machinery that turns a formula into a page, a NumPy
function and a moving figure is :mod:`llmserve_lab.book`.
"""

__version__ = "0.1.0"
