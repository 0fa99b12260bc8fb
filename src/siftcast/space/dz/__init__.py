"""dz-expressions: parts of the content space as short bit strings, made by halving one dimension after the other.

    0 1 1        the first half of the first dimension, of it the second half of the second, …
    * 0 1        the same for both halves of the first dimension: a star stands for 0 and 1

    dz covers dz'   ⇔   every place that dz fixes, dz' fixes likewise         without stars: dz is a prefix of dz'
    f matches e     ⇒   of_filter(f) covers of_event(e)

expression.py    one expression: bits, a length and stars, as integers
cubes.py         what sets of them are computed with
dz_set.py        a set of expressions: union, intersection, difference, cover by unions
dz_table.py      many expressions as arrays, to be compared with one at once
axes.py          the values of one attribute as a line of cells
dense_axes.py    likewise where values cannot be counted
interleaving.py  the cells of all attributes as one expression, and back
mapping.py       Algorithm 4 of the thesis, repaired: at most θ expressions that enclose an interest
batches.py       the same for many boxes at once
box_kernels.py   what of that is compiled
dz_space.py      a schema's attributes put together: what users call

Without stars, expressions that overlap contain one another. With stars they need not: `*0` and `0*` share `00` only.
The paper is chapter 2 of the thesis: sections 2.3.1 (expressions), 2.5.1 (Algorithm 4) and 2.6 (stars).
"""

from siftcast.space.dz.batches import DzBatch
from siftcast.space.dz.dz_set import DzSet
from siftcast.space.dz.dz_space import DzSpace
from siftcast.space.dz.dz_table import DzTable
from siftcast.space.dz.expression import LENGTH_MAX, Dz
from siftcast.space.dz.mapping import THETA_MAX

__all__ = ["LENGTH_MAX", "THETA_MAX", "Dz", "DzBatch", "DzSet", "DzSpace", "DzTable"]
