"""Which families of rules a change of a column should be found by."""

from __future__ import annotations

ACC, LEN, LOC, MOV, OWN, ST = "ACC", "LEN", "LOC", "MOV", "OWN", "ST"
TABLES: dict[str, tuple[str, ...]] = {
    "accept": (ACC, LEN, LOC, OWN),
    "move": (MOV,),
    "compact": (MOV,),
    "forward": (LOC, LEN, OWN),
    "alloc": (OWN, LEN, LOC),
    "free": (OWN,),
    "free_group": (OWN,),
    "table_write": (LOC, OWN, LEN),
    "row_alloc": (OWN, LEN, LOC),
    "row_free": (OWN, LEN),
    "lengths": (LEN, OWN),
    "reserve": (LEN,),
    "cache": (OWN,),
    "release": (LEN, OWN),
    "swa_map": (OWN,),
    "page_ref": (OWN,),
    "state_clear": (ST,),
    "state_commit": (ST,),
    "state_access": (ST,),
    "transfer": (OWN,),
    "pool_stat": (OWN,),
}
COLUMNS: dict[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys(
        [
            ("accept", c)
            for c in ("accept_index", "num_correct_drafts", "next_token", "next_sibling", "layout")
        ],
        (ACC,),
    ),
    **dict.fromkeys(
        [("accept", c) for c in ("accept_len", "draft_tokens", "predict", "bonus_token")], (ACC, LEN)
    ),
    **dict.fromkeys([("accept", c) for c in ("out_cache_loc", "table_slots")], (LOC, OWN)),
    **dict.fromkeys([("accept", c) for c in ("seq_len", "new_seq_len", "positions")], (LEN, LOC)),
}
OF_REPLAY = {
    "RPL-ACCEPT": ACC, "RPL-BONUS": ACC, "RPL-LEN": LEN, "RPL-RESERVE": LEN, "RPL-LOC": LOC, "RPL-MOVE": MOV,
    "RPL-COMPACT": MOV, "RPL-STATE": ST,
}  # fmt: skip
CONTENT = (LEN, LOC, MOV, OWN)
"""What a wrong content of the cache may come from."""


def families(table: str, column: str) -> tuple[str, ...]:
    """The families that are due; those of replay count as what they replay."""
    return COLUMNS.get((table, column), TABLES.get(table, ()))


def family_of(rule: str) -> str:
    """The family of a rule; RPL-SHADOW looks at the content of the cache, its own family stands for all of those."""
    return OF_REPLAY.get(rule, rule.partition("-")[0])
