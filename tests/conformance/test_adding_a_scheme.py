"""docs/adding-a-scheme.md, followed step by step: its scheme is defined, passes the suite and runs in the simulator."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-scheme.md"
_page: dict[str, object] = {"__name__": __name__}
for _block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
    exec(compile(_block, str(PAGE), "exec"), _page)

TestHubRouting = _page["TestHubRouting"]


def test_the_page_has_a_scheme_a_suite_and_a_simulation():
    assert {"HubRouting", "TestHubRouting", "trace"} <= _page.keys()
