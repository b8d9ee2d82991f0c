"""The bundled engine: a small real transformer with paged KV and speculative decoding as SGLang does it.

It needs no GPU and nothing to download. Everything that a recording of it shows was done to real
tensors; planted faults change the engine, never the recording.
"""
