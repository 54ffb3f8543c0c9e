"""What the pods of an object need of a queue, and gangs of Volcano that can never be whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.model.wording import count
from krmfn.survey.census import Census

Resources = Mapping[str, int]


def list_needs(census: Census, item: Item) -> Iterator[tuple[int | None, Resources]]:
    """The pods of each template that have to be admitted, and what one of them requests."""
    from krmfn.capacity.requests import count_requests

    least = parse_int(item.annotations.get(KUEUE_MINIMUM, ""))
    for template in census.templates_of(item):
        pods = template.pods
        if least is not None and pods is not None:
            pods = min(pods, least)
        yield pods, count_requests(template.spec, {})


@rule("volcano-job-never-whole", "error", "A Volcano Job requires more pods (minAvailable) than are created at once.")
def find_volcano_job_never_whole(census: Census, _: Settings) -> Iterator[Finding]:
    """minAvailable above all replicas, or above those of tasks that wait for no other."""
    for item in census.kind("batch.volcano.sh", "Job"):
        tasks = as_list(dig(item.value, "spec", "tasks"))
        pods = [as_int(dig(task, "replicas")) if "replicas" in as_mapping(task) else 1 for task in tasks]
        if not tasks or any(number is None for number in pods):
            continue
        for index, (task, number) in enumerate(zip(tasks, pods, strict=True)):
            asked = as_int(dig(task, "minAvailable")) or 0
            if asked > (number or 0):
                message = f"minAvailable of the task {as_text(dig(task, 'name'))} is {asked}, but it has only "
                message += f"{count(number or 0, 'pod')}: Volcano refuses the Job"
                place = ("spec", "tasks", index, "minAvailable")
                yield Finding(item, place, message, asked, hint=f"Set minAvailable to at most {number}.")
        total = sum(number or 0 for number in pods)
        late = [task for task in tasks if as_list(dig(task, "dependsOn", "name"))]
        first = sum(number or 0 for task, number in zip(tasks, pods, strict=True) if task not in late)
        given = as_int(dig(item.value, "spec", "minAvailable"))
        least = [as_int(dig(task, "minAvailable")) for task in tasks]
        usual = sum(number if number is not None else (own or 0) for number, own in zip(least, pods, strict=True))
        need = given if given is not None else usual
        path = ("spec", "minAvailable") if given is not None else ("spec", "tasks")
        if need > total:
            message = f"minAvailable is {need}, but the tasks have only {count(total, 'pod')}: Volcano refuses the Job"
            hint = f"Set minAvailable to at most {total}."
            yield Finding(item, path, message, given, hint=hint)
        elif late and need > first:
            name = as_text(dig(late[0], "name"))
            message = (
                f"the gang needs {need} pods, and only {first} are created before the task {name}, which waits until "
                "others run: no pod ever starts"
            )
            hint = f"Set minAvailable to at most {first}, or remove dependsOn."
            yield Finding(item, ("spec", "tasks", tasks.index(late[0]), "dependsOn"), message, hint=hint)
