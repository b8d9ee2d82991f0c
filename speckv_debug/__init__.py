"""A trace-driven debugger for KV-cache management under speculative decoding."""

__version__ = "0.1.0"
__all__ = ["__version__", "attach", "open_recording"]


def __getattr__(name: str) -> object:
    """Load the public functions on first use, so that importing the package stays cheap."""
    if name in ("attach", "open_recording"):
        from speckv_debug import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
