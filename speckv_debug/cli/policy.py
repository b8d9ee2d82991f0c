"""What a project's configuration and its known findings make of a check: one policy for every command that judges."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.baseline import add_baseline_option, read_baseline
from speckv_debug.cli.config import Config, add_config_options, configured
from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.checks.explaining import OnError
    from speckv_debug.checks.progress import OnProgress
    from speckv_debug.checks.selection import Replay
    from speckv_debug.model.finding import CheckResult
    from speckv_debug.recording.reader import Recording


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add `--config`, `--no-config` and `--baseline`."""
    add_config_options(parser)
    add_baseline_option(parser)


def policy_of(args: argparse.Namespace, *, rewritten: bool = False) -> Policy:
    """The policy that the options ask for, by the current folder.

    Args:
        args: With `config`, `no_config` and `baseline`.
        rewritten: Whether the command writes the baseline anew, so that none need be there yet.

    Raises:
        UsageError: A configuration or a baseline that can't be used; names file and key.
    """
    config = configured(args, Path.cwd())
    file: Path | None = args.baseline or config.baseline
    if file is not None and not rewritten:
        _require_baseline(file, None if args.baseline else config)
    return Policy(config=config, baseline=file)


def _require_baseline(file: Path, config: Config | None) -> None:
    """Refuse a baseline that can't be used before anything is judged; names the key that asks for it."""
    try:
        read_baseline(file)
    except UsageError as error:
        if config is None:
            raise
        where = f"{printable(str(config.file))}: tool.speckv-debug.baseline"
        raise UsageError(f"{where}: {error.what}", error.remedy) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Rules left out, severities and known findings, as a project wants them."""

    config: Config
    baseline: Path | None

    def judged(
        self,
        recording: Recording,
        *,
        only: Collection[str] = (),
        ignore: Collection[str] = (),
        replay: Replay = "on",
        device: str = "cpu",
        on_error: OnError = lambda rule, error: None,
        on_progress: OnProgress = lambda share: None,
        on_laws: Callable[[CheckResult], None] = lambda so_far: None,
    ) -> CheckResult:
        """What the rules find, with the severities that the configuration gives; known findings are among it.

        `on_laws` is told what the laws found, in the same way, before replay begins.

        Raises:
            UsageError: As `checks.run.check`, and where the configuration leaves no rule to run.
        """
        from speckv_debug.checks.known import adjusted
        from speckv_debug.checks.run import check

        disabled = self._disabled(only, ignore, replay)

        def configured(result: CheckResult) -> CheckResult:
            return replace(adjusted(result, self.config.severity), disabled=disabled)

        result = check(
            recording,
            only=only,
            ignore=(*ignore, *disabled),
            replay=replay,
            device=device,
            on_error=on_error,
            on_progress=on_progress,
            on_laws=lambda so_far: on_laws(configured(so_far)),
        )
        return configured(result)

    def without_known(self, result: CheckResult, recording: Recording) -> CheckResult:
        """The result without the findings of the baseline, which are counted; as it is where there is none."""
        from speckv_debug.checks.known import without_known

        if self.baseline is None:
            return result
        return without_known(result, recording, read_baseline(self.baseline))

    def _disabled(self, only: Collection[str], ignore: Collection[str], replay: Replay) -> tuple[str, ...]:
        """The rules that would have run; what is asked for by name is not left out by the configuration."""
        from speckv_debug.checks.selection import select

        would = {rule.id for rule in select(only, ignore, replay)}
        disabled = tuple(id for id in self.config.disable if id in would and not only)
        if would <= set(disabled):
            what = f"{printable(str(self.config.file))}: tool.speckv-debug.disable leaves no rule to run"
            raise UsageError(what, "Name one with --rule, or say --no-config.")
        return disabled
