"""Triton runs interpreted where there is no GPU: said before anything imports it."""

import os

import torch

from tests.interpreted import interpret_faster

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
    interpret_faster()
