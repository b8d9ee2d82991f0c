"""Inert modules for packages that SGLang imports at module level and never calls on the paths driven here.

Nothing here implements KV logic: every name can be imported, subclassed and held, and raises when called.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterable
from typing import ClassVar

INERT = [
    "anthropic",
    "av",
    "blobfile",
    "datasets",
    "decord",
    "deepseek_recipe",
    "easydict",
    "gguf",
    "llguidance",
    "mistral_common",
    "modelscope",
    "openai",
    "openai_harmony",
    "outlines",
    "pynvml",
    "smg_grpc_servicer",
    "soundfile",
    "timm",
    "tml_renderers",
    "torch_memory_saver",
    "torchaudio",
    "torchcodec",
    "torchvision",
    "watchfiles",
    "xgrammar",
]
PROBES = [
    "is_av_available",
    "is_datasets_available",
    "is_decord_available",
    "is_kernels_available",
    "is_mistral_common_available",
    "is_timm_available",
    "is_torchaudio_available",
    "is_torchcodec_available",
    "is_torchvision_available",
    "is_torchvision_v2_available",
]


class _Inert:
    """A value, decorator argument, base class or attribute holder that can't be called."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("an inert stand-in was called")


class _InertModule(types.ModuleType):
    __path__: ClassVar[list[str]] = []
    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        value = sys.modules.get(full) or type(name, (_Inert,), {"__module__": self.__name__})
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in self._names:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _InertModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def install(sglang: str) -> None:
    """Put the folder that holds `sglang` first on the path, and the stand-ins last.

    transformers probes optional packages once and caches the answers, so it is asked before the stand-ins
    exist. An older SGLang registers configurations that a newer transformers has already.
    """
    sys.path.insert(0, sglang)
    import transformers.models.llama.modeling_llama  # noqa: F401 (probes packages when it is imported)
    from transformers.models.auto import configuration_auto
    from transformers.utils import import_utils

    for probe in PROBES:
        getattr(import_utils, probe, bool)()
    register = configuration_auto.AutoConfig.register
    configuration_auto.AutoConfig.register = staticmethod(
        lambda kind, config, exist_ok=False: register(kind, config, exist_ok=True)
    )
    sys.meta_path.append(_Finder(name for name in INERT if _is_missing(name)))


def _is_missing(name: str) -> bool:
    if name in sys.modules:
        return False
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return True
