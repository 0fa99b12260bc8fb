"""Networks that are planned, and whose members and plans change while they run.

    view.py            who is a member, and which plans (epochs) are open: what all nodes agree on
    coordinator.py     the one node that issues views, and what it finds out before it does
    planned.py         a node: takes views up, answers the coordinator or is it, joins, leaves
    epochs.py          one instance of the scheme for each open epoch, and what passes between them and the world
    guarding.py        durable subscriptions that two nodes know of, so that one can stand in for the other
    progress.py        how far a node is, as it tells the coordinator; words.py what people are shown
    messages.py        what such nodes say to each other; settings.py how patient they are

A plan never changes. A change of the network is a new plan beside the old one (an *epoch*), built up while the old one
delivers, used once all are prepared, and the old one dropped once nothing of it is on its way:

    epoch 4   ━━━━━━━━ used ━━━━━━━━━━┯━ drains ━┯ retired
    epoch 5            ┌─ prepared ─────┴━━━━━━━━ used ━━━━━━━
                       asked: a node joins, leaves, is absent or back, or other settings

So an event belongs to one plan and arrives once, nothing that was accepted is lost, and there is no time in which
nothing is delivered. A scheme sees none of it.

What is promised of durable events and subscriptions holds across all changes, with these limits: events of one
publisher may overtake each other from one epoch to the next; what only the disk of a node that is declared gone had is
lost, and is said to be.
"""
