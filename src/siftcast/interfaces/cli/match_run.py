"""One run of `siftcast match`: the files opened, the pipeline run, and an orderly end whatever happens.

Everything that can be refused without work is refused first (names, folders, the engine, an unwritable output), so
that a long run does not end with an error that was there at its beginning.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from siftcast.files import (
    EventReader,
    PairFile,
    RejectedFile,
    check_output,
    event_format,
    open_events,
    read_subscriptions,
    subscription_format,
)
from siftcast.interfaces.cli.match_report import MatchReport
from siftcast.interfaces.cli.matching_stage import BlockMatcher, MatchedBlock, PairMaker, Tally
from siftcast.interfaces.cli.pipeline import Pipeline
from siftcast.interfaces.cli.progress_display import show_progress
from siftcast.matching import Matcher
from siftcast.model import DataError, Schema


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """What to match, and where the results go."""

    subscriptions: Path
    events: Path
    output: Path | None = None
    schema: Schema | None = None
    engine: str = "auto"
    rejected_to: Path | None = None
    progress: bool = True

    def check(self) -> None:
        """Raises DataError for what cannot work."""
        subscription_format(self.subscriptions)
        event_format(self.events)
        if self.output is not None:
            check_output(self.output, (self.subscriptions, self.events))
        if self.rejected_to is not None and not self.rejected_to.is_dir():
            raise DataError(f"{self.rejected_to}: is not a folder; rejected rows need one that exists")


class Interrupted(Exception):
    """Ctrl-C in the middle of a run; carries what was done until then."""

    def __init__(self, report: MatchReport) -> None:
        self.report = report
        super().__init__("interrupted")


def run_match(request: MatchRequest) -> MatchReport:
    """Runs to the end; raises Interrupted, or a SiftcastError that says what was done before it."""
    request.check()
    matcher = Matcher(request.engine, request.schema)
    with ExitStack() as stack:
        events_rejected = stack.enter_context(RejectedFile(request.events, "events", request.rejected_to))
        reader = stack.enter_context(open_events(request.events, request.schema, events_rejected))
        result = stack.enter_context(_Result(request.output))
        with RejectedFile(request.subscriptions, "subscriptions", request.rejected_to) as subscriptions_rejected:
            subscriptions = read_subscriptions(request.subscriptions, request.schema, subscriptions_rejected)
        matcher.add_many(subscriptions)
        matcher.settle()
        tally = Tally([subscription.id for subscription in subscriptions])
        result.start(tally, PairMaker(subscriptions))
        pipeline = Pipeline(reader.blocks, BlockMatcher(matcher), result.take)
        report = MatchReport(
            str(matcher.stats()["engine"]), subscriptions, subscriptions_rejected, events_rejected, tally
        )
        try:
            _run(pipeline, reader, tally, request.progress)
            report.output = result.finish()
        except KeyboardInterrupt:
            report.output = result.keep_partial()
            raise Interrupted(report) from None
        except DataError as error:
            raise DataError(f"{error}\n{_done_so_far(tally, result.keep_partial())}") from None
        finally:
            report.profile = pipeline.profile()
            report.column_types = reader.column_types()
        return report


def _run(pipeline: Pipeline, reader: EventReader, tally: Tally, progress: bool) -> None:
    with show_progress("matching", enabled=progress) as update:
        pipeline.run(lambda: update(reader.progress(), tally.events, tally.pairs))


def _done_so_far(tally: Tally, partial: Path | None) -> str:
    done = f"{tally.events:,} events were matched before that ({tally.pairs:,} matches)"
    return f"{done}; their matches are in {partial}" if partial is not None else done


class _Result:
    """The sink of the pipeline: counts, and writes pairs if there is an output. Not finished means discarded."""

    def __init__(self, output: Path | None) -> None:
        self._file = None if output is None else PairFile(output)
        self._tally: Tally | None = None
        self._make_pairs: PairMaker | None = None

    def start(self, tally: Tally, make_pairs: PairMaker) -> None:
        """Tells what to count and how to write, once the subscriptions are known."""
        self._tally, self._make_pairs = tally, make_pairs

    def take(self, matched: MatchedBlock) -> None:
        """Counts one block and writes its pairs."""
        if self._tally is None or self._make_pairs is None:
            raise RuntimeError("a result takes blocks only after start()")
        if self._file is not None:
            for pairs in self._make_pairs(matched):
                self._file.write(pairs)
        self._tally.add(matched)

    def finish(self) -> Path | None:
        """Completes the output and gives it its name."""
        if self._file is None or self._make_pairs is None:
            return None
        self._file.finish(self._make_pairs.schema)
        path, self._file = self._file.path, None
        return path

    def keep_partial(self) -> Path | None:
        """Completes the output under its temporary name."""
        if self._file is None or self._make_pairs is None:
            return None
        path = self._file.keep_partial(self._make_pairs.schema)
        self._file = None
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.discard()
