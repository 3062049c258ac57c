"""A test that never turns red proves nothing: defects to plant, and who must see them.

- :mod:`planted.defect`: one change of one file, and how it is put there;
- :mod:`planted.outputs`, :mod:`planted.formulas`, :mod:`planted.catalog`: which;
- :mod:`planted.sandbox`: a copy of the tree in which the tests run.
"""
