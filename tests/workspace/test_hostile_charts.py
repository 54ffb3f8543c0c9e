"""Charts that attack whoever renders them: nothing leaves the machine, nothing outside of the repository is read, and
each one comes to an end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from krmfn.workspace import helm as rendering
from krmfn.workspace import sandbox
from tests.workspace.charts import APPLICATION, helm, make_chart, nest
from tests.workspace.test_worlds import folder, run, write

__all__ = ["folder", "helm"]
TRAP = "#!/bin/sh\necho sprung >> {}\ncat\n"
_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: %s}\n"


@pytest.fixture
def visitors(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """A server that everything which leaves a program would reach, by the proxies and names of the environment."""
    found: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            while True:
                try:
                    connection, address = server.accept()
                except OSError:
                    return
                found.append(address)
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        monkeypatch.setenv("SERVER", f"127.0.0.1:{port}")
        yield found


def show(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return run(capsys, "validate", "--allow-helm", "-v", *words, ".")[1]


def deploy(folder: Path, chart: dict[str, str], helm: str = "") -> None:
    write(folder, {**nest("charts/app", chart), "apps/train.yaml": APPLICATION.replace("HELM", helm)})


NETWORK = {
    "a subchart": ("dependencies: [{name: far, version: 1.0.0, repository: 'http://SERVER/charts'}]\n", ""),
    "a registry": ("dependencies: [{name: far, version: 1.0.0, repository: 'oci://SERVER/charts'}]\n", ""),
    "values": ("", "helm: {valueFiles: ['http://SERVER/values.yaml']}"),
    "the text of a value": ("", "helm: {fileParameters: [{name: a, path: 'http://SERVER/text'}]}"),
    "the name of a value": ("", "helm: {fileParameters: [{name: 'a=http://SERVER/text,b', path: Chart.yaml}]}"),
    "an option": ("", "helm: {releaseName: '--repo=http://SERVER/charts'}"),
}


@pytest.mark.parametrize("name", NETWORK)
def test_nothing_is_fetched(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], visitors: list[object]
) -> None:
    more, helm = (text.replace("SERVER", os.environ["SERVER"]) for text in NETWORK[name])
    deploy(folder, make_chart("app", more, templates__map=_MAP % "b"), helm)
    out = show(capsys, "--select", "not-rendered")
    assert out.count("[not-rendered]") == 1
    assert visitors == []


def test_a_cluster_is_not_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], visitors: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = f"clusters: [{{name: a, cluster: {{server: 'http://{os.environ['SERVER']}'}}}}]\n"
    config = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
    write(folder, {"kubeconfig": config + server})
    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
    found = '(lookup "v1" "Secret" "ml" "token" | len) (getHostByName "localhost" | default "nobody")'
    deploy(folder, make_chart(templates__map=f'{{{{ fail (printf "%d-%s" {found}) }}}}'))
    assert ": 0-nobody (" in show(capsys)
    assert visitors == []


def test_the_environment_is_not_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy(folder, make_chart(templates__map='{{ fail (env "PATH") }}'))
    assert 'function "env" not defined' in show(capsys)


#: What somebody may get helm to do when krmfn has started it: the words, by what must not happen.
TRIES = {
    "plugin": ("trap",),
    "post-renderer": ("template", "a", "CHART", "--post-renderer", "trap-post"),
    "getter": ("template", "a", "CHART", "--values", "trap://a/values.yaml"),
    "values of this machine": ("template", "a", "CHART", "--values", "http://SERVER/values.yaml"),
    "chart of this machine": ("template", "a", "far", "--repo", "http://SERVER"),
    "values of another": ("template", "a", "CHART", "--values", "http://charts.example.com/values.yaml"),
    "registry": ("template", "a", "oci://SERVER/far", "--plain-http"),
}
_PLUGIN = "apiVersion: v1\nversion: 0.1.0\nruntime: subprocess\n"
_RUN = "{platformCommand: [{command: $HELM_PLUGIN_DIR/trap.sh}]}"
PLUGINS = {
    "trap": f"{_PLUGIN}name: trap\ntype: cli/v1\nruntimeConfig: {_RUN}\nconfig: {{usage: trap, shortHelp: trap}}\n",
    "trap-post": f"{_PLUGIN}name: trap-post\ntype: postrenderer/v1\nruntimeConfig: {_RUN}\n",
    "trap-get": f"{_PLUGIN}name: trap-get\ntype: getter/v1\nconfig: {{protocols: [trap]}}\n"
    f"runtimeConfig: {{protocolCommands: [{{protocols: [trap], platformCommand: [{{command: ./trap.sh}}]}}]}}\n",
}
#: In the place of helm: does all that somebody may try, as krmfn has started it, and then what krmfn asked it to do.
_WRAPPER = """#!{python}
import json, os, subprocess, sys
told = {{}}
for name, words in json.load(open({tries!r})).items():
    words = [sys.argv[-1] if word == "CHART" else word for word in words]
    told[name] = subprocess.run([{helm!r}, *words], capture_output=True, timeout=50).returncode
json.dump(told, open({told!r}, "w"))
os.execv({helm!r}, [{helm!r}, *sys.argv[1:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["HELM_PLUGINS", "HELM_DATA_HOME", "XDG_DATA_HOME", "HOME"])
def test_helm_itself_gets_nowhere(
    place: str,
    folder: Path,
    helm: str,
    capsys: pytest.CaptureFixture[str],
    visitors: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same words succeed, or reach the server, in the environment of the test: that is tried first."""
    for name in ("HELM_PLUGINS", "HELM_DATA_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    home, sprung = folder.parent / "home", folder.parent / "sprung"
    below = {"HELM_DATA_HOME": "plugins", "XDG_DATA_HOME": "helm/plugins", "HOME": ".local/share/helm/plugins"}
    for name, text in PLUGINS.items():
        write(home / below.get(place, ""), {f"{name}/plugin.yaml": text, f"{name}/trap.sh": TRAP.format(sprung)})
        (home / below.get(place, "") / name / "trap.sh").chmod(0o755)
    monkeypatch.setenv(place, str(home))
    deploy(folder, make_chart(templates__map=_MAP % "b"))
    tries = json.dumps(TRIES).replace("SERVER", os.environ["SERVER"])
    for words in json.loads(tries.replace("CHART", "charts/app")).values():
        subprocess.run([helm, *words], capture_output=True, check=False, timeout=50)
    assert sprung.read_text().split() == ["sprung"] * 3
    assert len(visitors) >= 4
    sprung.unlink()
    visitors.clear()

    told = folder.parent / "told.json"
    write(folder.parent, {"tries.json": tries})
    names = {"python": sys.executable, "helm": helm, "tries": str(folder.parent / "tries.json"), "told": str(told)}
    write(folder.parent, {"bin/helm": _WRAPPER.format(**names)})
    (folder.parent / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder.parent / "bin"), prepend=os.pathsep)
    assert "[not-rendered]" not in show(capsys)
    assert json.loads(told.read_text()) == dict.fromkeys(TRIES, 1)
    assert not sprung.exists()
    assert visitors == []


#: In the place of helm: leaves a trace, asks for every kind of socket, and connects to the server.
_SOCKETS = """#!{python}
import json, socket
told = []
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET):
    try:
        made = socket.socket(family, socket.SOCK_RAW if family > socket.AF_INET6 else socket.SOCK_STREAM)
        told.append(str(family))
        if family == socket.AF_INET:
            made.connect(("127.0.0.1", {port}))
    except OSError as error:
        told.append(error.strerror)
json.dump(told, open({told!r}, "w"))
"""


@pytest.fixture
def told(folder: Path, monkeypatch: pytest.MonkeyPatch, visitors: list[object]) -> Path:
    """What such a helm leaves behind. A program `unshare` that fails is on the PATH as well."""
    path = folder.parent / "told.json"
    text = _SOCKETS.format(python=sys.executable, port=os.environ["SERVER"].partition(":")[2], told=str(path))
    write(folder.parent, {"bin/helm": text, "bin/unshare": "#!/bin/sh\nexit 1\n"})
    for name in ("helm", "unshare"):
        (folder.parent / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder.parent / "bin"), prepend=os.pathsep)
    deploy(folder, make_chart(templates__map=_MAP % "b"))
    return path


linux = pytest.mark.skipif(sys.platform != "linux", reason="promised on Linux alone")


@linux
def test_helm_gets_no_socket(
    told: Path, folder: Path, capsys: pytest.CaptureFixture[str], visitors: list[object]
) -> None:
    subprocess.run(["helm"], check=True, timeout=50)
    assert len(visitors) == 1  # the program connects where it can
    show(capsys)
    assert json.loads(told.read_text()) == ["Permission denied"] * 5
    assert len(visitors) == 1


@linux
@pytest.mark.parametrize("sockets", [{}, {os.uname().machine: (0xC000003E, 999)}], ids=["unknown", "without effect"])
def test_helm_is_not_run_where_nothing_takes_its_network_away(
    sockets: dict[str, tuple[int, int]],
    told: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the system is asked for has no effect, as where it refuses to be asked."""
    monkeypatch.setattr(sandbox, "_SOCKETS", sockets)
    out = show(capsys, "--select", "not-rendered")
    assert out.count("needs helm without a network, and this system does not let krmfn take it away") == 1
    assert not told.exists()


def test_plugins_are_not_run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = """\
apiVersion: v1
name: trap
version: 0.1.0
type: getter/v1
runtime: subprocess
runtimeConfig: {protocolCommands: [{protocols: [trap], platformCommand: [{command: ./trap.sh}]}]}
config: {protocols: [trap]}
"""
    trap = f"#!/bin/sh\ntouch {folder}/sprung\n"
    write(folder, {"plugins/trap/plugin.yaml": plugin, "plugins/trap/trap.sh": trap})
    (folder / "plugins/trap/trap.sh").chmod(0o755)
    monkeypatch.setenv("HELM_PLUGINS", str(folder / "plugins"))
    deploy(folder, make_chart(templates__map=_MAP % "b"), "helm: {valueFiles: ['trap://a/values.yaml']}")
    assert "uses trap://a/values.yaml" in show(capsys)
    assert not (folder / "sprung").exists()


OUTSIDE = {
    "a template": "templates/map.yaml",
    "a file": "secret.txt",
    "values": "values.yaml",
    "a folder": "templates/more",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_links_do_not_leave_the_repository(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = folder.parent / "outside"
    (outside / "below").mkdir(parents=True)
    (outside / "secret").write_text("token: hush\n")
    deploy(folder, make_chart(templates__first='{{ fail (print (.Files.Get "secret.txt") .Values.token) }}'))
    link = folder / "charts/app" / OUTSIDE[name]
    link.unlink(missing_ok=True)
    link.symlink_to(outside / ("below" if name == "a folder" else "secret"))
    out = show(capsys, "--select", "not-rendered")
    assert out.count("[not-rendered]") == 1
    assert "is a link that leaves" in out
    assert "hush" not in out


ABOVE = ("../../secret.txt", "/etc/hostname", "templates/../../../secret.txt")


@pytest.mark.parametrize("path", ABOVE)
def test_files_above_the_chart_are_not_in_it(path: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"secret.txt": "hush"})
    deploy(folder, make_chart(templates__map=f'{{{{ fail (printf "<%s>" (.Files.Get "{path}")) }}}}'))
    assert ": <> (" in show(capsys)


@pytest.mark.parametrize("field", ["valueFiles: [FILE]", "fileParameters: [{name: a, path: FILE}]"])
def test_values_above_the_repository_are_refused(field: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "secret.yaml").write_text("a: hush\n")
    helm = "helm: {" + field.replace("FILE", "../../../secret.yaml") + "}"
    deploy(folder, make_chart(templates__map="{{ fail (toJson .Values) }}"), helm)
    out = show(capsys, "--select", "not-rendered")
    assert "is outside of" in out
    assert "hush" not in out


def test_the_name_of_a_value_names_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "secret.yaml").write_text("hush")
    helm = f"helm: {{fileParameters: [{{name: 'a={folder.parent}/secret.yaml,b', path: Chart.yaml}}]}}"
    deploy(folder, make_chart(templates__map="{{ fail (toJson .Values) }}"), helm)
    out = show(capsys, "--select", "not-rendered")
    assert "which is not the name of one value" in out
    assert "hush" not in out


def test_a_circle_of_links_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy(folder, make_chart(templates__map=_MAP % "b"))
    for name in ("a", "b"):
        (folder / "charts/app/templates" / name).symlink_to(".")
    assert "is a chart of more than" in show(capsys)


ENDLESS = {
    "a recursion": '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
    "a loop": "{{ range until 2000000000 }}{{ end }}",
    "100 MB": "a: {{ repeat 104857600 `x` }}\n",
    "many objects": "{{ range until 600000 }}\n---\nkind: ConfigMap\nmetadata: {name: a{{ . }}}\n{{ end }}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_every_chart_ends(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "_MOST_SECONDS", 2.0)
    deploy(folder, make_chart(templates__map=ENDLESS[name]))
    begin = time.monotonic()
    assert show(capsys, "--select", "not-rendered").count("[not-rendered]") == 1
    assert time.monotonic() - begin < 30


def test_values_that_hold_themselves_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    laughs += "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(9))
    for text in ("a: &a {b: *a}\n", laughs):
        deploy(folder, make_chart(templates__map=_MAP % "b") | {"values.yaml": text})
        assert show(capsys, "--select", "not-rendered").count("[not-rendered]") == 1


def test_nothing_stays_behind(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = folder.parent / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    deploy(folder, make_chart(templates__map=_MAP % "b"))
    assert "[not-rendered]" not in show(capsys)
    assert list(temporary.iterdir()) == []
