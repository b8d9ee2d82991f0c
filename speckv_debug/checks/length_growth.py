"""LEN-ALLOC: what a decode preparation decides, what is granted, and what becomes of a grant."""

from __future__ import annotations

from speckv_debug.checks.evidence import number
from speckv_debug.checks.length_evidence import lengths_of
from speckv_debug.checks.rule import Details, Judgement
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.bounds import Reserves
from speckv_debug.replay.grants import Grants
from speckv_debug.replay.ragged import NULL

SHOWN = 8


def judge_growth(reserves: Reserves) -> Judgement:
    """The row grows as the formula says, gets that, and the host reports that."""
    k, grown = reserves.ints("allocated"), reserves.ints("new_allocated")
    formula = reserves.known & ~reserves.as_due
    granted = reserves.known & (reserves.granted != NULL) & (reserves.granted != grown - k)
    under_way = granted & reserves.under_way
    reported = reserves.known & (reserves.reported != NULL) & (reserves.reported != grown)
    no_size = (reserves.page_size == NULL) & (grown != reserves.plain) & (reserves.form != "plain")
    open_grant = reserves.known & (grown > k) & (reserves.granted == NULL) & ~reserves.refused
    if not reserves.info.records("alloc"):
        open_grant &= reserves.reported != grown
    reasons = {
        "no lengths or reserve": ~reserves.known,
        "the page size is unknown": no_size,
        "what was granted for the growth is not known": open_grant,
        "the recording ends before the growth has to be granted": under_way,
    }
    failed = (formula & ~no_size) | (granted & ~under_way) | reported | reserves.foreign_page
    return verdict(failed, lambda i: _explain_growth(reserves, i), reasons)


def _explain_growth(reserves: Reserves, i: int) -> Details:
    """A growth that is not what it should be, or was not granted or reported as decided."""
    c, k, r, grown = (
        int(reserves.ints(name)[i]) for name in ("committed", "allocated", "reserve", "new_allocated")
    )
    size, own = number(reserves.page_size[i]), number(reserves.ints("page_size")[i])
    granted = number(reserves.granted[i])
    formulas = {
        "plain": (int(reserves.plain[i]), f"max({k}, {c} + {r})"),
        "rounded": (int(reserves.rounded[i]), f"max({k}, ceil({c} + {r}) to pages of {size})"),
    }
    due = [formulas[form] for form in formulas if reserves.form in (form, "either")]
    return Details(
        message=_wrong_growth(reserves, i, tuple(length for length, _ in due)),
        expected=" or ".join(f"{text} = {length}" for length, text in due),
        actual=f"new_allocated {grown}, slots granted {'unknown' if granted is None else granted}, page_size {own}",
        evidence=(_growth(reserves, i),),
    )


def _wrong_growth(reserves: Reserves, i: int, due: tuple[int, ...]) -> str:
    k, grown = int(reserves.ints("allocated")[i]), int(reserves.ints("new_allocated")[i])
    granted, reported = number(reserves.granted[i]), number(reserves.reported[i])
    if grown not in due:
        return f"the row grows to {grown}, due is {' or '.join(str(length) for length in dict.fromkeys(due))}"
    if granted is not None and granted != grown - k:
        return f"{quantity(granted, 'slot was', 'slots were')} granted for growing from {k} to {grown}, due {plural(grown - k, 'is', 'are')} {grown - k}"
    if reported is not None and reported != grown:
        return f"the row was to grow to {grown}, the host reports {reported} allocated"
    own, size = number(reserves.ints("page_size")[i]), number(reserves.page_size[i])
    return f"the reserve is rounded to pages of {own}, the allocator's pages hold {size}"


def _growth(reserves: Reserves, i: int) -> Evidence:
    """The numbers that go into a growth, and what comes out."""
    values: tuple[tuple[Cell, ...], ...] = (
        ("committed C", int(reserves.ints("committed")[i])),
        ("allocated K", int(reserves.ints("allocated")[i])),
        ("reserve", int(reserves.ints("reserve")[i])),
        ("page size of the allocator", number(reserves.page_size[i])),
        ("max(K, C + reserve)", int(reserves.plain[i])),
        ("max(K, ceil(C + reserve))", int(reserves.rounded[i])),
        ("new allocated", int(reserves.ints("new_allocated")[i])),
        ("slots granted", number(reserves.granted[i])),
        ("allocated as reported", number(reserves.reported[i])),
    )
    return Evidence(title="growth", columns=("", "positions"), rows=values, marked=(6,))


def judge_grants(grants: Grants) -> Judgement:
    """What is granted enters the row, and its new end is reported."""
    failed = grants.elsewhere | grants.misreported | grants.unreported
    reasons = {
        "an event behind the grant does not say whose it is, or what": failed & grants.hidden,
        "the recording ends before the row is written": grants.unseen,
    }
    return verdict(failed & ~grants.hidden, lambda i: _explain_grant(grants, i), reasons)


def _explain_grant(grants: Grants, i: int) -> Details:
    slots = grants.slots[int(grants.index[i])].tolist()
    due, reported = number(grants.due[i]), number(grants.reported[i])
    if grants.elsewhere[i]:
        return Details(
            message=f"{quantity(len(slots), 'slot was', 'slots were')} granted to the request, its row does not end with {plural(len(slots), 'it', 'them')}",
            expected=f"the next write into the row ends with {_some(slots)}",
            actual=_written(grants, i),
            slots=tuple(slots),
        )
    return Details(
        message=f"with the slots granted the row ends at {due}, reported as allocated is {reported}",
        expected=f"allocated {due}",
        actual="no report behind the grant" if reported is None else f"allocated {reported}",
        evidence=(lengths_of(grants.lengths, int(grants.life[i]), int(grants.spans[1][i])),),
    )


def _written(grants: Grants, i: int) -> str:
    if (write := int(grants.write[i])) < 0:
        return "no write into the row behind the grant"
    written = grants.lengths.columns("table_write").lists("slots")[write].tolist()
    return f"the write ends with {_some(written[-len(grants.slots[int(grants.index[i])]) :])}"


def _some(slots: list[int]) -> str:
    return str(slots) if len(slots) <= SHOWN else f"{slots[:SHOWN]} and {len(slots) - SHOWN} more"
