"""What is wrong with the objects: checks take objects and yield findings; they change nothing and read no file.

| package | question |
|---|---|
| `server` | would the API server refuse it? Rules are keywords in `schemas/`; see there |
| `scheduler` | it is stored; will it ever be scheduled, and all at once? |
| `operator` | will KubeRay, the Job controller, Volcano, Kueue act as meant? |
| `gitops` | order of apply, names, finalizers, pruning, functions that did not run |

**How to add a rule** to one of the last three: open the topic's file (or add one, under 300 lines, and name it in the
package's `list_checks`); write a function `(census, settings) -> Iterator[Finding]` that yields nothing when all is
well; append a `Check(Rule(...), function)` row to `CHECKS` in that file; put the smallest manifest that triggers it
into `tests/checks/cases/<rule id>/bad.yaml` and the nearest one that does not into `good.yaml`; run
`python -m krmfn.catalogue docs/rules` for the page. A message gives the value, the bound and the way out; the hint is
one sentence that says what to do. Ids are permanent.

Checks import neither sources nor targets: how many pods a manifest makes comes in as `findings.Member`.
"""
