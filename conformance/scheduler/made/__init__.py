"""Scenarios from a seed: a cluster, what runs in it, and gangs that fit it, do not fit it, or are wrong.

The same seed gives the same scenario. Written from the documentation of the objects, not from the predictions.
"""
