"""Where the program is: beside the package, then $STEPCAST, then on the PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ._errors import StepcastError


def find_program() -> str:
    """The path of ``stepcast``. Raises StepcastError where there is none."""
    package = Path(__file__).resolve().parent
    # PREFIX/lib/python3/dist-packages/stepcast and PREFIX/lib/python3.x/site-packages/stepcast; the folder of
    # pip install --target
    beside = [prefix / "bin" / "stepcast" for prefix in (*list(package.parents)[3:4], package.parent)]
    for path in beside:
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    named = os.environ.get("STEPCAST")
    if named:
        if os.access(named, os.X_OK) and os.path.isfile(named):
            return named
        raise StepcastError(f"$STEPCAST is {named!r}, which is no program")
    found = shutil.which("stepcast")
    if found:
        return found
    raise StepcastError("the program stepcast is not found: neither beside this package nor in "
                        "$STEPCAST nor on the PATH")
