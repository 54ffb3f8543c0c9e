"""Stage gitops: what goes wrong between Git and the cluster, although every object is right by itself.

Order of apply, names that a prefix broke, deletion and recreation, functions that did not run.
"""

TOPICS = ("applying", "naming", "functions")
