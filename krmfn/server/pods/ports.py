"""The rules of ports.

Source: validateContainerPorts, AccumulateUniqueHostPorts of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.formats import check_port_name
from krmfn.server.pods.setting import Setting


def check_ports(ports: list[Any], where: Path, pod: Setting) -> None:
    names = set()
    for index, port in enumerate(ports):
        at = (*where, index)
        name = port.get("name", "")
        if name:
            wrong = check_port_name(name)
            if wrong:
                pod.refuse((*at, "name"), "pod-ports", name, wrong)
            elif name in names:
                pod.duplicate((*at, "name"), "pod-ports", quote(name))
            else:
                names.add(name)
        number = port.get("containerPort", 0)
        if number == 0:
            pod.required((*at, "containerPort"), "pod-ports")
        else:
            check_port_number(number, (*at, "containerPort"), "pod-ports", pod)
        if "hostPort" in port:
            check_port_number(port["hostPort"], (*at, "hostPort"), "pod-ports", pod)
        protocol = port.get("protocol", "")
        if not protocol:
            pod.required((*at, "protocol"), "pod-ports")
        else:
            pod.check_choice((*at, "protocol"), "pod-ports", protocol, ("SCTP", "TCP", "UDP"))


def check_port_number(number: int, path: Path, rule: str, pod: Setting) -> None:
    if not 1 <= number <= 65535:
        pod.invalid(path, rule, number, "must be between 1 and 65535, inclusive")


def check_host_ports(containers: list[Any], where: Path, pod: Setting) -> None:
    taken = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports", ())):
            if "hostPort" in port:
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in taken:
                    pod.duplicate((*where, index, "ports", place, "hostPort"), "pod-ports", quote(key))
                taken.add(key)
