"""`krmfn facts`: what a dump of a cluster says, shrunk so that it can be committed."""

from __future__ import annotations

from krmfn.cli import Options, Words, streams
from krmfn.cli.configuration import merge_facts
from krmfn.cli.findings import show
from krmfn.model.marks import FACTS_KIND
from krmfn.reports import channels
from krmfn.reports.document import write_yaml
from krmfn.survey.condensing import Cutter, condense
from krmfn.workspace.clusters import read_clusters


def run(words: Words, options: Options) -> int:
    """Prints one object, of kind ClusterFacts, for --cluster and `spec.cluster.from`. Raises InputMissing."""
    cutter = Cutter()
    facts = condense(merge_facts(read_clusters(words, cutter)), not options["no_pods"], cutter)
    if not facts:
        streams.say(f"no facts in {' '.join(words)}: pass the output of kubectl get nodes -o yaml, and of other kinds")
    document = {"apiVersion": "krmfn.dev/v1alpha1", "kind": FACTS_KIND, "metadata": {"name": "cluster"}, "spec": facts}
    show(channels.json(document) if options["output"] == "json" else write_yaml(document), options)
    return 0
