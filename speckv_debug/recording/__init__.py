"""The trace on disk: schema, manifest, writer, spool, reader, JSON Lines."""
