"""Mutation testing: defects to plant, and the tests that must turn red.

- :mod:`planted.defect`: one change of one file, and how it is put there;
- :mod:`planted.formulas`, :mod:`planted.catalog`: which;
- :mod:`planted.sandbox`: a copy of the tree in which the tests run.
"""
