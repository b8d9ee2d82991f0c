"""The report: one HTML file, its drawings and figures. It draws what checks found and computes no law."""
