"""Built-in kinds that make no pods and belong to no gang: what their validation says beyond their shape.

A kind is a row of `schemas/kubernetes/plain.json`, with rows of `fields.json` there for what is said of one field by
itself. What compares fields is a function here, which yields what a create or an update refuses. The function that a
row of a field names gets the kind, the value and its path.
"""
