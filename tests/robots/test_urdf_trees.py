"""URDFs whose links and joints are no tree, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajopt.errors import InvalidArgumentError
from trajopt.robots import load_robot

A = '<link name="a"/><link name="b"/>'
JOINT = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (A + A + JOINT, r"link 'a' in line 1, a name that is taken in line 1"),
        (A + JOINT + JOINT, r"joint 'j' in line 1, a name that is taken"),
        (A + JOINT.replace("fixed", "hinge"), r"joint 'j' in line 1 has the type 'hinge'; expected one of revolute"),
        (A + JOINT.replace("fixed", "revolute"), r"joint 'j' in line 1 has no <limit> with effort.*'continuous'"),
        (A + JOINT.replace("<child", '<limit velocity="1"/><child'), r"joint 'j' in line 1 has no <limit> with effort"),
        (
            A + JOINT.replace("fixed", "prismatic").replace("<child", '<limit lower="-1" upper="1" effort="2"/><child'),
            r"joint 'j' in line 1 has no <limit> with effort and velocity$",
        ),
        (A + JOINT + JOINT.replace('"j"', '"k"'), r"joint 'k' in line 1 has the child 'b', as another joint has"),
        (A + '<link name="c"/>' + JOINT, r"2 links that are the child of no joint, 'a', 'c'"),
        (
            '<link name="c"/>'
            + A
            + JOINT
            + JOINT.replace('"j"', '"k"').replace('"a"', '"x"').replace('"b"', '"a"').replace('"x"', '"b"'),
            r"a loop of joints above the link 'b'",
        ),
    ],
)
def test_why_a_file_is_no_tree_of_links(tmp_path: Path, body: str, why: str) -> None:
    (tmp_path / "bad.urdf").write_text(f'<robot name="bad">{body}</robot>')
    with pytest.raises(InvalidArgumentError, match=f"expected a valid robot in .*bad.urdf', got: {why}"):
        load_robot(tmp_path / "bad.urdf")
