"""Data flows one way: no file imports a package of ours, or a heavy library, that its layer may not use."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {
    "speckv_debug/model": set(),
    "speckv_debug/recording": {"model"},
    "speckv_debug/replay": {"model", "recording"},
    "speckv_debug/checks": {"model", "replay"},
    "kernels": set(),
    "collectors": {"model", "recording", "kernels", "collectors"},
    "viewers": {"model", "recording", "replay", "viewers"},
}
EVERYWHERE = {"errors", "exit_codes", "speckv_debug", "__version__"}
THIRD = {
    "speckv_debug/model": set(),
    "speckv_debug/recording": {"pyarrow", "numpy"},
    "speckv_debug/replay": {"numpy", "numba", "pyarrow"},
    "speckv_debug/checks": {"numpy"},
    "speckv_debug/cli": set(),
    "kernels": {"torch", "triton"},
    "collectors/reference": {"torch", "numpy"},
    "collectors/sglang": {"torch", "numpy", "sglang"},
    "viewers/terminal": set(),
    "viewers/tui": {"textual", "rich", "numpy", "pyarrow"},
    "viewers/html": {"plotly", "pandas", "numpy", "pyarrow"},
}
ARITHMETIC = "speckv_debug.kernels.reserve"  # plain integers, no torch: for all
HEAVY = {"torch", "triton", "pandas", "plotly", "textual", "rich", "pyarrow", "numpy", "numba", "sglang"}
SHARED_EXCEPTIONS = {
    "replay": {"recompute.py", "shadow.py"}
}  # these two may call the kernels, inside a function


def imports(path: Path) -> Iterator[str]:
    """Absolute names of everything that a file imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _calls_kernels(path: Path, layer: str) -> bool:
    return path.name in SHARED_EXCEPTIONS.get(Path(layer).name, ())


def files_below(folder: str) -> list[Path]:
    return sorted(p for p in (ROOT / folder).rglob("*.py") if "__pycache__" not in p.parts)


@pytest.mark.parametrize("layer", OURS)
def test_imports_of_ours_go_one_way(layer: str) -> None:
    for path in files_below(layer):
        allowed = OURS[layer] | EVERYWHERE
        if _calls_kernels(path, layer):
            allowed = allowed | {"kernels"}
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "speckv_debug" and ".".join(parts[:3]) != ARITHMETIC:
                target = parts[1] if len(parts) > 1 else "speckv_debug"
                own = Path(layer).name
                assert target in allowed | {own}, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("layer", THIRD)
def test_heavy_libraries_stay_in_their_layer(layer: str) -> None:
    for path in files_below(layer):
        for name in imports(path):
            top = name.split(".")[0]
            allowed = THIRD[layer] | ({"torch"} if _calls_kernels(path, layer) else set())
            assert top not in HEAVY - allowed, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("kind", ["collectors", "viewers"])
def test_no_folder_knows_its_sibling(kind: str) -> None:
    folders = [p.name for p in (ROOT / kind).iterdir() if p.is_dir() and p.name != "__pycache__"]
    for own in folders:
        for path in files_below(f"{kind}/{own}"):
            for name in imports(path):
                for other in set(folders) - {own}:
                    assert not name.startswith(f"speckv_debug.{kind}.{other}"), f"{path} imports {name}"


def test_linked_folders_have_no_package_root() -> None:
    for folder in ("collectors", "viewers", "kernels"):
        assert (ROOT / "speckv_debug" / folder).is_symlink()
        assert not (ROOT / folder / "__init__.py").exists()


@pytest.mark.parametrize(
    "name",
    sorted(p.name for p in files_below("speckv_debug/replay") if p.name in SHARED_EXCEPTIONS["replay"]),
)
def test_replay_loads_torch_and_kernels_at_the_first_call_only(name: str) -> None:
    path = ROOT / "speckv_debug/replay" / name
    for node in ast.parse(path.read_text()).body:
        names = [f"{n.module}" for n in [node] if isinstance(n, ast.ImportFrom)]
        names += [alias.name for n in [node] if isinstance(n, ast.Import) for alias in n.names]
        assert not [n for n in names if "kernels" in n or n.partition(".")[0] == "torch"], names
