"""Small variables that a compiled program replaces, as one array between its runs.

XLA's client takes 0.8 us for each array that goes out of a program, and Python some more: for 300 variables of a few hundred
numbers that is longer than computing them (figures: benchmarks/NOTES.md). So a program that is all there is in its plan gives
and takes those that only their replacement reads - others hardly ask for them - as the bytes of one array, which C functions
take apart and put together (packing.c). The session unpacks them when somebody does ask.
"""

import itertools
import weakref
from collections.abc import Mapping

import numpy as np

from regrad.core.interrupts import uninterrupted
from regrad.core.shapes import size_of
from regrad.runtime import native
from regrad.runtime.loading import import_jax

_UNPACKED, _PACKED = "regrad_unpacked", "regrad_packed"
_MOST_BYTES = 4096  # of a variable: copying larger ones takes as long as passing them on
_LEAST = 8  # variables
_USEFUL = 4  # runs of the session that a pack is to last
_PATIENCE = 8  # so often it may last for less


class Layout:
    """Which operands and results of a program are packed, and how: the first operand and the first result are the pack.

    Attributes:
      ins, outs: their places among the operands and results that the program would have otherwise.
      specs: (dims, NumPy dtype) of each.
      key: equal for those that are alike, in programs of equal operands.
    """

    def __init__(self, pairs, specs):
        """Args: pairs: (operand, result) for each; specs: (dims, dtype) for each."""
        self.ins, self.outs = zip(*pairs)
        self.specs = tuple((dims, np.dtype(dtype.as_numpy_dtype)) for dims, dtype in specs)
        self.key = self.ins, self.outs
        sizes = [size_of(dims) * dtype.itemsize for dims, dtype in self.specs]
        self._ends = list(itertools.accumulate(sizes))
        self._sizes = {"sizes": np.array(sizes, np.int64)}

    def member(self, pack, k):
        """Returns a copy of member `k` of a pack."""
        (dims, dtype), end = self.specs[k], self._ends[k]
        start = self._ends[k - 1] if k else 0
        return np.array(np.asarray(pack)[start:end]).view(dtype).reshape(dims)

    @staticmethod
    def pack(arrays):
        """Returns the pack of arrays of NumPy's or on the device."""
        return np.concatenate([np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in arrays])

    def of_pack(self, function, specs, donate):
        """Returns what XLA is to compile instead of `function`, the (shape, NumPy dtype) of its operands, and those to donate.

        It takes the pack and the other operands, and gives the pack and the other results.
        """
        ffi, struct, pack = import_jax().ffi, import_jax().ShapeDtypeStruct, ((self._ends[-1],), np.uint8)

        def packed(pack_of_ins, *others):
            members = ffi.ffi_call(_UNPACKED, [struct(*spec) for spec in self.specs])(pack_of_ins, **self._sizes)
            members, others = apart(function(*_woven(self.ins, members, others)), self.outs)
            return ffi.ffi_call(_PACKED, struct(*pack))(*members, **self._sizes), *others

        alone = apart(range(len(specs)), self.ins)[1]
        return packed, [pack, *(specs[i] for i in alone)], [1 + alone.index(i) for i in donate]


class Packed:
    """A compiled program whose small operands and results are packed, called with them as they are."""

    def __init__(self, executable, layout):
        self.of_pack = executable
        self._layout = layout

    def __call__(self, *args):
        layout = self._layout
        members, others = apart(args, layout.ins)
        pack, *results = self.of_pack(layout.pack(members), *others)
        return _woven(layout.outs, [layout.member(pack, k) for k in range(len(members))], results)


def apart(values, places):
    """Returns the values at `places`, in that order, and the others."""
    taken = set(places)
    return [values[i] for i in places], [v for i, v in enumerate(values) if i not in taken]


def _woven(places, members, others):
    """Returns the list that `apart` has taken apart."""
    found, rest = dict(zip(places, members)), iter(others)
    return [found[i] if i in found else next(rest) for i in range(len(members) + len(others))]


def possible():
    """True where XLA can call what takes a pack apart and puts it together."""
    return native.serves(_UNPACKED) and native.serves(_PACKED)


def worth(pairs, specs):
    """Returns those of `pairs`, (operand, result), that are worth packing; specs: (dims, dtype) of each operand."""
    small = [(i, v) for i, v in pairs if 0 < size_of(specs[i][0]) * specs[i][1].size <= _MOST_BYTES]
    return small if len(small) >= _LEAST and native.available(_PACKED) else []


class Pack:
    """What a session keeps some variables under, as one array.

    Attributes:
      layout: a Layout whose operands they are.
      places: {variable: its place}.
      programs: those that take and give it.
      useless: how often it was taken apart after a few runs.
    """

    def __init__(self, layout, variables):
        self.layout = layout
        self.places = {variable: k for k, variable in enumerate(variables)}
        self.programs = weakref.WeakSet()
        self.useless = self.since = 0  # since: the session's run in which it was made last


class State(dict):
    """The values of a session's variables: {variable operation: array}.

    A program asks for its Pack as for a variable, and replaces it; it is made when it is asked for. So are then the variables
    in it, when others ask for those; it is taken apart when others replace one. It is not listed, and they are.
    """

    def __init__(self, session):
        super().__init__()
        self._session = session
        self._packs = {}  # variable -> the Pack that it is in
        self._copies = set()  # variables in packs of which a copy lies here, too
        self._known = {}  # variables -> Pack

    def pack_of(self, layout, variables, program):
        """Returns the Pack of variables for a program: one for all programs that have the same; None where it was no use."""
        key = tuple(variables), layout.specs
        pack = self._known.get(key)
        if pack is None:
            pack = self._known[key] = Pack(layout, variables)
        if pack.useless == _PATIENCE:
            return None
        pack.programs.add(program)
        return pack

    def update(self, values, often=False):
        """Replaces values; `often`: by a program that has run a few times."""
        if self._packs:
            self._make_way(values, often)
        dict.update(self, values)  # `super()` takes as long as the rest

    def _make_way(self, values, often):
        """Forgets copies of what is in Packs that are replaced, and takes apart those of whose variables one is."""
        if self._copies:
            for variable in [v for v in self._copies if self._packs[v] in values]:
                self.pop(variable, None)
                self._copies.discard(variable)
        if not self._packs.keys().isdisjoint(values):
            for pack in {self._packs[v] for v in values if v in self._packs}:
                self._unpack(pack, often)

    def __missing__(self, key):
        if type(key) is Pack:
            return self._pack(key)
        pack = self._packs.get(key)
        if pack is None:
            raise KeyError(key)
        value = pack.layout.member(self[pack], pack.places[key])
        self._copies.add(key)  # first: an interrupt may come here
        self[key] = value
        return value

    def _pack(self, pack):
        """Returns the array of a Pack, made of the variables' values."""
        array = pack.layout.pack([self[v] for v in pack.places])
        for other in {self._packs[v] for v in pack.places if v in self._packs}:
            self._unpack(other, often=True)
        pack.since = self._session.runs
        with uninterrupted:
            for variable in pack.places:
                del self[variable]
                self._packs[variable] = pack
            self[pack] = array
        return array

    def _unpack(self, pack, often):
        """Puts the variables of a Pack here; if that has come to nothing too often, its programs do without."""
        values = {v: self[v] for v in pack.places}
        with uninterrupted:
            super().update(values)
            for variable in pack.places:
                del self._packs[variable]
            self._copies.difference_update(pack.places)
            del self[pack]
        if often and self._session.runs - pack.since < _USEFUL:
            pack.useless += 1
            if pack.useless == _PATIENCE:
                for program in pack.programs:
                    program.unpack()

    # What dict does by itself knows nothing of variables in packs.

    keys, values, items = Mapping.keys, Mapping.values, Mapping.items  # type: ignore[assignment]

    def __iter__(self):
        yield from [v for v in super().__iter__() if type(v) is not Pack and v not in self._packs]
        yield from self._packs

    def __len__(self):
        return sum(1 for _ in self)

    def __contains__(self, key):
        return super().__contains__(key) or key in self._packs

    def get(self, key, default=None):
        return self[key] if key in self else default

    def clear(self):
        self._packs.clear()
        self._copies.clear()
        super().clear()
