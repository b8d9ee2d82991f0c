"""Planted faults: each makes the engine do once what a real bug did, deep in the run, and lets it live on.

A fault changes tensors, tables and the allocator. It never touches what is recorded.
"""
