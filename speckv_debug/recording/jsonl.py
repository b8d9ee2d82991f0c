"""A recording as JSON Lines and back, without loss: the form of a small reproduction."""

from speckv_debug.recording.jsonl_export import export_jsonl
from speckv_debug.recording.jsonl_import import ImportSummary, import_jsonl

__all__ = ["ImportSummary", "export_jsonl", "import_jsonl"]
