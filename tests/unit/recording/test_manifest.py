"""manifest.json: made once, finished as often as needed."""

import json
from pathlib import Path

from speckv_debug.recording.manifest import create_manifest, finish_manifest
from speckv_debug.recording.recorder import Recorder


def test_the_first_one_makes_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "r.speckv"
    assert create_manifest(folder, ["python", "serve.py"], label="nightly")
    before = (folder / "manifest.json").read_bytes()
    assert not create_manifest(folder, ["other"])
    assert (folder / "manifest.json").read_bytes() == before
    manifest = json.loads(before)
    assert manifest["format_version"] == 1 and manifest["command"] == ["python", "serve.py"]
    assert (manifest["clean_shutdown"], manifest["end_ns"], manifest["label"]) == (False, None, "nightly")
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


def test_it_is_clean_when_every_process_is(tmp_path: Path) -> None:
    create_manifest(tmp_path / "r", ["x"])
    assert not finish_manifest(tmp_path / "r")["clean_shutdown"]
    recorders = [Recorder(tmp_path / "r", {"rank": {"tp": tp}, "engine": "e"}) for tp in range(2)]
    recorders[0].close()
    manifest = finish_manifest(tmp_path / "r", exit_code=7)
    assert [(each["label"], each["clean_shutdown"]) for each in manifest["processes"]] == [
        (recorders[0].label, True),
        (recorders[1].label, False),
    ]
    assert not manifest["clean_shutdown"] and manifest["exit_code"] == 7
    recorders[1].close()
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["clean_shutdown"] and manifest["exit_code"] == 7 and manifest["command"] == ["x"]
    assert manifest["processes"][0]["engine"] == "e" and manifest["end_ns"] >= manifest["start_ns"]


def test_a_damaged_process_or_manifest_does_not_stop_it(tmp_path: Path) -> None:
    create_manifest(tmp_path / "r", ["x"])
    (tmp_path / "r/p").mkdir()
    (tmp_path / "r/p/process.json").write_text("[")
    (tmp_path / "r/manifest.json").write_text("{")
    manifest = finish_manifest(tmp_path / "r")
    assert [each["label"] for each in manifest["processes"]] == ["p"] and not manifest["clean_shutdown"]
