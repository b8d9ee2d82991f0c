"""The five integers that look alike, one type each, so that no variable ever holds two of them."""

from typing import NewType

TokenId = NewType("TokenId", int)
"""A vocabulary id."""
Position = NewType("Position", int)
"""A logical position in a request's sequence."""
VerifyRow = NewType("VerifyRow", int)
"""A row of the flat verify batch; `accept_index` selects these."""
Slot = NewType("Slot", int)
"""A physical KV slot inside one pool's namespace."""
Page = NewType("Page", int)
"""`slot // page_size` of the allocator that owns the slot."""
