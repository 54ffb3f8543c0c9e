"""Requests made up from a seed: valid objects of every kind, broken and changed in every way that a rule speaks of.

shapes     what a field can hold, and how a valid value is made
texts      strings that a format takes and does not take
kinds      the shapes of Workload, PodGroup, CompositePodGroup, Job, CronJob and Pod, by release
settle     what must agree between fields for an object to be valid
breakage   one mistake put somewhere (with values of wrongvalues)
changes    one edit of a stored object
oddities   cases written by hand
sweep      every place of an object in turn
mix        how many of each
"""
