"""The overlay of chapter 2 as the thesis describes it, in rounds, for the rows that are judged.

rules.py           where the text leaves a choice, or prints what fails
peers.py           what subscribers and publishers keep
views.py           partial views of the peers
overlay.py         Algorithm 1: connecting and disconnecting
rounds.py          the rounds, time-outs, and who gets what
dissemination.py   Algorithm 2: events, hop by hop
accuracy.py        Algorithm 3 from measured rates
world.py           what peers want, and how soon

The overlay that users get is `overlays.protocols.qos`; this one shows what was published.
"""
