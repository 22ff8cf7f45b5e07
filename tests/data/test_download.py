"""Downloads: whole or not at all, resumed, verified, and shown."""

from __future__ import annotations

import hashlib
import io

import pytest

from burn.data.dataset.source import Download, DownloadError, download
from burn.data.dataset.source.bar import Bar, size
from burn.errors import ArgumentError
from tests.data.server import serving

BODY = bytes(range(256)) * 2000
SUM = "sha256:" + hashlib.sha256(BODY).hexdigest()


def wanted(*addresses: str, checksum: str | None = SUM) -> Download:
    return Download("file.bin", tuple(f"{address}file.bin" for address in addresses), checksum)


def test_a_file_is_fetched_once(tmp_path):
    with serving({"/file.bin": BODY}) as server:
        path = download(wanted(server.address), tmp_path / "new", progress=False)
        assert path.read_bytes() == BODY
        assert download(wanted(server.address), tmp_path / "new", progress=False) == path
        assert len(server.asked) == 1
    assert [each.name for each in path.parent.iterdir()] == ["file.bin"]


def test_a_transfer_that_broke_off_goes_on_where_it_was(tmp_path):
    with serving({"/file.bin": BODY}, cut=(100_000, 50_000)) as server:
        path = download(wanted(server.address), tmp_path, progress=False)
        assert path.read_bytes() == BODY
        assert [part for _, part in server.asked] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_call_goes_on_too(tmp_path):
    with serving({"/file.bin": BODY}, cut=(1000,)) as server:
        with pytest.raises(DownloadError, match="the transfer ended after 1000 of 512000 bytes"):
            download(wanted(server.address), tmp_path, attempts=1, progress=False)
        assert (tmp_path / "file.bin.part").stat().st_size == 1000
        assert not (tmp_path / "file.bin").exists()
        assert download(wanted(server.address), tmp_path, progress=False).read_bytes() == BODY
        assert server.asked[-1][1] == "bytes=1000-"


def test_a_server_without_parts_sends_all_again(tmp_path):
    with serving({"/file.bin": BODY}, cut=(1000,), parts=False) as server:
        assert download(wanted(server.address), tmp_path, progress=False).read_bytes() == BODY


def test_a_part_of_another_file_is_thrown_away(tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    with serving({"/file.bin": BODY}) as server:
        assert download(wanted(server.address), tmp_path, progress=False).read_bytes() == BODY
    (tmp_path / "file.bin").unlink()
    (tmp_path / "file.bin.part").write_bytes(b"x" * 600_000)
    with serving({"/file.bin": BODY}) as server:
        assert download(wanted(server.address), tmp_path, progress=False).read_bytes() == BODY


def test_a_part_that_is_whole_already_is_used(tmp_path):
    (tmp_path / "file.bin.part").write_bytes(BODY)
    with serving({"/file.bin": BODY}) as server:
        assert download(wanted(server.address), tmp_path, progress=False).read_bytes() == BODY


def test_a_wrong_checksum_is_never_accepted(tmp_path):
    with (
        serving({"/file.bin": BODY[:-1] + b"!"}) as server,
        pytest.raises(DownloadError, match="another checksum than"),
    ):
        download(wanted(server.address), tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_fetched_again(tmp_path):
    (tmp_path / "file.bin").write_bytes(b"damaged")
    with serving({"/file.bin": BODY}) as server:
        assert download(wanted(server.address), tmp_path, progress=False).read_bytes() == BODY


def test_the_next_address_is_tried_and_all_reasons_are_told(tmp_path):
    with serving({}) as empty, serving({"/file.bin": BODY}) as full:
        path = download(wanted(empty.address, full.address), tmp_path, progress=False)
        assert path.read_bytes() == BODY
        with pytest.raises(DownloadError) as caught:
            download(wanted(empty.address, "http://127.0.0.1:9/"), tmp_path / "other", progress=False)
    assert "404 Not Found" in str(caught.value)
    assert "127.0.0.1:9/file.bin: " in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_addresses_and_checksums_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="is not an address of http or https"):
        download(wanted("file:///etc/"), tmp_path)
    (tmp_path / "file.bin").write_bytes(b"")
    with pytest.raises(ArgumentError, match="a checksum is"):
        download(wanted(checksum="crc32:0"), tmp_path)


def test_md5_is_a_checksum_too(tmp_path):
    with serving({"/file.bin": BODY}) as server:
        chosen = wanted(server.address, checksum="md5:" + hashlib.md5(BODY).hexdigest())
        assert download(chosen, tmp_path, progress=False).read_bytes() == BODY


def test_progress_is_a_few_plain_lines_where_there_is_no_terminal(tmp_path):
    out = io.StringIO()
    with serving({"/file.bin": BODY}) as server:
        download(wanted(server.address), tmp_path, progress=out)
    lines = out.getvalue().splitlines()
    assert lines[-1] == "file.bin: 100 % of 512.0 kB"
    assert len(lines) <= 5
    assert "\r" not in out.getvalue()


def test_progress_is_a_bar_in_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    with Bar("digits.gz", 200, out) as bar:
        bar.add(50)
        bar.add(150)
    assert "\rdigits.gz [#######.......................]  25% of 200 bytes" in out.getvalue()
    assert out.getvalue().endswith("100% of 200 bytes\n")
    assert Bar("x", None, out).line() == "x  0 bytes"
    assert [size(1), size(1500), size(2_500_000), size(3_000_000_000)] == ["1 bytes", "1.5 kB", "2.5 MB", "3.0 GB"]
