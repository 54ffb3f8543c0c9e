"""Built-in kinds that make no pods and belong to no gang: what their validation says beyond their shape.

A kind is a row of `schemas/kubernetes/plain.json` and a function here, which yields what a create or an update refuses.
"""
