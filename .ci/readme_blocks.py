"""Writes the blocks of code of the README, and the one that tests, into a folder: NUMBER.py and NUMBER.sh.

`install.sh` is the one that installs, `test.sh` the one that tests. A Python block that imports nothing continues the
one before it. Called with the folder and the pages.
"""

import re
import sys
from pathlib import Path

folder, *pages = map(Path, sys.argv[1:])
text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
blocks = re.findall(r"```(python|bash)\n(.*?)```", text, flags=re.DOTALL)
assert blocks, f"{pages} have no blocks"
program = ""
for number, (language, text) in enumerate(blocks):
    name = f"{number}.py" if language == "python" else f"{number}.sh"
    if language == "python":
        program = text = text if "import " in text else program + text
    elif "pip install -e '.[robots]'" in text:
        name = "install.sh"
    elif ".venv-test" in text:
        name = "test.sh"
    (folder / name).write_text(text, encoding="utf-8")
