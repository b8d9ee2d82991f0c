"""Events in, state out: columns, verify steps, and who holds which page."""
