"""Files from the network: verified, resumed where a transfer broke off, and in place only when complete.

What arrives is kept in `<file>.part`. A later attempt asks the server for the rest of it, and begins
anew where the server does not give parts or the result has another checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from burn.data.dataset.source.bar import Bar
from burn.errors import ArgumentError, BurnError

CHUNK = 1 << 16
SECONDS_TO_WAIT = 20.0


class DownloadError(BurnError, OSError):
    """A file that no address gave whole. Every address and its reason are listed.

    >>> from burn.data.dataset.source import Download, DownloadError, download
    >>> try:
    ...     download(Download("x.gz", ("http://localhost:1/x.gz",)), "data", attempts=1, progress=False)
    ... except DownloadError as error:
    ...     print(str(error).splitlines()[0])
    download: x.gz could not be fetched:
    """


@dataclass(frozen=True)
class Download:
    """A file in the network: its name, the addresses that have it, and its checksum as `sha256:...` or `md5:...`.

    >>> from burn.data.dataset.source import Download
    >>> labels = Download("labels.gz", ("https://example.org/labels.gz",), "md5:25c81989df183df01b3e8a0aad5dffbe")
    >>> labels.name
    'labels.gz'
    """

    name: str
    addresses: tuple[str, ...]
    checksum: str | None = None


def has_checksum(path: Path, checksum: str | None) -> bool:
    """Whether the file is the one that the checksum belongs to. None fits every file."""
    if checksum is None:
        return True
    kind, _, expected = checksum.partition(":")
    if kind not in ("sha256", "md5"):
        raise ArgumentError(f"download: a checksum is `sha256:...` or `md5:...`, got {checksum!r}")
    digest = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest() == expected.lower()


def download(
    wanted: Download, folder: str | os.PathLike[str], *, attempts: int = 3, progress: TextIO | bool = True
) -> Path:
    """The path of the file `wanted` in `folder`, fetched if it is not there whole.

    A transfer that broke off goes on where it stopped. `attempts` are tried at each address. `progress` is where to
    show it: standard error, a stream, or nowhere for False.

    >>> from burn.data.dataset.source import Download, download
    >>> wanted = Download("labels.gz", ("https://example.org/labels.gz",), "md5:25c81989df183df01b3e8a0aad5dffbe")
    >>> download(wanted, "data")  # doctest: +SKIP
    PosixPath('data/labels.gz')
    """
    target = Path(folder) / wanted.name
    if target.is_file() and has_checksum(target, wanted.checksum):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    reasons: list[str] = []
    for address in _checked(wanted.addresses):
        for _ in range(max(1, attempts)):
            try:
                _fetch(address, part, wanted.name, progress)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 416:  # there is nothing after what we have: it is whole, or not ours
                    if part.is_file() and wanted.checksum and has_checksum(part, wanted.checksum):
                        os.replace(part, target)
                        return target
                    part.unlink(missing_ok=True)
                    reasons.append(f"{address}: the part that was kept does not belong to it")
                    continue
                reasons.append(f"{address}: {error.code} {error.reason}")
                break
            except (OSError, http.client.HTTPException) as error:
                reasons.append(f"{address}: {getattr(error, 'reason', None) or error or type(error).__name__}")
                continue
            if has_checksum(part, wanted.checksum):
                os.replace(part, target)
                return target
            part.unlink(missing_ok=True)
            reasons.append(f"{address}: another checksum than {wanted.checksum}")
    unique = "\n".join(f"  {each}" for each in dict.fromkeys(reasons))
    raise DownloadError(f"download: {wanted.name} could not be fetched:\n{unique}")


def _checked(addresses: Sequence[str]) -> Sequence[str]:
    for address in addresses:
        if not address.startswith(("http://", "https://")):
            raise ArgumentError(f"download: {address!r} is not an address of http or https")
    return addresses


def _fetch(address: str, part: Path, label: str, progress: TextIO | bool) -> None:
    """Append to `part` what it lacks."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(address, headers={"User-Agent": "burn-dataset"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=SECONDS_TO_WAIT) as answer:
        resumed = have > 0 and answer.status == 206 and _begins_at(answer, have)
        rest = int(answer.headers.get("Content-Length") or 0)
        start = have if resumed else 0
        shown = contextlib.nullcontext() if progress is False else _bar(label, start, rest, progress)
        with open(part, "ab" if resumed else "wb") as file, shown as bar:
            received = 0
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                if bar is not None:
                    bar.add(len(chunk))
            file.flush()
            os.fsync(file.fileno())
    if rest and received < rest:
        raise OSError(f"the transfer ended after {received} of {rest} bytes")


def _begins_at(answer: Any, have: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")


def _bar(label: str, start: int, rest: int, progress: TextIO | bool) -> Bar:
    bar = Bar(label, start + rest if rest else None, None if isinstance(progress, bool) else progress)
    bar.done = start
    return bar
