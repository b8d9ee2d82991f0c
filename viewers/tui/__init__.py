"""The inspector: a recording in the terminal. Screens, widgets and what they show; no law is computed here."""
