"""The exit codes of every command: an API that scripts rely on."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells the shell."""

    CLEAN = 0
    """The command worked; `check` found nothing."""
    FINDINGS = 1
    """`check` found at least one error or warning."""
    USAGE = 2
    """Wrong usage, or an input that can't be read."""
    NOTHING_TO_JUDGE = 3
    """No instance of any rule could be judged, or no engine process reported to `record`."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""
