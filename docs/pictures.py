"""Draw the picture of the README again: `python docs/pictures.py` after `make demo`."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from speckv_debug.api import open_recording
from speckv_debug.checks.run import check
from speckv_debug.viewers.terminal import text

HERE = Path(__file__).parent
FONT_FACE = re.compile(r"@font-face \{.*?\n    \}\n", re.DOTALL)  # they would be loaded from elsewhere


def main() -> None:
    """Check the demo's recording and draw what the terminal shows."""
    recording = open_recording(HERE.parent / "demo.speckv")
    shown = io.StringIO()
    text.render(check(recording), recording, shown, color=True)
    console = Console(record=True, width=112, file=io.StringIO())
    console.print(Text.from_ansi("$ speckv-debug check demo.speckv\n" + shown.getvalue()))
    drawn = console.export_svg(title="speckv-debug", unique_id="finding")
    (HERE / "finding.svg").write_text(FONT_FACE.sub("", drawn))


if __name__ == "__main__":
    main()
