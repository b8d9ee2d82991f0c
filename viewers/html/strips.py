"""Two strips of the same length, one token apart: what KV commits and what the output gains."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.model.lettering import BONUS, letter
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.kept_kv import AS_DUE, Kept
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, picture, words_below

CELL, PITCH, EDGE, TALL = 50, 56, 4, 36
KV, OUTPUT, HEIGHT = 20, 112, 184


def draw_strips(step: VerifyStep, kept: Kept = AS_DUE) -> Html:
    """KV tokens over output tokens, equal tokens one under the other, the bonus alone at the end.

    `kept`: what KV has at places k where that is not what is due.
    """
    if not step.accepted:
        return Html()
    count = max(len(step.accepted), *(k + 1 for k in kept), 0)
    shapes = [
        label(EDGE, 12, "KV commits", "lane", "start"),
        label(EDGE, OUTPUT - 8, "output gains", "lane", "start"),
        *_kv(step, kept, count),
        *_output(step),
    ]
    width = 2 * EDGE + (count + 1) * PITCH - (PITCH - CELL)
    drawn = picture(max(width, 180), HEIGHT, shapes, title=_title(step, kept), class_="strips")
    words = "The bonus has no KV until the next forward."
    return element("div", drawn, element("p", element("span", words), class_="legend"))


def _kv(step: VerifyStep, kept: Kept, count: int) -> Iterator[Html]:
    for k in range(count):
        if k in kept:
            yield from _cell(k, KV, *kept[k][:2], "wrong")
        else:
            yield from _cell(k, KV, letter(step.accepted[k]), _at(step.kv_tokens, k), "accepted")
        if step.seq_len is not None:
            yield label(_middle(k), KV + TALL + 13, f"p {step.seq_len + k}", "small")
    said = [(_middle(k), f"✗ {kept[k][2]}" if k in kept else "") for k in range(count)]
    yield from words_below(said, KV + TALL + 27)


def _output(step: VerifyStep) -> Iterator[Html]:
    last = len(step.accepted)
    for k in range(1, last + 1):
        token = _at(step.output_tokens, k - 1)
        if k == last:
            yield from _bonus(step, k, token)
            continue
        differs = not _as_due(step, k)
        name = letter(step.accepted[k])
        yield from _cell(k, OUTPUT, "?" if differs else name, token, "wrong" if differs else "accepted")
        if differs:
            yield label(_middle(k), OUTPUT + TALL + 14, f"✗ due {name}", "wrong")


def _bonus(step: VerifyStep, k: int, token: int | None) -> Iterator[Html]:
    differs = _other_bonus(step)
    yield from _cell(
        k, OUTPUT, BONUS, step.bonus_token if token is None else token, "wrong" if differs else "bonus"
    )
    if differs:
        yield label(
            _middle(k) + CELL / 2, OUTPUT + TALL + 30, f"✗ handed on: {step.bonus_token}", "wrong", "end"
        )
    else:
        yield label(_middle(k), OUTPUT + TALL + 14, "bonus", "small")


def _cell(k: int, y: float, name: str, token: int | None, kind: str) -> Iterator[Html]:
    yield box(EDGE + k * PITCH, y, CELL, TALL, f"cell {kind}")
    yield label(_middle(k), y + 16, name, f"letter {kind}")
    yield label(_middle(k), y + 30, "–" if token is None else token, "small")


def _middle(k: int) -> float:
    return EDGE + k * PITCH + CELL / 2


def _at(tokens: tuple[int | None, ...], k: int) -> int | None:
    return tokens[k] if k < len(tokens) else None


def _title(step: VerifyStep, kept: Kept) -> str:
    names = [letter(row) for row in step.accepted]
    kv = [f"{kept[k][0]} (✗ {kept[k][2]})" if k in kept else name for k, name in enumerate(names)]
    kv += [f"{kept[k][0]} (✗ {kept[k][2]})" for k in sorted(kept) if k >= len(names)]
    gains = [
        name if _as_due(step, k) else f"{_at(step.output_tokens, k - 1)} (✗ due {name})"
        for k, name in enumerate(names)
        if k
    ]
    bonus = f"{BONUS} (✗ handed on: {step.bonus_token})" if _other_bonus(step) else BONUS
    return f"KV commits {' '.join(kv)}; the output gains {' '.join([*gains, bonus])}"


def _as_due(step: VerifyStep, k: int) -> bool:
    """Whether the output's token before the k-th of KV is that token; True where it is not known."""
    token = _at(step.output_tokens, k - 1)
    return token is None or token == _at(step.kv_tokens, k)


def _other_bonus(step: VerifyStep) -> bool:
    token = _at(step.output_tokens, len(step.accepted) - 1)
    return None not in (token, step.bonus_token) and token != step.bonus_token
