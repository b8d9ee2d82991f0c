"""Styles of text, as theme variables. They only support a mark or a word, they never replace one."""

from typing import Final

STRONG: Final = "bold"
FAINT: Final = "$foreground-muted"
GOOD: Final = "$text-success"
BAD: Final = "bold $text-error"
DOUBT: Final = "$text-warning"
PLACE: Final = "$text-accent"
KEY: Final = "bold $footer-key-foreground"
