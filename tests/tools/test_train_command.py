from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from burn.tools.train.cli import main
from burn.version import __version__

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    root = tmp_path / "run & more"
    for epoch in (1, 2, 3):
        for split in ("train", "valid"):
            folder = root / split / f"epoch-{epoch}"
            folder.mkdir(parents=True)
            (folder / "Loss.log").write_text("".join(f"{1 / (epoch + step / 50)},8\n" for step in range(50)))
            (folder / "Accuracy.log").write_text(f"{80 + epoch},8\n")
        (root / "train" / f"epoch-{epoch}" / "Learning_Rate.log").write_text("0.5\n0.25\n")
    return root


def test_curves_are_drawn_as_svg(artifacts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = artifacts / "curves.svg"
    assert main(["plot", str(artifacts), "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"wrote {output}\n"
    root = ElementTree.parse(output).getroot()
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert {"run & more", "Loss", "Accuracy", "Learning Rate", "Train", "Valid"} <= set(words)
    assert len(list(root.iter(f"{SVG}circle"))) == 3 * 5
    longest = max(len((each.get("points") or "").split()) for each in root.iter(f"{SVG}polyline"))
    assert longest == 150


def test_one_metric_can_be_chosen_for_a_page_that_stands_alone(artifacts: Path, tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    assert main(["plot", str(artifacts), "-m", "Learning Rate", "--title", "my <run>", "-o", str(output)]) == 0
    text = output.read_text()
    assert text.startswith("<!doctype html>")
    assert "<h1>my &lt;run&gt;</h1>" in text
    assert text.count("<polyline") == 2
    assert "<td>Train</td><td>Learning Rate</td><td>0.375</td>" in text
    assert "Accuracy" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from elsewhere"


def test_a_png_is_a_picture(artifacts: Path) -> None:
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    assert main(["plot", str(artifacts)]) == 0
    with image.open(artifacts / "curves.png") as picture:
        assert picture.format == "PNG"
        assert picture.width > 1000
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 20


def test_without_matplotlib_the_default_is_svg(artifacts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["plot", str(artifacts)]) == 0
    assert (artifacts / "curves.svg").is_file()
    assert main(["plot", str(artifacts), "-o", str(artifacts / "curves.png")]) == 2


def test_the_summary_comes_in_three_forms(artifacts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(artifacts)]) == 0
    assert "| Valid | Accuracy      | 81.000   | 1        | 83.000   | 3        |" in capsys.readouterr().out
    assert main(["summary", str(artifacts), "--format", "markdown", "--metric", "Accuracy"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| Train | Accuracy | 81.000 | 1 | 83.000 | 3 |",
        "| Valid | Accuracy | 81.000 | 1 | 83.000 | 3 |",
    ]
    assert main(["summary", str(artifacts), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["epochs"] == 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["summary", "nowhere"], "there is no folder nowhere; give the artifact folder of a training"),
        (["plot", "{folder}", "-o", "curves.pdf"], "curves.pdf must end in .png, .svg, .html"),
        (
            ["plot", "{folder}", "-m", "Speed", "-o", "x.svg"],
            "no log of Speed in .*; there are: Accuracy, Learning Rate",
        ),
        (["plot", "{folder}", "-o", "{folder}/none/x.svg"], "No such file or directory"),
    ],
)
def test_wrong_command_lines_are_told(
    arguments: list[str], message: str, artifacts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([each.replace("{folder}", str(artifacts)) for each in arguments]) == 2
    found = capsys.readouterr().err
    assert re.search(message, found), found


def test_the_version_and_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"burn-train {__version__}\n"
    assert main([]) == 2
    assert "ARTIFACT_DIR" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    assert "ARTIFACT_DIR" in capsys.readouterr().out
