"""EndpointSlice, Endpoints.

Source: k8s.io/kubernetes/pkg/apis/{discovery,core}/validation and pkg/apis/{discovery,core}/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.formats import check_ip, check_long_name, check_short_name
from krmfn.server.plain.values import check_address, check_endpoint_address, read_address
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid, refuse_text, required


def check_slice(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    endpoints = new.get("endpoints", ())
    if len(endpoints) <= 1000 and not (old and new.get("endpoints") == old.get("endpoints")):
        for index, endpoint in enumerate(endpoints):
            for place, text in enumerate(endpoint.get("addresses", ())):
                path = ("endpoints", index, "addresses")
                yield from _check_one(kind, text, new.get("addressType", ""), path, place)


def _check_one(kind: Kind, text: str, of: str, path: Path, index: int) -> Iterator[Cause]:
    at = (*path, index)
    if of == "FQDN":
        name = text.removesuffix(".")
        wrong = check_long_name(name)
        if not name:
            yield required(at)
        elif wrong:
            yield invalid(at, name, ",".join(wrong))
        elif "." not in name:
            yield invalid(at, name, "should be a domain with at least two segments separated by dots")
        else:
            long = next((label for label in name.split(".") if len(label) > 63), "")
            yield from refuse_text(at, long, check_short_name(long) if long else ())
    elif of in ("IPv4", "IPv6"):
        wrong_address = list(check_address(kind, text, at)) if of == "IPv4" else _list_wrong(text, at)
        if wrong_address:
            yield from wrong_address
            return
        if read_address(text).version != int(of[-1]):
            yield invalid(path, text, f"must be an {of} address")
        yield from check_endpoint_address(text, at)


def _list_wrong(text: str, at: Path) -> list[Cause]:
    wrong = list(refuse_text(at, text, check_ip(text, strict=True)))
    if not wrong and text != str(read_address(text)):
        wrong.append(invalid(at, text, f"must be in canonical form ({quote(str(read_address(text)))})"))
    return wrong


def check_address_of_endpoint(kind: Kind, text: str, path: Path) -> Iterator[Cause]:
    yield from check_address(kind, text, path)
    if read_address(text) is None:
        yield invalid(path, text, "must be a valid IP address")
    yield from check_endpoint_address(text, path)
