"""What is built is what is in the tree, and it lives beside Hugging Face's `kernels`."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("speckv_debug", "collectors", "viewers", "kernels")
KINDS = {".py", ".typed", ".html", ".css", ".js", ".tcss"}


def shipped_files() -> set[str]:
    """Every source and asset of the tree under the name that it is installed as."""
    names = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in KINDS and "__pycache__" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                names.add(name if folder == "speckv_debug" else f"speckv_debug/{name}")
    return names


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist, as an installer would."""
    source = tmp_path_factory.mktemp("source") / "tree"
    ignore = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "*.speckv", "build", "dist")
    shutil.copytree(ROOT, source, symlinks=True, ignore=ignore)
    subprocess.run([sys.executable, "-m", "build", "-q", str(source)], check=True, capture_output=True)
    return next((source / "dist").glob("*.whl"))


def test_the_wheel_holds_the_tree(wheel: Path) -> None:
    names = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    assert names == shipped_files()


def test_the_wheel_declares_its_entry_points(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    text = archive.read(next(n for n in archive.namelist() if n.endswith("entry_points.txt"))).decode()
    assert "[sglang.srt.plugins]\nspeckv_debug = speckv_debug.collectors.sglang.plugin:register" in text
    assert "speckv-debug = speckv_debug.cli:main" in text


def test_hugging_face_kernels_stays_importable(wheel: Path, tmp_path: Path) -> None:
    """Both are unpacked side by side; from the tree's root, too, `kernels` is theirs and not ours."""
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    (site / "kernels").mkdir()
    (site / "kernels" / "__init__.py").write_text("WHOSE = 'Hugging Face'\n")
    program = (
        f"import sys; sys.path[:0] = ['', {str(site)!r}]; import kernels, speckv_debug, speckv_debug.kernels.reserve;"
        "print(kernels.WHOSE, speckv_debug.__version__)"
    )
    for folder in (tmp_path, ROOT):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["Hugging", "Face", "0.1.0"]
