"""Reading filters whose form, or whose terms, have been read before.

One regular expression splits a text into its literals and the text between them. With a mark of its type in the place
of each literal, what remains is the text's *skeleton*:

    symbol = 'IBM' AND price < 95     →     symbol = ⟨string⟩ AND price < ⟨integer⟩

A skeleton seen before needs no parsing: its template is known. A new one is cut at AND and OR, and where all its
terms are known its template is put together from theirs. Attributes and operators are few and their combinations
many, so this is the common case for filters that users write one by one; it takes a third of a full parse. A new term
that differs from a known one only in the attribute it begins with is made from that one.

Invariants: a text takes a shortcut only if the full parser, on the text that made the entry, found exactly the
literals that the split finds. Terms are put together only if the full parser read each of them, alone, as one whole
term: then no parenthesis, BETWEEN or quoted name reaches across a cut, and the grammar gives the whole no other
reading. Anything unusual (escapes, a literal of another kind) goes to the full parser, which alone reports errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from siftcast.model.bounded_cache import remember
from siftcast.model.errors import FilterError
from siftcast.model.expression import And, Or, Predicate, Reference, references
from siftcast.model.lexer import KEYWORDS
from siftcast.model.literals import Literals
from siftcast.model.template import Template, renamed, shifted
from siftcast.model.values import Value, parse_timestamp

# Numbers of at most 18 digits cannot overflow; a string with a backslash or a doubled quote is left whole.
# It starts with a set of characters, by which the regular expression engine finds candidates twice as fast.
_LITERAL = re.compile(r"(['0-9](?:(?<=')[^'\\]*'|(?<=[0-9])(?<![\w.][0-9])[0-9]{0,17}(?:\.[0-9]{1,18})?(?![\w.])))")
_MARKS: dict[type, str] = {int: "\x01", float: "\x02", str: "\x03"}
# An AND before a literal belongs to a BETWEEN. A run of blanks is looked at once, as a whole and from its beginning:
# giving blanks back, or trying each of them as a beginning, would take quadratic time on a long run.
_JOINT = re.compile(r"\s(?<!\s\s)\s*+(AND|OR)\s++(?![\x01-\x03+-]|TIMESTAMP\s*\x03)", re.IGNORECASE)
_OR = frozenset({"OR", "or", "Or", "oR"})
_NO_NAMES = KEYWORDS | {"TIMESTAMP"}
_MARK = re.compile("[\x01-\x03]")
_decode = msgspec.json.Decoder(list).decode
_mark = _MARKS.__getitem__
_CACHE_MAX = 16_384  # about 50 MB of what people write
_PIECE_MAX = 1_000
_SKELETON_MAX = 4_000  # longer texts rarely repeat, and many of them would fill the memory
_CACHED_HOLES_MAX = 64  # long IN lists rarely repeat; caching them would only hold on to their text
_LONG_TERMS_MAX = 512  # but for some of them, because many may be of one length and one type

FullParser = Callable[[str], tuple[Template, Literals]]
Found = tuple[Template, list[Value]]


class _Form(msgspec.Struct, frozen=True, gc=False):
    """The template of a skeleton, and what to do to literals once they are read."""

    template: Template
    holes: int
    as_read: bool
    negative: Sequence[int]
    timestamps: Sequence[int]

    @classmethod
    def of(cls, template: Template, literals: Literals) -> _Form:
        return cls.plain_or(template, len(literals.raws), literals.negative, literals.timestamps)

    @classmethod
    def plain_or(cls, template: Template, holes: int, negative: Sequence[int], timestamps: Sequence[int]) -> _Form:
        # Tuples of numbers, unlike lists, are nothing that Python's cycle collector has to look at again and again.
        return cls(template, holes, not negative and not timestamps, tuple(negative), tuple(timestamps))


class _Term(msgspec.Struct, frozen=True, gc=False):
    """The form of one term, and its tree for each place among the literals at which it was met."""

    form: _Form
    trees: dict[int, Predicate]

    def put_at(self, place: int) -> Predicate:
        tree = shifted(self.form.template.tree, place)
        if place < _CACHED_HOLES_MAX:  # a term may come at thousands of places in long filters, and seldom twice at one
            self.trees[place] = tree
        return tree

    def renamed(self, name: str) -> _Term:
        """The same term about another attribute."""
        form = self.form
        tree = renamed(form.template.tree, name)
        assert tree is not None
        template = Template(tree, form.template.depth, form.template.terms)
        return _Term(_Form(template, form.holes, form.as_read, form.negative, form.timestamps), {})


class TemplateCache:
    """Forms by skeleton and terms by theirs; the oldest goes when there are too many.

    All literals of a text are read in one call, as a JSON array. A double quote would end a string of that array
    early, and two of them can even hide a number between them; a text with one goes to the full parser.
    """

    __slots__ = ("_forms", "_long_terms", "_shapes", "_terms")

    def __init__(self) -> None:
        self._forms: dict[str, _Form] = {}
        self._terms: dict[str, _Term | None] = {}
        self._long_terms: dict[str, _Term | None] = {}
        self._shapes: dict[str, _Term] = {}  # by what follows the attribute's name

    def find(self, text: str, parse: FullParser) -> Found | None:
        """The template of a text and the text's literals, where a short way is open."""
        if '"' in text:
            return None
        parts = _LITERAL.split(text)
        try:
            values = _decode(f"[{','.join(parts[1::2])}]".replace("'", '"'))
        except (msgspec.DecodeError, UnicodeError):  # UnicodeError: a lone surrogate
            return None
        parts[1::2] = map(_mark, map(type, values))
        skeleton = "".join(parts)
        form = self._forms.get(skeleton)
        if form is None:
            form = self._compose(skeleton, text, parse)
            if form is None:
                return None
        if form.holes != len(values):  # the text itself has a character that serves as a mark
            return None
        if form.as_read:
            return form.template, values
        for index in form.negative:
            values[index] = -values[index]
        try:
            for index in form.timestamps:
                values[index] = parse_timestamp(values[index])
        except ValueError:
            return None
        return form.template, values

    def add(self, text: str, literals: Literals, template: Template) -> None:
        """Remembers a template, if the split of its text finds the very literals that the lexer found."""
        parts = _LITERAL.split(text)
        if parts[1::2] != literals.raws or len(literals.raws) > _CACHED_HOLES_MAX or "`" in "".join(parts[::2]):
            return
        parts[1::2] = map(_mark, literals.types)
        skeleton = "".join(parts)
        if len(skeleton) <= _SKELETON_MAX:
            remember(self._forms, skeleton, _Form.of(template, literals), _CACHE_MAX)

    def _compose(self, skeleton: str, text: str, parse: FullParser) -> _Form | None:
        """The form of a new skeleton from the forms of its terms."""
        pieces = _JOINT.split(skeleton)
        if len(pieces) == 1 or "`" in skeleton or "'" in skeleton:
            return None
        known = self._terms
        alternatives: list[Predicate] = []
        run: list[Predicate] = []
        holes = count = depth = 0
        negative: list[int] = []
        timestamps: list[int] = []
        literals: list[str] = []  # as written; found once, by the first term that must be read
        for number, piece in enumerate(pieces):
            if number % 2:
                if piece in _OR:
                    alternatives.append(_one_or(And, run))
                    run = []
                continue
            term = known[piece] if piece in known else self._learn(piece, text, literals, holes, parse)
            if term is None:
                return None
            run.append(term.trees.get(holes) or term.put_at(holes))
            form = term.form
            if not form.as_read:
                negative += [holes + index for index in form.negative]
                timestamps += [holes + index for index in form.timestamps]
            holes += form.holes
            count += form.template.terms
            if form.template.depth > depth:
                depth = form.template.depth
        alternatives.append(_one_or(And, run))
        template = Template(_one_or(Or, alternatives), depth, count)
        form = _Form.plain_or(template, holes, negative, timestamps)
        if holes <= _CACHED_HOLES_MAX and len(skeleton) <= _SKELETON_MAX:
            remember(self._forms, skeleton, form, _CACHE_MAX)
        return form

    def _learn(self, piece: str, text: str, literals: list[str], place: int, parse: FullParser) -> _Term | None:
        """Has the full parser read one term, and remembers what came of it, good or bad."""
        if piece in self._long_terms:
            return self._long_terms[piece]
        name, _, rest = piece.partition(" ")
        shape = self._shapes.get(rest)
        if shape is not None and _is_plain_name(name):
            learned: _Term | None = shape.renamed(name)
        else:
            learned = self._read(piece, text, literals, place, parse)
            if learned is not None and learned.form.holes <= _CACHED_HOLES_MAX and len(rest) <= _PIECE_MAX:
                tree = learned.form.template.tree
                if [*references(tree)] == [Reference((name,))] and renamed(tree, name) is not None:
                    remember(self._shapes, rest, learned, _CACHE_MAX)
        if learned is not None and learned.form.holes > _CACHED_HOLES_MAX:
            remember(self._long_terms, piece, learned, _LONG_TERMS_MAX)
        elif len(piece) <= _PIECE_MAX:
            remember(self._terms, piece, learned, _CACHE_MAX)
        return learned

    def _read(self, piece: str, text: str, literals: list[str], place: int, parse: FullParser) -> _Term | None:
        marks = _MARK.findall(piece)
        if marks and not literals:
            literals += _LITERAL.findall(text)
        own = iter(literals[place : place + len(marks)])
        try:
            template, found = parse(_MARK.sub(lambda _: next(own), piece))
        except (FilterError, StopIteration, RuntimeError):
            return None
        if list(map(_mark, found.types)) != marks or isinstance(template.tree, And | Or):
            return None
        return _Term(_Form.of(template, found), {})


def _is_plain_name(name: str) -> bool:
    """Whether a name is one whole token that can only be an attribute."""
    return name.isidentifier() and name.isascii() and name.upper() not in _NO_NAMES


def _one_or(node: type[And | Or], terms: list[Predicate]) -> Predicate:
    """The terms joined. None of them is of this kind itself, so there is nothing to flatten."""
    return terms[0] if len(terms) == 1 else node(tuple(terms))
