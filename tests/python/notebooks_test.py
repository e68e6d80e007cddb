#!/usr/bin/python3
"""Runs the code cells of every notebook, in order, as plain Python. Usage: notebooks_test.py STEPCAST SOURCE_DIR"""
import contextlib
import io
import json
import os
import pathlib
import sys

STEPCAST, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
os.environ["STEPCAST"] = STEPCAST
sys.path.insert(0, str(SOURCE / "python"))


def run(notebook):
    names = {"__name__": "__main__"}
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, text in enumerate(code, start=1):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, f"{notebook.name}[{number}]", "exec"), names)
    assert all(not cell.get("outputs") for cell in cells), f"{notebook.name} holds outputs, clear them"
    print(f"{notebook.name}: {len(code)} cells")


notebooks = sorted((SOURCE / "python" / "notebooks").glob("*.ipynb"))
assert len(notebooks) >= 3, notebooks
for found in notebooks:
    run(found)
