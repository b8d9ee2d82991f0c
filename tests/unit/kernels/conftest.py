"""Triton runs interpreted where there is no GPU: said before anything imports it."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
