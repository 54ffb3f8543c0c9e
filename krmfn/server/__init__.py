"""The API server, offline: in goes an object, the stored one, a release with its gates, the way a change is sent; out
comes what kube-apiserver would say: same verdict, same fields, same types, same texts. Knows no gang, file or report.

Covers Workload, PodGroup, CompositePodGroup completely and, in pods and the kinds that hold pod templates, the group
fields; in Job and CronJob also `spec.scheduling` and what it refers to. The rules are data in `schemas/kubernetes/`;
the modules here know keywords:

| module | holds |
|---|---|
| `door`, `requests`, `apply`, `merging`, `threeway` | the order of a request, what a patch leads to |
| `decode` | JSON to the object in memory, or the texts of HTTP 400 |
| `schema` | schema files compiled: fields with their rules; a kind as a release serves it |
| `strategy`, `admission` | defaults, dropped fields, system fields; the plugins that answer 403 |
| `declarative`, `metadata`, `groups`, `jobs`, `replicated`, `pods` | the rules |
| `cases`, `plain` | rows of fields and parts; what they cannot say of built-in kinds without pods |
| `others` | other built-in kinds by their shapes |
| `shipped`, `custom`, `structure`, `patterns`, `cel` | custom resources by definitions, also shipped ones |
| `definitions` | the definitions themselves |
| `spell`, `formats`, `verdict` | texts and answers |

A new Kubernetes release is a new folder of schemas (see `conformance/schemas`) and at most a new keyword here.
"""

from krmfn.server.admission import AdmissionFacts, PriorityClass
from krmfn.server.door import answer, kind_of
from krmfn.server.requests import create, hold
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, Mode, Verdict

__all__ = ["AdmissionFacts", "Cause", "Kind", "Mode", "PriorityClass", "Verdict", "answer", "create", "hold", "kind_of"]
