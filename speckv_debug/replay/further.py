"""What can't be judged window by window."""

from __future__ import annotations


class LooksFurther(Exception):
    """A window does not hold all that a verdict rests on: the process has to be seen whole."""
