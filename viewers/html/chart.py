"""One figure in its frame: title, place for the plot, words below."""

from __future__ import annotations

from dataclasses import dataclass

from speckv_debug.viewers.html.figures import Figure
from speckv_debug.viewers.html.markup import Html, element


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure, its title and words, tools beside the title; a wide one takes a row of its own."""

    figure: Figure
    title: str
    words: Html
    tools: tuple[Html, ...] = ()
    wide: bool = False

    def framed(self) -> Html:
        """The frame that the page's script draws the figure into."""
        place = element("div", id=self.figure.id, class_="plot", role="group", aria_label=self.title)
        heading = element("figcaption", self.title, *self.tools)
        return element("figure", heading, place, self.words, class_="wide" if self.wide else None)


def words(said: str) -> Html:
    """A line of small print."""
    return element("p", said, class_="aside")
