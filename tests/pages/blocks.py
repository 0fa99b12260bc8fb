"""The blocks that README and docs print, each with its place, so that a failure points there."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
PAGES = ("README.md", "CONTRIBUTING.md", "tests/README.md", *DOCS)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def first(self) -> str:
        return self.text.splitlines()[0].strip()

    @property
    def commands(self) -> list[str]:
        """The command lines: those after a prompt where there is one, else all; comments and foldings are taken out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(page, text[: each.start()].count("\n") + 1, each[1], each[2]) for each in found]


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]


def run_python(page: str, names: dict[str, object], *, folder: str = "", put: str = "") -> None:
    """Runs the Python blocks of a page one after the other, under the lines that they have there.

    Names of files in `folder` are put elsewhere: a JVM that runs already looks for them where it was started.
    """
    for block in blocks_of(page):
        if block.language == "python":
            text = block.text.replace(f'"{folder}/', f'"{put}/') if folder else block.text
            exec(compile("\n" * block.line + text, str(ROOT / page), "exec"), names)


def words_of(command: str) -> Iterator[list[str]]:
    """The commands of a line as words: parts of a pipe or list one by one, without what is set before them."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= set("|&;"):
            words.append(word)
            continue
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            del words[0]
        if ">" in words:
            words = words[: words.index(">")]
        if words:
            yield words
        words = []
