"""Parts of the documentation site that need no Sphinx: listed names, docstrings as pages show them, checks."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path

import pytest

import trajopt

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _site_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))


def test_every_public_class_and_function_is_listed_once() -> None:
    from machinery.reference import NOT_SHOWN, public_names

    packages = [m.name for m in pkgutil.walk_packages(trajopt.__path__, "trajopt.") if m.ispkg]
    listed = Counter(name for names in public_names().values() for name, _ in names)
    things = Counter(id(thing) for names in public_names().values() for _, thing in names if inspect.isclass(thing))
    assert not {name: n for name, n in listed.items() if n > 1}
    assert max(things.values()) == 1
    shown = {id(thing) for names in public_names().values() for _, thing in names}
    missing = {}
    for name in {"trajopt", *packages} - NOT_SHOWN:
        package = importlib.import_module(name)
        public = {each: getattr(package, each) for each in getattr(package, "__all__", [])}
        hidden = [e for e, t in public.items() if (inspect.isclass(t) or inspect.isfunction(t)) and id(t) not in shown]
        missing |= {name: hidden} if hidden else {}
    assert not missing, "give them a page in ROOMS of docs/machinery/reference.py"


def test_formulas_of_docstrings_stay_as_they_are_written() -> None:
    from machinery.docstrings import to_rst

    text = to_rst("Cost ½|v|² + x_* of `name`s, v_.\n\n    minimise  Σ |u_t|²\n\nArgs:\n    *parts: Some `of_*`.\n")
    assert "½\\|v\\|² + x\\_\\* of `name`\\ s, v\\_." in text
    assert "::\n\n        minimise  Σ |u_t|²" in text
    assert "Args:\n    *parts: Some `of_*`." in text
    code = to_rst("Begin:\n\n```python\na = b * c\n\nd = |e|\n```\n\nEnd.")
    assert code == "Begin:\n\n.. code-block:: python\n\n    a = b * c\n\n    d = |e|\n\nEnd.\n"


def test_a_gallery_forgets_examples_and_subjects_that_are_gone_and_keeps_results_of_the_others(tmp_path: Path) -> None:
    from machinery.files import remove_gone

    gallery, copies = tmp_path / "gallery", tmp_path / "copies"
    made = ("{}.rst", "{}.py.md5", "images/sphx_glr_{}_001.png", "images/thumb/sphx_glr_{}_thumb.png")
    kept = {"1_arms/index.rst", "index.rst", "images/thumb/sphx_glr_top.png"}
    kept |= {f"1_arms/{name.format('02_reach')}" for name in made}
    gone = {f"1_arms/{name.format('03_push')}" for name in made} | {
        f"2_legs/{name.format('02_reach')}" for name in made
    }
    for name in [*kept, *gone, "2_legs/index.rst"]:
        (gallery / name).parent.mkdir(parents=True, exist_ok=True)
        (gallery / name).touch()
    for folder in ("1_arms", "2_legs"):
        (copies / folder).mkdir(parents=True)
    (copies / "1_arms" / "02_reach.py").touch()
    remove_gone(gallery, copies)
    assert {str(file.relative_to(gallery)) for file in gallery.rglob("*") if file.is_file()} == kept
    assert not (gallery / "2_legs").exists()
    assert [folder.name for folder in copies.iterdir()] == ["1_arms"]


def test_check_site_reports_faults(tmp_path: Path) -> None:
    from check_site import faults

    good = '<img src="p.png"><a href="#here">x</a><p id="here"><a href="https://example.org/a">y</a><script src="s.js">'
    (tmp_path / "p.png").touch()
    (tmp_path / "s.js").touch()
    (tmp_path / "index.html").write_text(good)
    assert faults(tmp_path) == ([], {"https://example.org/a"})
    bad = {
        '<script src="https://cdn.example/x.js">': "loads https://cdn.example/x.js from elsewhere",
        '<link rel="stylesheet" href="//fonts.example/f">': "loads //fonts.example/f from elsewhere",
        '<img src="q.png">': "loads q.png, which is not there",
        '<a href="other.html">': "other.html leads to no page",
        '<a href="index.html#there">': "index.html#there leads to no place on its page",
    }
    for text, words in bad.items():
        (tmp_path / "bad.html").write_text(text)
        assert faults(tmp_path)[0] == [f"bad.html: {words}"]
    (tmp_path / "bad.html").unlink()
    (tmp_path / "a.css").write_text("/* url(https://in.comment) */ @font-face { src: url('https://fonts.example/g') }")
    assert faults(tmp_path)[0] == ["a.css: loads https://fonts.example/g from elsewhere"]


def test_check_blocks_runs_the_code_blocks_of_a_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from check_blocks import check

    page = tmp_path / "page.md"
    page.write_text(
        "```{code-cell} ipython3\nopen('made', 'w').write('by a cell')\n```\n"
        "```bash\ncat made  # of the cell\n```\n```bash\npip install nothing\n```\n```py\n1 / 0\n```\n"
    )
    assert check(page) == 1
    assert "by a cell" in capfd.readouterr().out
    page.write_text("```python\n1 / 0\n```\n")
    with pytest.raises(Exception, match="non-zero exit status"):
        check(page)


def test_links_between_plain_pages_also_work_on_a_git_host() -> None:
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|png))\)", page.read_text(encoding="utf-8")):
            generated = target.startswith(("examples/", "problems/", "api/"))
            assert generated or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_docs_extra_lists_the_packages_of_the_site() -> None:
    project = (DOCS.parent / "pyproject.toml").read_text(encoding="utf-8")
    extra = re.search(r"\ndocs = \[(.*?)\n\]", project, flags=re.DOTALL)
    assert extra is not None
    for package in (
        "sphinx",
        "pydata-sphinx-theme",
        "sphinx-gallery",
        "myst-nb",
        "ipykernel",
        "sphinx-mathjax-offline",
    ):
        assert f'"{package}' in extra[1]
