"""The laws: one function a law, one module a family. Importing this package registers all of them."""

from speckv_debug.checks import accept, location, move
from speckv_debug.checks.rule import RULES

__all__ = ["RULES", "accept", "location", "move"]
