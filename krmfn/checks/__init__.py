"""What is wrong with the objects: checks take objects and yield findings; they change nothing and read no file.

| package | question |
|---|---|
| `server` | would the API server refuse it? Rules are keywords in `schemas/`; see there |
| `scheduler` | it is stored; will it ever be scheduled, and all at once? |
| `operator` | will KubeRay, the Job controller, Volcano, Kueue act as meant? |
| `gitops` | order of apply, names, finalizers, pruning, functions that did not run |

**How to add a rule** to one of the last three: open the topic's file (or add one and name it in the package's TOPICS);
write a function `(census, settings) -> Iterator[Finding]` that yields nothing when all is well; put the row above it,
`@rule("my-id", "error", "What is wrong in one sentence.")`; run `python docs/generate.py` and write the page that it
has begun, `docs/rules/my-id.md`: what goes wrong in the cluster, the smallest manifest that is found (`bad.yaml`), the
nearest one that is not (`good.yaml`), how to fix it, sources. The examples on the page are the rule's tests. A message
gives the value, the bound and the way out; the hint is one sentence that says what to do. Ids are permanent.

Checks import neither sources nor targets: how many pods a manifest makes comes in as `findings.Member`.
"""
