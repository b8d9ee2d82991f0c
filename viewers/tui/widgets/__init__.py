"""One file a widget; each gets what it shows handed in and posts what was chosen upward."""
