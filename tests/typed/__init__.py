"""A small project as its author's editor sees it: checked by basedpyright, never run.

It uses every public name of `node.client` and `node.testing` and every method of the
chains; `tests/unit/test_typed_project.py` holds it to that.
"""
