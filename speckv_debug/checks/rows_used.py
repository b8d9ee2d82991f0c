"""OWN-ROW: what is done in a request row, and whether the row comes back."""

from __future__ import annotations

from speckv_debug.checks.evidence import named
from speckv_debug.checks.rule import Details, Judgement
from speckv_debug.checks.verdict import verdict
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.row_returns import RowReturns
from speckv_debug.replay.row_uses import LIFE, NAMELESS, RowUses

UNSEEN = "who held the row before was not recorded"
UNTOLD = "sessions were not recorded: they hand rows on without an event of the row"
GRANTS_UNTOLD = "row_alloc was not recorded whole: the row may have been handed out"
NO_LIFE = "the event does not name both row and epoch"
NO_NAME = "the row was handed out to a request without a name"
RETURNS_UNTOLD = (
    "row_free or cache was not recorded whole: a row may have come back, or gone on with a session"
)
NO_RETURN = "a row_free does not say of which row or life it is"
NO_QUIET = "the recording ends before the row has to be back"


def judge_uses(uses: RowUses) -> Judgement:
    """A row is used by the life and for the request that it was handed out to."""
    failed = uses.not_granted | uses.strange | uses.late | uses.of_padding
    ungranted, untold = uses.not_granted & ~uses.of_padding, uses.hidden
    unseen, unheard = ungranted & (not uses.from_start), ungranted & (not uses.tells_grants)
    nameless = uses.kind_of == NAMELESS
    reasons = {
        UNSEEN: unseen,
        GRANTS_UNTOLD: unheard,
        UNTOLD: untold,
        NO_LIFE: nameless,
        NO_NAME: uses.unnamed,
    }
    return verdict(failed & ~unseen & ~unheard & ~untold, lambda i: _explain_use(uses, i), reasons)


def _explain_use(uses: RowUses, i: int) -> Details:
    place, life = uses.place(i), int(uses.life[i])
    row, table = f"row {place.row} (epoch {place.epoch})", uses.tables[int(uses.table[i])]
    if uses.of_padding[i]:
        return Details(
            message=f"{table} of {named(place.request)} names {row}, which belongs to rows that pad a batch",
            expected="a row that the engine hands out: 1 and up",
            actual=f"row {place.row}",
        )
    if uses.kind_of[i] == LIFE:
        granted = int(uses.granted[life])
        when = "was not handed out" if granted == NEVER else f"is handed out at event {granted} only"
        return Details(
            message=f"{table} of {named(place.request)} names {row}, which {when}",
            expected="a row is handed out before it is used",
            actual="no row_alloc of the row and epoch"
            if granted == NEVER
            else f"row_alloc at event {granted}",
        )
    if uses.late[i]:
        return Details(
            message=f"{table} of {named(place.request)} names {row}, which was given back at event {uses.returned[life]}",
            expected="a row is prepared, grows and is released only for the request that holds it",
            actual=f"{table} at event {place.seq}, row_free at event {uses.returned[life]}",
        )
    owner = named(uses.owner(i))
    return Details(
        message=f"{table} of {named(place.request)} names {row}, which was handed out to {owner}",
        expected=f"request {uses.owner(i)}, or a session that hands the row on",
        actual=f"{named(place.request)}; row_alloc to {owner} at event {uses.granted[life]}",
    )


def judge_returns(returns: RowReturns) -> Judgement:
    """When a request has ended, its row comes back."""
    untold = returns.kept & (not returns.is_told)
    return verdict(
        returns.kept & ~untold,
        lambda i: _explain_return(returns, i),
        {NO_QUIET: returns.unseen, NO_RETURN: returns.nameless, RETURNS_UNTOLD: untold},
    )


def _explain_return(returns: RowReturns, i: int) -> Details:
    place, given = returns.place(i), int(returns.given[i])
    who = named(place.request)
    return Details(
        message=f"{who} has ended, and row {place.row} (epoch {place.epoch}) is not given back",
        expected=f"row_free before event {returns.shown[i]}",
        actual="no row_free of the row and epoch" if given == NEVER else f"row_free at event {given}",
    )
