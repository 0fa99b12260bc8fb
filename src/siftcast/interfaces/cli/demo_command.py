"""`siftcast demo`: the main job from end to end, on a market that is made up on the spot.

It runs the same code as `siftcast match`, except for files: generated quotes are matched against generated
subscriptions, a sample of the answers is compared with trying every filter, and the answers are explained. Matching
stops when its time is up, and the output says how far it came. Then the same market goes over a network of nodes
(`demo_network`) and through Spark (`demo_stream`).
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.options import Engine
from siftcast.interfaces.cli.outcome import DEFECT, OK, REJECTED
from siftcast.interfaces.cli.terminal import bar, explanation_tree, facts, out, percent
from siftcast.model import Filter, Subscription

if TYPE_CHECKING:
    from siftcast.interfaces.cli.demo_run import DemoRun

_NOTHING = "No quote matches any filter, so there is nothing to show: ask for more --events or --subscriptions."
_REACH = ((0, 0, "nobody"), (1, 9, "1–9"), (10, 49, "10–49"), (50, 99, "50–99"), (100, None, "100 or more"))


def demo(
    *,
    events: int = 200_000,
    subscriptions: int = 5_000,
    seed: int = 7,
    engine: Engine = "auto",
    seconds_max: Annotated[float, Parameter(name="--seconds-max")] = 40.0,
    network: bool = True,
    spark: bool = True,
) -> int:
    """Show what Siftcast does, on generated stock quotes, in under two minutes.

    Example: siftcast demo --subscriptions 20000

    Parameters
    ----------
    events
        How many quotes to generate.
    subscriptions
        How many investors' filters to match them with.
    seed
        Decides the market.
    seconds_max
        When to stop matching, if it is not done by then.
    network
        Show a network of three nodes as well.
    spark
        Show the stream on Spark as well.
    """
    from siftcast.interfaces.cli.demo_network import show_network
    from siftcast.interfaces.cli.demo_run import DemoRun
    from siftcast.interfaces.cli.demo_stream import show_stream

    console = out()
    console.print(Rule("Siftcast: every event reaches exactly those whose filter it satisfies"))
    run = DemoRun.generate(events=events, subscriptions=subscriptions, seed=seed)
    _show_market(run, console)
    started = perf_counter()
    run.match(engine, seconds_max)
    _show_matching(run, perf_counter() - started, console)
    if run.tally.pairs:
        _show_why(run, console)
    compared, differing = run.compare_with_every_filter(events_max=200)
    if not run.tally.pairs and not differing:
        # All agreeing on nothing would look like a success.
        console.print(Panel(Text(_NOTHING, "bold yellow"), expand=False))
        return REJECTED
    verdict = "all agree" if not differing else f"{differing} DIFFER"
    text = f"Compared with trying every filter on {compared:,} of the quotes: {verdict}."
    console.print(Panel(Text(text, "bold green" if not differing else "bold red"), expand=False))
    parts: list[str | None] = [show_network(run.events, console)] if network else []
    parts += [show_stream(run.events, console)] if spark else []
    if differing or "failed" in parts:
        return DEFECT
    return REJECTED if "vacuous" in parts else OK


def _show_market(run: DemoRun, console: Console) -> None:
    console.print(Text("\n1. A market", "bold"))
    rows = [("quotes", f"{len(run.events):,}, such as {run.describe_event(0)}")]
    seen: dict[Any, Subscription] = {}
    for subscription in run.subscriptions:
        seen.setdefault(id(subscription.filter.template), subscription)
    examples = list(seen.values())[:4]
    rows.append(("filters", f"{len(run.subscriptions):,} of {len(seen)} shapes, such as"))
    rows += [("", str(subscription.filter)) for subscription in examples]
    console.print(facts(rows))


def _show_matching(run: DemoRun, took_s: float, console: Console) -> None:
    from siftcast.interfaces.cli.match_report import busiest_table

    tally = run.tally
    console.print(Text("\n2. Who gets what", "bold"))
    stopped = "" if tally.events == len(run.events) else f" of {len(run.events):,}, then time was up"
    pairs_possible = tally.events * len(run.subscriptions)
    console.print(
        facts(
            [
                ("matched", f"{tally.events:,} quotes{stopped}, in {took_s:.2f} s with the engine {run.engine}"),
                ("rate", f"{tally.events / max(took_s, 1e-9):,.0f} quotes/s (indexing the filters included)"),
                ("deliveries", f"{tally.pairs:,}, {percent(tally.pairs, pairs_possible)} of {pairs_possible:,} pairs"),
            ]
        )
    )
    console.print(Text("\nHow many subscriptions a quote reached", "bold"))
    console.print(_reach_table(run))
    busiest = tally.busiest(6)
    if busiest:
        console.print()
        console.print(busiest_table(run.subscriptions, busiest, tally.events, console.width))


def _reach_table(run: DemoRun) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    reached = run.reached
    for low, high, label in _REACH:
        count = int(((reached >= low) & (reached <= (high if high is not None else reached.max(initial=0)))).sum())
        table.add_row(label, f"{count:,}", Text(bar(count / max(1, len(reached)), 40), "cyan"))
    return table


def _show_why(run: DemoRun, console: Console) -> None:
    """One subscription that an event satisfies, and one that it narrowly misses."""
    console.print(Text("\n3. Why", "bold"))
    number, matching, missing = run.pick_example()
    event = run.event(number)
    console.print(Text.assemble("The quote ", (run.describe_event(number), "bold")))
    for subscription, verb in ((matching, "reached"), (missing, "did not reach")):
        if subscription is not None:
            console.print(Text.assemble(f"  {verb} ", (subscription.id, "bold"), f" of {subscription.subscriber}:"))
            parsed: Filter = subscription.filter
            console.print(explanation_tree(parsed.explain(event)))
    console.print()
