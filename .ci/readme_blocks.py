"""Writes the README's blocks of code into a folder: NUMBER.py and NUMBER.sh; `install.sh` is the one that installs."""

import re
import sys
from pathlib import Path

readme, folder = Path(sys.argv[1]), Path(sys.argv[2])
blocks = re.findall(r"```(python|bash)\n(.*?)```", readme.read_text(encoding="utf-8"), flags=re.DOTALL)
assert blocks, f"{readme} has no blocks"
for number, (language, text) in enumerate(blocks):
    name = f"{number}.py" if language == "python" else f"{number}.sh"
    if "pip install -e '.[robots]'" in text:
        name = "install.sh"
    elif ".venv-test" in text:
        name = "test.sh"
    (folder / name).write_text(text, encoding="utf-8")
