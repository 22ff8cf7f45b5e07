"""Every Python block of the documentation runs, and prints what the page says it prints.

The blocks of one page run in order in one namespace, in a process of their own, because a page may
declare operations or change global settings. `<!-- skip: reason -->` on the line before a
block leaves it out; the reason is required. `<!-- output -->` before a `text` block compares it with
what the Python block above it printed.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDE = [ROOT / "docs" / "guide" / f"{name}.md" for name in ("model", "data", "training", "backend", "inference")]
FROM_THE_WHEEL = [[ROOT / "README.md"], [ROOT / "docs" / "getting-started.md"], GUIDE]
"""Pages that `test_wheel.py` runs, outside of the checkout; those of the guide in one namespace, as one program."""
FENCE = re.compile(r"^```(\w*)\s*$")
SKIP = re.compile(r"^<!--\s*skip:(.*)-->$")
OUTPUT = re.compile(r"^<!--\s*output\s*-->$")


class Block(NamedTuple):
    """A fenced block: its language, the line where its text begins, its text, and the remark before it."""

    language: str
    line: int
    text: str
    remark: str


def blocks(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    index, remark = 0, ""
    while index < len(lines):
        opened = FENCE.match(lines[index])
        if not opened:
            remark = lines[index].strip() or remark
            index += 1
            continue
        start = index + 1
        end = next(i for i in range(start, len(lines)) if lines[i].rstrip() == "```")
        yield Block(opened[1], start + 1, "\n".join(lines[start:end]) + "\n", remark)
        index, remark = end + 1, ""


def execute(page: Path, text: str, module: types.ModuleType | None = None) -> tuple[int, int, list[str]]:
    """Run a page, in the namespace of `module`: how many blocks ran and were skipped, and what did not fit."""
    if module is None:
        module = types.ModuleType("__docs__")
    sys.modules["__docs__"] = module
    ran, skipped, faults = 0, 0, []
    printed: str | None = None
    for block in blocks(text):
        where = f"{page.name}:{block.line}"
        if block.language == "python":
            skip = SKIP.match(block.remark)
            if skip:
                skipped += 1
                printed = None
                if not skip[1].strip():
                    faults.append(f"{where}: a skipped block needs a reason: <!-- skip: reason -->")
                continue
            # Empty lines in front make tracebacks point at the line of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, module.__dict__)
            printed = out.getvalue()
            ran += 1
        elif block.language == "text" and OUTPUT.match(block.remark):
            if printed is None:
                faults.append(f"{where}: this output follows no block that ran")
            elif printed.rstrip() != block.text.rstrip():
                faults.append(f"{where}: the page says\n{block.text}\nand the code prints\n{printed}")
    return ran, skipped, faults


@pytest.mark.parametrize(
    "page",
    [each for each in PAGES if not any(each in pages for pages in FROM_THE_WHEEL)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_code_of_a_page_runs(page: Path) -> None:
    command = [sys.executable, "-W", "error", str(Path(__file__).resolve()), str(page)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"\n{result.stdout}\n{result.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [each for each in targets if "://" not in each and not (page.parent / each).exists()]
    assert missing == []


def test_a_wrong_output_is_a_fault() -> None:
    text = "```python\nprint(1 + 1)\n```\n\n<!-- output -->\n```text\n3\n```\n"
    _, _, faults = execute(Path("page.md"), text)
    assert len(faults) == 1
    assert "the code prints\n2" in faults[0]


def test_a_right_output_is_none() -> None:
    text = "```python\nx = 1\n```\n```python\nprint(x + 1)\n```\n<!-- output -->\n```text\n2\n```\n"
    assert execute(Path("page.md"), text) == (2, 0, [])


def test_a_skipped_block_needs_a_reason() -> None:
    assert execute(Path("p.md"), "<!-- skip: needs a GPU -->\n```python\n1 / 0\n```\n") == (0, 1, [])
    _, skipped, faults = execute(Path("p.md"), "<!-- skip: -->\n```python\n1 / 0\n```\n")
    assert skipped == 1
    assert "needs a reason" in faults[0]


def test_an_error_in_a_block_points_at_the_line_of_the_page() -> None:
    with pytest.raises(ZeroDivisionError) as error:
        execute(Path("page.md"), "text\n\n```python\nx = 1\nx / 0\n```\n")
    assert error.traceback[-1].lineno + 1 == 5


if __name__ == "__main__":
    if Path.cwd() == ROOT:
        sys.path.insert(0, str(ROOT))  # pages may use the examples, where these are
    shared = types.ModuleType("__docs__")
    run_count, skip_count, found = 0, 0, []
    for name in sys.argv[1:]:
        more = execute(Path(name), Path(name).read_text(encoding="utf-8"), shared)
        run_count, skip_count, found = run_count + more[0], skip_count + more[1], [*found, *more[2]]
    print("\n\n".join([*found, f"{run_count} blocks ran, {skip_count} were skipped"]))
    sys.exit(bool(found))
