"""Facts of the field, frozen and typed; standard library only."""
