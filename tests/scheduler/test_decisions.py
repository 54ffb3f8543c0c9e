"""What real schedulers decided, against what is said of the same manifests: recorded scenarios, replayed offline.

`python -m conformance.scheduler replay --write` writes the list of what is missed.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from conformance.scheduler.compare import DISAGREE, MARKS, MISSED, ask, list_reasons
from conformance.scheduler.made.scenario import PROFILES, make_scenario
from conformance.scheduler.pods import expand
from conformance.scheduler.replay import Verdict, explain, predict, replay_one, started_groups
from conformance.scheduler.storage import DATA, read
from krmfn.workspace.simulator import find_simulator, simulate

MISSING = "no simulator on the PATH: ./dev simulator builds them"
#: At least so many scenarios of each release are recorded.
RECORDED = {"1.37": 1500, "1.36": 400, "1.35": 200}
#: So many of the gangs that never started are told by conditions alone.
TOLD = {"1.37": 0.94, "1.36": 0.92, "1.35": 0.87}

#: So many of the gangs that never started are told by conditions and simulator together.
TOLD_TOGETHER = 0.97
#: Every so many-th scenario is asked again where a simulator is installed.
SAMPLE = 128


@pytest.fixture(scope="module", params=[pytest.param("1.37", marks=pytest.mark.slow), "1.36", "1.35"])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def verdicts(release: str) -> list[tuple[Verdict, str]]:
    """Every root group of the release, with the reason why it would be missed."""
    return [
        (verdict, explain(scenario, verdict)) for scenario in read(DATA, release) for verdict in replay_one(scenario)
    ]


def test_enough_is_recorded(release: str) -> None:
    assert sum(1 for _ in read(DATA, release)) >= RECORDED[release]


@pytest.mark.slow
def test_nothing_that_ran_is_called_impossible(verdicts: list[tuple[Verdict, str]]) -> None:
    ran = [verdict for verdict, _ in verdicts if verdict.decided == "ran"]
    assert len(ran) > 300
    assert not [verdict for verdict in ran if verdict.claims]


def test_what_never_ran_is_told_or_listed_with_its_reason(release: str, verdicts: list[tuple[Verdict, str]]) -> None:
    never = [(verdict, reason) for verdict, reason in verdicts if verdict.decided == "never"]
    missed = {f"{v.scenario} {v.root}": reason for v, reason in never if not v.claims}
    assert missed == json.loads((MISSED / f"{release}.json").read_text()), (
        "python -m conformance.scheduler replay --write"
    )
    assert 1 - len(missed) / len(never) >= TOLD[release]


def test_every_reason_is_counted_with_what_a_proof_would_cost() -> None:
    table = (MISSED.parent / "README.md").read_text().partition(MARKS[0])[2].partition(MARKS[1])[0]
    assert table == list_reasons(), "python -m conformance.scheduler replay --write"
    told = sum(int(cell) for row in table.splitlines()[2:] for cell in row.split("|")[2:5])
    assert told == sum(len(json.loads((MISSED / f"{release}.json").read_text())) for release in RECORDED)


@pytest.mark.slow
def test_the_simulator_agrees_but_for_a_list(release: str, verdicts: list[tuple[Verdict, str]]) -> None:
    """All scenarios were given to the simulator, too; on which gangs it disagrees is listed."""
    wrong = json.loads((MISSED / f"{release}.simulated.json").read_text())
    names = {f"{verdict.scenario} {verdict.root}": verdict.decided for verdict, _ in verdicts}
    assert all(said.startswith(names[name]) for name, said in wrong.items())
    assert "ran, simulated: never" not in wrong.values()
    lost = [name for name, said in wrong.items() if said.startswith("never")]
    assert 1 - len(lost) / list(names.values()).count("never") >= TOLD_TOGETHER
    assert len(wrong) <= 0.02 * len(names)


@pytest.mark.slow
def test_the_words_are_the_schedulers(release: str) -> None:
    """Where it is told that no node takes a pod, the scheduler gave the pod the same message."""
    told = Counter[bool]()
    for scenario in read(DATA, release):
        for value, finding in predict(scenario):
            found = re.match(r"(0/\d+) nodes are available: (.*?); the gang", finding.message)
            gang = next(gang for gang in scenario["gangs"] if any(value is each for each in gang["objects"]))
            outcome = scenario["alone"].get(gang["name"])
            if not found or " in any domain of " in found[2] or outcome is None:
                continue
            mine = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in expand(value)}
            # A gang with a topology key is told of the nodes of a domain, not of all.
            said = {
                re.split(r"\. no new claims|\. preemption|\. not found|\.$", text.partition(": ")[2])[0].rstrip(".")
                for text, pods in outcome["said"]
                if f": {found[1]} nodes" in text and (not mine or mine & set(pods))
            }
            if said:
                told[f"{found[1]} nodes are available: {found[2]}" in said] += 1
    assert told.total() > 80
    assert told[True] / told.total() > 0.85


def list_installed() -> Iterator[str]:
    """The releases with a simulator on the PATH; "none" so that the test is there without any."""
    yield from [release for release in RECORDED if find_simulator(release)] or ["none"]


@pytest.mark.parametrize("installed", list(list_installed()))
def test_an_installed_simulator_answers_as_recorded(installed: str) -> None:
    if installed == "none":
        pytest.skip(MISSING)  # what they answered is recorded above
    wrong = json.loads((MISSED / f"{installed}.simulated.json").read_text())
    # Nothing binds claims in the recorded clusters; for a simulator they are taken to be bound in time.
    missed = json.loads((MISSED / f"{installed}.json").read_text())
    wrong |= {name: reason for name, reason in missed.items() if "something may bind it" in reason}
    for number, scenario in enumerate(read(DATA, installed)):
        if number % SAMPLE == 0:
            # What depends on the order may come out once this way and once that way.
            tries = [{f"{v.scenario} {v.root}" for v, said in ask(scenario, "") if (v.decided, said) in DISAGREE}]
            if tries[0] - set(wrong):
                tries.append(
                    {f"{v.scenario} {v.root}" for v, said in ask(scenario, "") if (v.decided, said) in DISAGREE}
                )
            assert not set.intersection(*tries) - set(wrong)


@pytest.mark.parametrize("installed", list(list_installed()))
def test_the_same_question_has_the_same_answer(installed: str) -> None:
    """Also where several nodes are equally good."""
    if installed == "none":
        pytest.skip(MISSING)
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number}"},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
        }
        for number in range(40)
    ]
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}", "namespace": "ml"},
            "spec": {"containers": [box]},
        }
        for number in range(20)
    ]
    trials = [{"name": str(seed), "seed": seed} for seed in (0, 3, 4)]
    question = {"gates": {}, "objects": [*nodes, *pods], "trials": trials}
    answers = [simulate(find_simulator(installed), question) for _ in range(3)]
    places = [[{name: place["node"] for name, place in trial["pods"].items()} for trial in each] for each in answers]
    assert places[0] == places[1] == places[2]
    assert places[0][1] != places[0][2]  # chance is seeded, not switched off


@pytest.mark.parametrize("installed", list(list_installed()))
def test_one_object_that_cannot_be_read_costs_no_answer(installed: str) -> None:
    """It is not stored, of a pod the API server's refusal is told, and of two of one name the last one counts."""
    if installed == "none":
        pytest.skip(MISSING)
    small, large = (
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "a"},
            "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
        }
        for cpu in ("1", "8")
    )
    box = {"name": "main", "image": "a", "resources": {"requests": {"cpu": "4"}}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"containers": boxes},
        }
        for name, boxes in (("fine", [box]), ("odd", "main"))
    ]
    others = [
        {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": "none"}
        for version in ("scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v0")
    ]
    question = {"objects": [small, large, *others, *pods], "trials": [{"name": "one"}]}
    (answer,) = simulate(find_simulator(installed), question)
    assert answer["pods"]["ml/fine"]["node"] == "a"
    assert "cannot restore" in answer["pods"]["ml/odd"]["refused"]


def test_a_seed_gives_one_scenario() -> None:
    for release in PROFILES:
        assert make_scenario(release, 7) == make_scenario(release, 7)
        assert make_scenario(release, 7) != make_scenario(release, 8)


def test_every_kind_of_cause_is_recorded() -> None:
    """The scenarios show what they are for: each reason of the filters, and each way to be refused."""
    said = Counter[str]()
    for scenario in read(DATA, "1.37"):
        for outcome in (scenario["together"], *scenario["alone"].values()):
            text = " ".join([*(message for message, _ in outcome["said"]), *outcome["refused"].values()])
            said.update(word for word in WORDS if word in text)
    assert not set(WORDS) - set(said)


WORDS = (
    *("Insufficient cpu", "Insufficient nvidia.com/gpu", "Too many pods", "untolerated taint", "were unschedulable"),
    *("node affinity/selector", "PersistentVolume's node affinity", "topology spread constraints", "free ports"),
    *("pod affinity rules", "pod anti-affinity rules", "no feasible placements", "minCount", "exceeded quota"),
    *("must specify", "maximum cpu usage", "RuntimeClass", "same priority", "must not be provided in pod"),
)


def test_a_gang_counts_as_started_when_its_quorum_is_bound() -> None:
    """The judge itself: a second reader of links, quorums and parents."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ml"},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ml"}}
    pods = [
        {
            **pod,
            "metadata": {"name": f"p{number}", "namespace": "ml"},
            "spec": {"schedulingGroup": {"podGroupName": "g"}},
        }
        for number in range(3)
    ]
    gang = {"name": "g", "objects": [{**group, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}, *pods]}
    for bound, started in ((["ml/p0"], False), (["ml/p0", "ml/p2"], True)):
        outcome = {"bound": dict.fromkeys(bound, "n1")}
        assert started_groups({"together": outcome, "alone": {}}, gang) == {"ml/g": started}
