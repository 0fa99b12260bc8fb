"""`siftcast completion`: the script with which a shell completes commands, options and files."""

from __future__ import annotations

import sys
from typing import Literal

from cyclopts import App

from siftcast.interfaces.cli.outcome import OK

Shell = Literal["bash", "zsh", "fish"]


def completion_of(app: App) -> App:
    """The command for an app; the script is made from the app as it then stands, so no option is forgotten."""

    def completion(shell: Shell, /) -> int:
        """Print a script that makes a shell complete siftcast's commands and options with the Tab key.

        For this session: `source <(siftcast completion bash)`, likewise with zsh, or
        `siftcast completion fish | source`. For all: the same line in ~/.bashrc, ~/.zshrc (after compinit) or
        ~/.config/fish/config.fish.

        Example: source <(siftcast completion bash)

        Parameters
        ----------
        shell
            Which shell.
        """
        sys.stdout.write(app.generate_completion(shell=shell) + "\n")
        return OK

    command = App(name="completion")
    command.default(completion)
    return command
