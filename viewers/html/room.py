"""The room of one request: committed history, reserve behind it, where pages end."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.kernels.reserve import page_ceil
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, line, picture

WIDTH, EDGE, TOP, TALL, HEIGHT = 340, 6, 26, 26, 92


def draw_room(step: VerifyStep) -> Html:
    """`[0, committed)` filled, `[committed, allocated)` hatched; a long history is cut at its start."""
    if step.bounds is None or step.bounds.allocated <= 0:
        return Html()
    committed, allocated = step.bounds.committed, step.bounds.allocated
    start = max(0, committed - 2 * max(allocated - committed, step.page_size or 1, 8))
    scale = (WIDTH - 2 * EDGE) / max(allocated - start, committed - start, 1)

    def at(position: int) -> float:
        return EDGE + (position - start) * scale

    shapes = [
        box(at(start), TOP, max(at(committed) - at(start), 0), TALL, "committed"),
        box(at(committed), TOP, max(at(allocated) - at(committed), 0), TALL, "reserve"),
        label(EDGE, TOP - 10, f"from {start}" if start else "0", "small", "start"),
        *_page_ends(step, start, scale),
        *_end(at(committed), TOP + TALL, f"committed {committed}", 14),
        *_end(at(allocated), TOP + TALL, f"allocated {allocated}", 30),
    ]
    title = f"Committed {committed}, allocated {allocated}, reserve [{committed}, {allocated})"
    drawn = picture(WIDTH, HEIGHT, shapes, title=title, class_="room")
    words = "As the host had it before this verify."
    return element("div", drawn, element("p", element("span", words), class_="legend"))


def _page_ends(step: VerifyStep, start: int, scale: float) -> Iterator[Html]:
    """The end of the page that holds the last committed position, where pages have more than one slot."""
    if step.bounds is None or step.page_size is None or step.page_size <= 1:
        return
    boundary = page_ceil(step.bounds.committed, step.page_size)
    if start < boundary <= step.bounds.allocated:
        x = EDGE + (boundary - start) * scale
        yield line(x, TOP - 6, x, TOP + TALL, "page")
        yield label(x, TOP - 10, f"page ends {boundary}", "small", "end" if x > WIDTH / 2 else "start")


def _end(x: float, y: float, words: str, down: float) -> Iterator[Html]:
    yield line(x, y, x, y + down - 8, "tick")
    yield label(x, y + down + 2, words, "small", "end" if x > WIDTH / 2 else "start")
