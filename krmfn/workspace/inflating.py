"""The worlds of charts: what Argo CD and Flux deploy of the repository with helm."""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from krmfn.model.wording import join
from krmfn.workspace.deployers import MOST_DEPLOYMENTS, Placing, Repository, put_into
from krmfn.workspace.disk import is_below
from krmfn.workspace.helm import Chart, Helm, inflate, list_charts
from krmfn.workspace.rendering import end_with_signals
from krmfn.workspace.trees import CHART, SUFFIXES, NotRendered, Tree
from krmfn.workspace.world import Sources, World, find_sources, read_rendered


class ChartWorlds:
    """The worlds of the charts below a folder. `missing` are the keys of those that could not be rendered, `covered`
    the files that are in one, without links."""

    def __init__(self, tree: Tree, path: str, sources: Sources, helm: Helm) -> None:
        """Renders nothing yet."""
        self.missing: set[str] = set()
        self.covered: set[str] = set()
        self._tree = tree
        self._path = path
        self._sources = sources
        self._helm = helm

    def render(self, worlds: Sequence[World], tell: Callable[[str, NotRendered], None]) -> Iterator[World]:
        """Those that objects of other worlds deploy: with the values that they have there. `tell` gets the path of a
        chart that is not rendered, and why."""
        known = [item for world in worlds for item in world.items]
        repository = Repository(self._tree)
        here = os.path.abspath(self._tree.resolve(self._path))
        found: dict[tuple[str, str], tuple[World, Chart | NotRendered]] = {}
        for world in worlds:
            for name, chart in () if world.elsewhere else list_charts(repository, world.items, known):
                found.setdefault((name, repr(chart)), (world, chart))
                if len(found) == MOST_DEPLOYMENTS:
                    break
        folders = Counter(chart.folder for _, chart in found.values() if isinstance(chart, Chart))
        names = Counter(name for name, _ in found)
        with end_with_signals(), tempfile.TemporaryDirectory(prefix="krmfn-") as temporary:
            root = os.path.realpath(temporary)
            for (name, _), (parent, chart) in found.items():
                words = f"{name} in {parent.name}" if names[name] > 1 and parent.name else name
                if isinstance(chart, NotRendered):
                    tell(
                        parent.overlay or self._path,
                        NotRendered(f"deploys a chart with {name}, which {chart}", chart.hint),
                    )
                elif is_below(os.path.abspath(self._tree.resolve(chart.folder)), here):
                    suffix = "" if folders[chart.folder] == 1 else f" ({words})"
                    key = posixpath.relpath(chart.folder, self._path) + suffix
                    head = posixpath.join(chart.folder, CHART)
                    try:
                        yield self._make(
                            World(chart.folder + suffix, key, (), self._tree, chart.folder, (), head, rank=parent.rank),
                            chart,
                            root,
                        )
                    except NotRendered as reason:
                        self.missing.add(key)
                        tell(head, NotRendered(f"{reason} (for {name})", reason.hint, reason.place))

    def _make(self, world: World, chart: Chart, root: str) -> World:
        """A world with the objects of a chart. Raises NotRendered."""
        items = []
        paths: dict[int, str] = {}
        for path, text in inflate(self._tree, chart, self._helm, root):
            rendered = read_rendered(text, path).items
            items += rendered
            paths |= {id(item): path for item in rendered}
            if path.endswith(SUFFIXES) and "/crds/" in path:  # which helm applies as it is
                self.covered.add(self._tree.resolve(path))
        self.covered.add(self._tree.resolve(posixpath.join(chart.folder, CHART)))
        put_into(Placing(chart.namespace), items)
        sources = find_sources(items, paths, self._sources)
        left_out = (f"{join(chart.lacking)}, which are not in the repository",) if chart.lacking else ()
        return world._replace(
            items=items, sources=sources, left_out=left_out, templates={item.ref: paths[id(item)] for item in items}
        )
