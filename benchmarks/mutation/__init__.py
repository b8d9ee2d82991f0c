"""Clean recordings with one change in one event: what the laws say of them, and what a reader would have seen."""
