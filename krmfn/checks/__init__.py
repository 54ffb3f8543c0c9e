"""What is wrong with the objects: checks take objects and yield findings; they change nothing and read no file.

| package | question |
|---|---|
| `server` | would the API server refuse it? Rules are keywords in `schemas/`; see there |
| `scheduler` | it is stored; will it ever be scheduled, and all at once? |
| `operator` | will KubeRay, the Job controller, Volcano, Kueue act as meant? |
| `gitops` | order of apply, names, finalizers, pruning, functions that did not run |

**How to add a rule** to one of the last three: write its row into `schemas/rules.json`, below the name of the stage
(severity, the sentence that says what is wrong, the message, and the hint, one sentence that says what to do); open the
topic's file (or add one and name it in the package's TOPICS); write a function `(census, settings) -> Matches`
that yields nothing when all is well, with `@rule("my-id")` above it; what it tells fills in the texts of the row. Run
`python docs/generate.py` and write the page that it has begun, `docs/rules/my-id.md`
(`docs/rules/deadline-counts-waiting.md` is one to copy). The examples on the page are the rule's tests: the smallest
manifest that is found, and the nearest one that is not. A message gives the value, the bound and the way out. Ids are
permanent.

What a rule asks about the cluster: `needs` in the row is for what a release must have for the rule to hold at all,
`settings.has(feature)` whether the gates that the user names bring a feature, `is_obeyed(census, settings, feature)`
whether the scheduler has it by the gates that the facts show. What the folder of the objects says is in the settings,
too (`base`, `rivals`). The examples are checked without a folder: tests/workspace shows a rule that needs one, and
`tests/checks/cases.py` lists it among FILES. A rule about what is not there has the trait `absence` in its row: it may
be where nobody looked.

Checks do not import sources: how many pods a manifest makes comes in as `survey.members.Member`.
"""
