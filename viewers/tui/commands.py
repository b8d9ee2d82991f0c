"""The command palette: every action of the screen below it, as `area: verb`."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from speckv_debug.viewers.tui.keys import Deed, deeds


class DeedCommands(Provider):
    """Finds actions by area and verb."""

    async def discover(self) -> Hits:
        """All of them."""
        for deed in self._deeds():
            yield DiscoveryHit(deed.title, self._call(deed), help=_help(deed))

    async def search(self, query: str) -> Hits:
        """Those that match `query`."""
        matcher = self.matcher(query)
        for deed in self._deeds():
            if (score := matcher.match(deed.title)) > 0:
                yield Hit(score, matcher.highlight(deed.title), self._call(deed), help=_help(deed))

    def _deeds(self) -> tuple[Deed, ...]:
        return tuple(deed for deed in deeds(self.screen) if deed.verb != "commands")

    def _call(self, deed: Deed) -> IgnoreReturnCallbackType:
        return partial(self.app.run_action, deed.action, deed.node)


def _help(deed: Deed) -> str:
    return f"{deed.sentence} ({', '.join(deed.keys)})"
