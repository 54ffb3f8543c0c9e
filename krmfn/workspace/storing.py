"""A folder with results of earlier runs, by name. Nothing in it is believed that this folder's owner did not write.

Each entry is signed with a secret that only the owner of the folder can read, together with its name. What is damaged,
foreign or of another version is as if it were not there; what cannot be written is not kept. Any number of processes
can use the folder: large entries are files that are written whole, small ones are added to the end of a file for many,
which is read at once. They hold plain data and a few records, and nothing that is run.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import pickle
import stat
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

#: Of all entries together. The oldest go when there is more.
MOST_BYTES = 512 * 2**20
#: An entry of fewer bytes shares a file with others, as long as that is not too large itself.
_SMALL = 2**14
_MOST_SHARED = 2**20
_SIGNATURE = 32
#: Of the files of small entries. Before each are its digest and its length.
_SHARED = ".shared"
_DIGEST = 32
_HEAD = _DIGEST + 4
#: What entries hold besides plain data.
_RECORDS: Mapping[str, tuple[str, ...]] = {
    "krmfn.krm.results": ("ABSENT", "Edit", "FileRef", "ResourceRef", "Result"),
    "krmfn.model.findings": ("EditStep",),
    "krmfn.server.spell": ("Amount", "Key"),
}


class NotTrusted(Exception):
    """A folder in which others could write what this program would believe. The message says why."""


class Store:
    """Entries by name. A name says everything that the entry depends on and that the entry does not say itself."""

    def __init__(self, folder: str, program: str = "") -> None:
        """Makes the folder and its secret where they are missing; `program` says who made the entries. Raises
        NotTrusted, and OSError where it cannot."""
        self._entries = os.path.join(folder, "entries")
        self._program = hashlib.sha256(program.encode()).hexdigest()
        self._secret = _find_secret(folder)
        self._size = -1
        self._shared: dict[str, dict[bytes, bytes]] = {}  # small entries with their signatures, by path and digest

    def load(self, name: str) -> Any:
        """An entry; None where there is none that can be believed."""
        folder, digest = self._place(name)
        data = self._read_shared(folder + _SHARED).get(digest) or _read(os.path.join(folder, digest.hex()))
        signature, text = data[:_SIGNATURE], data[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._sign(digest, text)):
            return None
        try:
            return _PlainValues(io.BytesIO(text if len(text) < _SMALL else zlib.decompress(text))).load()
        except pickle.UnpicklingError:
            return None

    def save(self, name: str, value: object) -> None:
        """Keeps an entry, if the disk lets it."""
        folder, digest = self._place(name)
        shared = folder + _SHARED
        text = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        beside = ""
        try:
            if len(text) < _SMALL:
                self._add_shared(shared, digest, self._sign(digest, text) + text)
            else:
                if self._read_shared(shared).get(digest):
                    self._add_shared(shared, digest, b"")  # it was small before
                # What is shorter is not compressed.
                text = zlib.compress(text, 1).ljust(_SMALL, b"\0")
                os.makedirs(folder, mode=0o700, exist_ok=True)
                number, beside = tempfile.mkstemp(dir=folder)
                with open(number, "wb") as stream:
                    stream.write(self._sign(digest, text) + text)
                os.replace(beside, os.path.join(folder, digest.hex()))
        except OSError:
            with suppress(OSError):
                os.unlink(beside)
            return
        self._prune(_HEAD + _SIGNATURE + len(text))

    def _read_shared(self, path: str) -> dict[bytes, bytes]:
        """The small entries in a file, each behind its digest and its length; the last of several counts."""
        if path not in self._shared:
            found = self._shared[path] = {}
            data = _read(path)
            at = 0
            while at + _HEAD <= len(data):
                begin, length = at + _HEAD, int.from_bytes(data[at + _DIGEST : at + _HEAD], "big")
                found[data[at : at + _DIGEST]] = data[begin : begin + length]
                at = begin + length
            if at != len(data) or at > _MOST_SHARED:  # what would be added to a file that is cut could not be found
                with suppress(OSError):
                    os.unlink(path)
        return self._shared[path]

    def _add_shared(self, path: str, digest: bytes, data: bytes) -> None:
        self._read_shared(path)[digest] = data
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            whole = digest + len(data).to_bytes(_HEAD - _DIGEST, "big") + data
            if os.write(number, whole) < len(whole):
                os.unlink(path)
        finally:
            os.close(number)

    def _place(self, name: str) -> tuple[str, bytes]:
        """The folder of an entry, and the digest of its name and of who made it."""
        digest = hashlib.sha256((self._program + name).encode("utf-8", "surrogatepass")).digest()
        return os.path.join(self._entries, digest[:1].hex()), digest

    def _sign(self, digest: bytes, text: bytes) -> bytes:
        return hmac.digest(self._secret, digest + text, "sha256")

    def _prune(self, added: int) -> None:
        """Removes the entries that nobody has used for longest, where all together have become too large."""
        self._size = sum(size for _, size, _ in self._list()) if self._size < 0 else self._size + added
        if self._size <= MOST_BYTES:
            return
        listed = sorted(self._list())
        self._size = sum(size for _, size, _ in listed)
        for _, size, path in listed:
            if self._size <= MOST_BYTES * 3 // 4:
                break
            with suppress(OSError):
                os.unlink(path)
            self._shared.pop(path, None)
            self._size -= size

    def _list(self) -> Iterator[tuple[float, int, str]]:
        """Time, size and path of all entries."""
        for folder, _, names in os.walk(self._entries):
            for path in (os.path.join(folder, name) for name in names):
                with suppress(OSError):
                    status = os.lstat(path)
                    yield status.st_mtime, status.st_size, path


def _read(path: str) -> bytes:
    """What is in a file that was used now, or nothing."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        os.utime(path)
    except OSError:
        return b""
    return data


class _PlainValues(pickle.Unpickler):
    """Reads plain data. Who knows the secret of a folder can lie in it, and make nobody run anything."""

    def find_class(self, module: str, name: str) -> Any:
        if name not in _RECORDS.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is in no entry")
        return super().find_class(module, name)


def _find_secret(folder: str) -> bytes:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _check_owner(os.lstat(folder), folder, stat.S_IWGRP | stat.S_IWOTH)
    path = os.path.join(folder, "secret")
    for _ in range(2):
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            _make_secret(folder, path)
            continue
        except OSError as error:
            raise NotTrusted(f"{path} cannot be read: {error.strerror}") from None
        with open(number, "rb") as stream:
            _check_owner(os.fstat(number), path, stat.S_IRWXG | stat.S_IRWXO)
            secret = stream.read(64)
        if len(secret) != 32:
            raise NotTrusted(f"{path} is not a secret of krmfn; remove it")
        return secret
    raise NotTrusted(f"{path} cannot be made")


def _make_secret(folder: str, path: str) -> None:
    """The first of several processes makes it; it is whole from the beginning."""
    number, beside = tempfile.mkstemp(dir=folder)
    with open(number, "wb") as stream:
        stream.write(os.urandom(32))
    try:
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        os.unlink(beside)


def _check_owner(status: os.stat_result, path: str, too_open: int) -> None:
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise NotTrusted(f"{path} belongs to another user")
    if status.st_mode & too_open:
        raise NotTrusted(f"others can change {path}, or read it; run chmod go-rwx")
