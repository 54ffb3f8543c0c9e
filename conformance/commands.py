"""What each command of the rig does; arguments come parsed, the exit status goes out."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from conformance.accept import widest_profile
from conformance.again import ask_again
from conformance.build import build_programs
from conformance.ending import Unable
from conformance.fixtures import create_fixtures
from conformance.generate.mix import CORE, GOVERNING, OTHERS, TABLES, WITHOUT_PODS, cases
from conformance.living import Living
from conformance.oracles import ORACLES
from conformance.record import Recorder, applicable
from conformance.server import TOKEN, serve
from conformance.storage import Record, read_records, write_records
from conformance.threeway import run_threeway
from conformance.versions import HERE, Profile, list_profiles, make_release, predict_as, read_profiles, read_releases
from krmfn.releases.release import find_release, list_releases

DATA = HERE / "data"
#: Sets of records: which kinds are asked about, and how many cases there are unless the profile says so.
SETS: dict[str, tuple[Mapping[str, float], int]] = {
    "recorded": (CORE, 0),
    "others": (OTHERS, 250),
    "pods": (TABLES, 6000),
    "plain": (WITHOUT_PODS, 3500),
    "governing": (GOVERNING, 2000),
}
STOP = {signal.SIGINT, signal.SIGTERM}
COUNTS = {
    **{"1.35-was": 1700, "1.36-was": 570, "1.36-was-all": 4000, "1.37-was": 570, "1.37-was-all": 7000},
    **{"1.38-was": 570, "1.38-was-all": 4000},
}
#: Of a profile that is new.
COUNT = 2000
SEED = 20260


def add_commands(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    commands = parser.add_subparsers(required=True)
    releases, profiles = list(read_releases()), list(read_profiles())
    with_previews = list(read_releases(previews=True))

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=summary, description=summary)
        made.set_defaults(run=run)
        return made

    build = command("build", build_releases, "build the API servers of releases (default: all)")
    build.add_argument("releases", nargs="*", choices=[*with_previews, []], metavar="RELEASE")
    build.add_argument("--again", action="store_true", help="even if they are there")
    serving = command("serve", serve_profile, "run the server of a profile until interrupted")
    serving.add_argument("profile", choices=profiles)
    serving.add_argument("--kubeconfig", type=Path, help="write a kubeconfig for kubectl here")
    record = command("record", record_profiles, "record answers of real servers (default: all profiles)")
    record.add_argument("profiles", nargs="*", choices=[*profiles, []], metavar="PROFILE")
    record.add_argument("--seed", type=int, default=SEED)
    record.add_argument("--count", type=int, help="cases per profile (default: by profile)")
    record.add_argument("--set", choices=list(SETS), action="append", help="which records (default: all)")
    record.add_argument("--out", type=Path, default=DATA, help="folder of the sets")
    compare = command(
        "compare", compare_files, "compare the offline checker with recorded answers (default: all recorded)"
    )
    compare.add_argument("files", nargs="*", type=Path)
    compare.add_argument("--examples", type=int, default=3, help="per group of disagreements")
    compare.add_argument(
        "--as", dest="release", help="predict the answers of the release before as this one does: what it changes"
    )
    accept = command(
        "accept", accept_files, "send manifests to a real server with strict field validation, report refusals"
    )
    accept.add_argument(
        "server", choices=[*with_previews, *profiles], help="a release (its profile with most gates) or a profile"
    )
    accept.add_argument("paths", nargs="+", help="files, folders, or - for stdin")
    repositories = command(
        "repositories",
        survey_repositories,
        "check repositories, and ask a real server about every object in them",
    )
    repositories.add_argument("folders", nargs="+", help="the top folders of repositories")
    repositories.add_argument("--offline", action="store_true", help="ask no server")
    evidence = command("evidence", write_evidence, "count where each rule fired, and write docs/evidence.md")
    evidence.add_argument("folders", nargs="*", help="the top folders of public repositories: theirs are counted again")
    tags = command("tags", check_tags, "compare the tags of the Go types with the schemas")
    tags.add_argument("--extract", action="store_true", help="read the Go types anew and store what they say")
    shapes = command("shapes", compare_shapes, "ask real servers about kinds without rules here, compare")
    shapes.add_argument("--seed", type=int, default=1)
    shapes.add_argument("--count", type=int, default=25, help="objects per kind")
    shapes.add_argument("--record", action="store_true", help="keep the answers for the tests")
    custom = command("custom", compare_custom, "ask real servers about custom resources, compare")
    custom.add_argument("projects", nargs="*", metavar="PROJECT", help="of schemas/crds/projects.json (default: all)")
    custom.add_argument("--seed", type=int, default=1)
    custom.add_argument("--count", type=int, default=60, help="objects per kind and API version")
    custom.add_argument("--record", action="store_true", help="keep the answers for the tests")
    byhand = command("byhand", compare_byhand, "ask real servers what people thought of, compare")
    byhand.add_argument("releases", nargs="*", choices=[*releases, []], metavar="RELEASE")
    byhand.add_argument("--record", action="store_true", help="keep the answers for the tests")
    definitions = command("definitions", pack, "pack the CustomResourceDefinitions of other projects")
    definitions.add_argument(
        "projects", nargs="*", metavar="PROJECT", help="of schemas/crds/projects.json (default: all)"
    )
    definitions.add_argument("--again", action="store_true", help="also versions that are packed already")
    foreign = command(
        "foreign", record_foreign, "send the groups for other schedulers to a server that has their kinds"
    )
    foreign.add_argument("definitions", nargs="+", type=Path, help="files with a CustomResourceDefinition each")
    served = command("served", record_kinds, "store which kinds servers serve")
    served.add_argument("versions", nargs="*", help="exact versions, such as that of a preview (default: the list's)")
    numbers = command(
        "numbers", compare_numbers, "compare how krmfn and Go read quantities, times, labels and schedules"
    )
    numbers.add_argument("--seed", type=int, default=1)
    numbers.add_argument("--count", type=int, default=1000, help="cases per reader")
    numbers.add_argument("--record", action="store_true", help="keep the answers of Go for the tests")
    trainer = command(
        "trainer", compare_trainer, "compare the pods of TrainJobs with those that Kubeflow Trainer makes"
    )
    trainer.add_argument("--seed", type=int, default=1)
    trainer.add_argument("--count", type=int, default=300)
    trainer.add_argument("--record", action="store_true", help="keep the answers for the tests")
    for name, oracle in ORACLES.items():
        asking = command(name, compare_with_oracle, oracle.summary)
        asking.set_defaults(oracle=oracle)
        asking.add_argument("--seed", type=int, default=1)
        asking.add_argument("--count", type=int, default=oracle.cases)
        asking.add_argument("--record", action="store_true", help="keep the answers for the tests")
    again = command("again", repeat_files, "ask the questions of recorded files once more, show where answers differ")
    again.add_argument("files", nargs="+", type=Path)
    again.add_argument("--every", type=int, default=1, help="only every n-th record")
    following = command("next", rehearse_version, "build, ask and compare a version that is not in the list")
    following.add_argument("version", help="an exact version, such as 1.37.1")
    following.add_argument("--seed", type=int, default=SEED + 1)
    following.add_argument("--count", type=int, help="cases per profile (default: as recorded)")
    following.add_argument("--set", choices=list(SETS), action="append", help="which records (default: recorded)")
    following.add_argument("--examples", type=int, default=3, help="per group of disagreements")
    following.add_argument("--out", type=Path, help="keep the records in this folder")
    upgrade = command(
        "upgrade", rehearse_upgrades, "rehearse what krmfn upgrade prints, over one etcd (default: every step, and all)"
    )
    upgrade.add_argument("step", nargs="?", help="the releases before and after, such as 1.36-1.37")
    return parser


def build_releases(arguments: argparse.Namespace) -> int:
    for name in arguments.releases or list(read_releases()):
        for program in build_programs(read_releases(previews=True)[name], arguments.again):
            print(program)
    return 0


def serve_profile(arguments: argparse.Namespace) -> int:
    profile = read_profiles()[arguments.profile]
    with serve(profile) as running:
        create_fixtures(running.client, profile)
        if arguments.kubeconfig:
            arguments.kubeconfig.write_text(running.kubeconfig())
        print(f"https://127.0.0.1:{running.port} with bearer token {TOKEN}", flush=True)
        # Blocked only now: the two programs would inherit it.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        signal.sigwait(STOP)
    return 0


def record_profiles(arguments: argparse.Namespace) -> int:
    for name in arguments.profiles or list(read_profiles()):
        profile = read_profiles()[name]
        for folder in arguments.set or SETS:
            kinds, count = SETS[folder]
            wide = profile == widest_profile(profile.release.name)
            # Gates of groups change nothing in the kinds of these sets; earlier releases have other texts for the last
            # one, and not all of its kinds: byhand compares verdicts.
            newest = folder != "governing" or profile.release == list(read_releases().values())[-1]
            if folder in ("pods", "plain", "governing") and not (wide and newest):
                if arguments.set:
                    wanted = widest_profile(profile.release.name if newest else list(read_releases())[-1]).name
                    raise Unable(f"--set {folder} is recorded of {wanted}, not of {name}")
                continue
            number = arguments.count or count or COUNTS.get(name, COUNT)
            summary, records = record_profile(profile, arguments.seed, number, kinds)
            write_records(arguments.out / folder / f"{name}.jsonl.xz", records)
            print(summary, file=sys.stderr)
    return 0


def record_profile(profile: Profile, seed: int, count: int, kinds: Mapping[str, float]) -> tuple[str, list[Record]]:
    """The first `count` answered cases of a seed, after a summary in words."""
    began = time.monotonic()
    records: list[Record] = []
    with serve(profile) as running, run_threeway(profile.release) as threeway:
        create_fixtures(running.client, profile)
        recorder = Recorder(running.client, profile, threeway)
        for case in cases(profile, seed, kinds):
            if len(records) == count:
                break
            record = recorder.record(f"{profile.name}/r{seed}-{len(records):05}", case)
            if record is None:
                continue
            if case.live and applicable(case) and threeway:
                living = Living(running.client, profile, threeway)
                record |= living.record(case, Random(record["id"]))
            records.append(record)
    codes = Counter(record["verdict"]["code"] for record in records)
    lines = [f"{profile.name}: {len(records)} in {time.monotonic() - began:.0f} s, {dict(sorted(codes.items()))}"]
    for reason, times in sorted(recorder.skipped.items(), key=lambda row: -row[1])[:3]:
        lines.append(f"  old object refused {times} times: {reason[:200]}")
    return "\n".join(lines), records


def compare_files(arguments: argparse.Namespace) -> int:
    """Exit status 1 when there is a disagreement."""
    from conformance.compare import compare_records, write_report

    files = arguments.files or sorted(DATA.glob("*/*.jsonl.xz"))
    profiles = predict_as(arguments.release, read_profiles()) if arguments.release else read_profiles()
    records = [record for path in files for record in read_records(path) if record["profile"] in profiles]
    found, count, spent = compare_records(records, profiles)
    for line in write_report(found, arguments.examples):
        print(line)
    by_profile = Counter(each.record["profile"] for each in found)
    print(
        f"{count} records, {len(found)} disagreements {dict(by_profile)}, {spent:.1f} s in the checker", file=sys.stderr
    )
    return int(bool(found) or bool(not arguments.release and _compare_reports(records, arguments.examples)))


def _compare_reports(records: Sequence[Record], examples: int) -> int:
    """Asks again as a user does; the number of disagreements."""
    from conformance.compare import write_report
    from conformance.frontdoor import compare_records

    reasons: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        answers = list(compare_records(records, read_profiles(), Path(folder), reasons))
    found = [each for each in answers if each]
    for line in write_report(found, examples):
        print(line)
    print(f"{len(answers)} through krmfn validate, {len(found)} disagreements; left out on purpose:", file=sys.stderr)
    for reason, number in reasons.most_common():
        print(f"{number:6} {reason}", file=sys.stderr)
    return len(found)


def accept_files(arguments: argparse.Namespace) -> int:
    """Exit status 1 when an object is refused, 2 when the server knew none of them."""
    from conformance.accept import read_streams, report, send_streams

    profile = read_profiles().get(arguments.server) or widest_profile(arguments.server)
    with serve(profile) as running:
        outcome = send_streams(running.client, read_streams(arguments.paths))
    print("\n".join(report(outcome)))
    if not outcome.accepted and not outcome.refusals:
        return 2
    return 1 if outcome.refusals else 0


def survey_repositories(arguments: argparse.Namespace) -> int:
    """Exit status 1 when krmfn refuses something that the server of the newest release takes."""
    from conformance import repositories

    newest = list(read_releases())[-1]
    with contextlib.nullcontext() if arguments.offline else serve(widest_profile(newest)) as running:
        client = running.client if running else None
        surveys = [repositories.survey_repository(folder, client) for folder in arguments.folders]
    print("\n".join(repositories.report(surveys)))
    return int(any(one.is_false_alarm for each in surveys for one in each.disagreements))


def write_evidence(arguments: argparse.Namespace) -> int:
    from conformance.evidence import run

    return run(arguments.folders)


def check_tags(arguments: argparse.Namespace) -> int:
    from conformance.tagcheck import compare_all

    return compare_all(arguments.extract)


def compare_custom(arguments: argparse.Namespace) -> int:
    """Exit status 1 when something is said that a server does not say, or the other way round."""
    from conformance import custom, customchanges

    creates: list[Record] = []
    changes: list[Record] = []
    for project, version, release in custom.list_questions(list(read_releases())):
        if project in (arguments.projects or [project]):
            asked = read_releases()[release]
            found = customchanges.record_version(project, version, asked, arguments.seed, arguments.count)
            print(f"{project} {version} on {release}: {len(found[0])} creates, {len(found[1])} changes", flush=True)
            creates += found[0]
            changes += found[1]
    keep = arguments.record
    wrong = _judge(creates, custom.differ, custom.RECORDED if keep else None, "project")
    return wrong | _judge(changes, customchanges.differ, customchanges.RECORDED if keep else None, "project")


def compare_byhand(arguments: argparse.Namespace) -> int:
    """Exit status 1 when something is judged otherwise."""
    from conformance import byhand

    names = arguments.releases or list(read_releases())
    records = [record for name in names for record in byhand.record_release(read_releases()[name])]
    return _judge(records, byhand.differ, byhand.RECORDED if arguments.record else None, "release")


def _judge(records: Sequence[Any], differ: Callable[[Any], str], keep: Path | None, part: str = "") -> int:
    """Prints what differs. Writes the records to `keep`, beside those of other projects or releases (`part`)."""
    if keep:
        asked = {record[part] for record in records} if part else set()
        kept = [record for record in read_records(keep) if record[part] not in asked] if part else []
        write_records(keep, sorted((*kept, *records), key=lambda record: record[part] if part else ""))
    wrong = 0
    for record in records:
        found = differ(record)
        if found:
            wrong += 1
            print(f"{json.dumps(record)}\n  {found}")
    print(f"{len(records)} objects, {wrong} judged otherwise", file=sys.stderr)
    return 1 if wrong else 0


def record_foreign(arguments: argparse.Namespace) -> int:
    """Exit status 1 when a group is refused, or a spoiled one is not."""
    from conformance import foreign

    records = foreign.record_answers(list(read_releases().values())[-1], arguments.definitions)
    foreign.write_recorded(records)
    wrong = [record for record in records if record["code"] != 201 or record["spoiled"] != 400]
    for record in wrong:
        print(json.dumps(record))
    print(f"{len(records)} groups, {len(wrong)} answered otherwise than they should be", file=sys.stderr)
    return 1 if wrong else 0


def compare_trainer(arguments: argparse.Namespace) -> int:
    """Exit status 1 when the groups are not those of the pods that Trainer makes."""
    from conformance import trainer

    records = trainer.ask_trainer(list(trainer.make_cases(arguments.seed, arguments.count)))
    if arguments.record:
        write_records(trainer.RECORDED, records)
    wrong = list(trainer.list_differences(records))
    for record, what in wrong:
        print(f"{json.dumps(record)}\n  {what}")
    print(f"{len(records)} TrainJobs, {len(wrong)} counted otherwise", file=sys.stderr)
    return 1 if wrong else 0


def compare_with_oracle(arguments: argparse.Namespace) -> int:
    """Exit status 1 when there is a disagreement."""
    module = arguments.oracle.load()
    records = arguments.oracle.ask(module, arguments.seed, arguments.count)
    return _judge(records, module.differ, module.RECORDED if arguments.record else None)


def pack(arguments: argparse.Namespace) -> int:
    from conformance.definitions import list_projects, pack_project

    for project in arguments.projects or list_projects():
        print(pack_project(project, arguments.again))
    return 0


def record_kinds(arguments: argparse.Namespace) -> int:
    from conformance.served import record_served

    record_served([make_release(version) for version in arguments.versions] or read_releases().values())
    return 0


def compare_shapes(arguments: argparse.Namespace) -> int:
    """Exit status 1 when something is said that a server does not say, or the other way round."""
    from conformance import shapes

    records = [
        record
        for release in read_releases().values()
        for record in shapes.record_release(release, arguments.seed, arguments.count)
    ]
    return _judge(records, shapes.differ, shapes.RECORDED if arguments.record else None)


def compare_numbers(arguments: argparse.Namespace) -> int:
    """Exit status 1 when krmfn reads a text otherwise than Go."""
    from conformance import numbers

    cases = list(numbers.generate(arguments.seed, arguments.count))
    answers = numbers.ask_go(cases)
    if arguments.record:
        numbers.record(cases, answers)
    wrong = 0
    for case, go in zip(cases, answers, strict=True):
        ours = numbers.ask_krmfn(case)
        if numbers.differ(case, go, ours):
            wrong += 1
            print(f"{case}\n  Go:    {go}\n  krmfn: {ours}")
    print(f"{len(cases)} texts, {wrong} read otherwise", file=sys.stderr)
    return 1 if wrong else 0


def rehearse_version(arguments: argparse.Namespace) -> int:
    """Exit status 1 when krmfn predicts something else than the version answers, 2 without a version or its schemas."""
    from conformance.compare import compare_records, write_report

    try:
        release = make_release(arguments.version)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    if release.name not in list_releases():
        print(
            f"there is no schemas/kubernetes/{release.name} to predict from: see conformance/schemas", file=sys.stderr
        )
        return 2
    known = find_release(release.name)
    told = "preview of " if known.preview else ""
    print(f"Kubernetes {release.version}, predicted by the {told}schemas of {known.version}", flush=True)
    for program in build_programs(release):
        print(program, flush=True)
    records: list[Record] = []
    profiles = {profile.name: profile for profile in list_profiles(release)}
    for profile in profiles.values():
        for folder in arguments.set or ["recorded"]:
            kinds, count = SETS[folder]
            wanted = arguments.count or count or COUNTS.get(profile.name, COUNT)
            summary, found = record_profile(profile, arguments.seed, wanted, kinds)
            print(summary, flush=True)
            if arguments.out:
                write_records(arguments.out / folder / f"{profile.name}.jsonl.gz", found)
            records += found
    differing, count, _ = compare_records(records, profiles)
    for line in write_report(differing, arguments.examples):
        print(line)
    print(f"{count} answers of {release.version}, {len(differing)} predicted otherwise")
    return 1 if differing else 0


def rehearse_upgrades(arguments: argparse.Namespace) -> int:
    from conformance.upgrade import write_rehearsal

    releases = list(read_releases())
    for old, new in (*itertools.pairwise(releases), (releases[0], releases[-1])):
        if arguments.step in (None, f"{old}-{new}"):
            print(write_rehearsal(old, new))
    return 0


def repeat_files(arguments: argparse.Namespace) -> int:
    """Exit status 1 when an answer differs."""
    records = [
        record for path in arguments.files for record in itertools.islice(read_records(path), 0, None, arguments.every)
    ]
    if any("profile" not in record for record in records):
        raise Unable("only files of `record` can be asked again: data/recorded, data/others, data/pods, data/plain")
    differing = 0
    for name, profile in read_profiles().items():
        mine = [record for record in records if record["profile"] == name]
        if not mine:
            continue
        with serve(profile) as running, run_threeway(profile.release) as threeway:
            create_fixtures(running.client, profile)
            recorder = Recorder(running.client, profile, threeway)
            for record in mine:
                found = ask_again(recorder, record)
                if found:
                    differing += 1
                    print(record["id"], record["category"], json.dumps(found, ensure_ascii=False)[:1000])
        print(f"{name}: {len(mine)} asked again", file=sys.stderr)
    print(f"{differing} answers differ", file=sys.stderr)
    return 1 if differing else 0
