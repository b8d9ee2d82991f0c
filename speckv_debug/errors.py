"""The error classes that people see: what is wrong, where, and what to do."""

from speckv_debug.exit_codes import ExitCode


class SpeckvError(Exception):
    """A mistake that a person can mend; printed without a traceback.

    Args:
        what: What is wrong and where (path, line, table, column, step).
        remedy: What to do about it, as a sentence, or empty.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class UsageError(SpeckvError):
    """The command line asks for something that can't be done."""


class RecordingError(SpeckvError):
    """A recording, or a file to make one from, that can't be read or written."""
