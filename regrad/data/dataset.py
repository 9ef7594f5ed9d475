"""Datasets: descriptions of sequences of elements. `start(scope)` gives what runs; see `iterator.py`.

What runs is an iterator made of a function, never a Python generator: one that raised would end, and an element that fails
must leave the rest of the sequence as it is.
"""

import itertools
import os

import numpy as np

from regrad import gfile
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor, to_array
from regrad.core.dtypes import as_dtype
from regrad.core.errors import DataLossError, InvalidArgumentError
from regrad.core.graph import get_default_graph
from regrad.core.host import as_array
from regrad.core.opdef import Spec
from regrad.core.operation import Tensor
from regrad.core.reading import each
from regrad.core.records import opened, read_records
from regrad.core.shapes import TensorShape, as_dims, compatible, text
from regrad.core.shown import Shown
from regrad.core.traversal import operations_within
from regrad.data.iterator import Scope, make_initializable_iterator, make_one_shot_iterator
from regrad.data.structure import is_nested, leaves, leaves_up_to, packed
from regrad.ops.flow import as_outputs, trace
from regrad.ops.random import get_seed, philox_words
from regrad.runtime.plan import written_variables

AUTOTUNE = -1


class _Running:
    """An iterator that calls a function for each element."""

    def __init__(self, step):
        self.step = step

    def __iter__(self):
        return self

    def __next__(self):
        return self.step()


def _joined(a, b):
    """Returns the static shape of what has the shape `a` or `b`."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b))


class ElementFunction:
    """A user's function of elements, as a graph.

    Attributes:
      graph: its body; `captures`: the outer tensors it uses.
      returned: the structure it returned, a Dataset for `flat_map` and `interleave`.
      specs: of its outputs.
    """

    def __init__(self, name, function, structure, specs):
        self.name = name
        if not callable(function):
            raise TypeError(f"Dataset.{name} takes a function of the components of an element, got {function!r}.")
        self._windows = [getattr(spec, "window", None) for spec in specs]
        specs = [spec for spec, window in zip(specs, self._windows) if window is None]

        def body(*tensors):
            tensors = iter(tensors)
            element = packed(structure, [next(tensors) if window is None else window for window in self._windows])
            return function(*element) if type(element) is tuple else function(element)

        self.graph, self.returned = trace(f"Dataset_{name}", body, specs)
        self.graph.runs_all = True
        tensors = self.returned.tensors if isinstance(self.returned, Dataset) else leaves(self.returned)
        for leaf in tensors:
            if leaf is None:
                raise TypeError(f"Dataset.{name}: the function returned None; it must return tensors.")
            if hasattr(leaf, "dense_shape") or isinstance(leaf, Dataset):
                raise TypeError(f"Dataset.{name}: elements are dense tensors, but the function returned {leaf!r}; make it "
                                "dense inside the function (tf.sparse_tensor_to_dense).")
        with self.graph.as_default():  # a list is a tensor, and not several
            tensors = [convert_to_tensor(leaf) for leaf in tensors]
        self.graph.outputs = as_outputs(self.graph, tensors, f"Dataset.{name}: the function")
        for op in self.graph._ops:
            for variable in written_variables(op):
                raise ValueError(f"Dataset.{name}: the function assigns the variable {variable.name}; element functions may "
                                 f"read variables only; made at {op.location}.")
        self.specs = [Spec(t.dims, t.dtype) for t in self.graph.outputs]
        self.captures = list(self.graph.outer_inputs)
        self._seeded = [op for op in operations_within(self.graph) if op.attrs.get("seed") or op.attrs.get("seed2")]

    def __call__(self, scope, element):
        """Returns the outputs for one element, NumPy arrays."""
        if self not in scope.used:  # numbers with seeds begin anew with the iterator
            scope.used.add(self)
            scope.session.restart(self._seeded)
        runner = scope.session.body_runner(self.graph)
        arrays = [as_array(a) for a in (*element, *(scope.values[t] for t in self.captures))]
        results, _ = runner.run_body(arrays)
        return [as_array(r) for r in results[:len(self.graph.outputs)]]

    def start(self, scope, element, memory=()):
        """Starts the dataset that the function returns for one element; `memory`: what its scope holds from the beginning."""
        tensors = [part for part, window in zip(element, self._windows) if window is None]
        inner = Scope(scope.session, self.returned.tensors, self(scope, tensors), scope.used)
        inner.memory.update(memory)
        inner.memory.update({window: part for part, window in zip(element, self._windows) if window is not None})
        return self.returned.start(inner)


def _count(value, name):
    return convert_to_tensor(value, dtype=dtypes.int64, name=name)


def _known(tensor):
    value = tensor.value()
    return None if value is None else int(value)


class Dataset:
    """A sequence of elements, each a structure of tensors: a tensor, or tuples, namedtuples and dicts of such.

    Attributes:
      specs: of the components of an element, in order.
      tensors: all that the pipeline needs, those of its inputs included; an iterator takes their values when it begins.
      output_types, output_shapes, output_classes: structures like an element.
    """

    def __init__(self, inputs, structure, specs, tensors=()):
        self._structure = structure
        self.specs = list(specs)
        self.tensors = list(dict.fromkeys([t for d in inputs for t in d.tensors] + list(tensors)))

    @property
    def output_types(self):
        return packed(self._structure, [s.dtype for s in self.specs])

    @property
    def output_shapes(self):
        return packed(self._structure, [TensorShape(s.dims) for s in self.specs])

    @property
    def output_classes(self):
        return packed(self._structure, [Dataset if hasattr(s, "window") else Tensor for s in self.specs])

    def start(self, scope):
        """Returns an iterator of elements, lists of arrays."""
        raise NotImplementedError(type(self).__name__)

    def __iter__(self):
        raise RuntimeError("A dataset is iterated by a session: use make_one_shot_iterator().get_next().")

    def __repr__(self):
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    def make_one_shot_iterator(self):
        """Returns an Iterator that begins by itself; see `tf.data.make_one_shot_iterator`."""
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        """Returns an Iterator that begins when its `initializer` runs."""
        return make_initializable_iterator(self, shared_name)

    # -- sources ------------------------------------------------------------------------------------------
    @staticmethod
    def from_tensors(tensors, name=None):
        """Returns a dataset of one element, `tensors`."""
        return TensorDataset(tensors)

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        """Returns a dataset of the rows of tensors, which have the same size along their first axis."""
        return TensorSliceDataset(tensors)

    @staticmethod
    def from_generator(generator, output_types, output_shapes=None, args=None):
        """Returns a dataset of what `generator(*args)` yields.

        Args:
          generator: a function that returns something to iterate over; called for every epoch.
          output_types, output_shapes: structures of what it yields.
          args: tensors, whose values it is called with.
        """
        return GeneratorDataset(generator, output_types, output_shapes, args)

    @staticmethod
    def range(*args, **kwargs):
        """Returns a dataset of int64 numbers: `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
        return RangeDataset(*args, **kwargs)

    @staticmethod
    def zip(datasets, name=None):
        """Returns a dataset of structures of elements, given a structure of datasets; it ends with the shortest."""
        if isinstance(name, Dataset):
            raise TypeError("Dataset.zip takes one structure of datasets: Dataset.zip((first, second)).")
        return ZipDataset(datasets)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        """Returns a dataset of the names of files that match patterns, sorted, then shuffled unless `shuffle` is False."""
        return ListFilesDataset(file_pattern, True if shuffle is None else bool(shuffle), seed)

    # -- elements -----------------------------------------------------------------------------------------
    def map(self, map_func, num_parallel_calls=None, deterministic=None):
        """Returns a dataset of `map_func(*components)` of each element. num_parallel_calls, deterministic: accepted."""
        return MapDataset(self, map_func)

    def flat_map(self, map_func):
        """Returns the datasets that `map_func` gives for the elements, one after the other."""
        return InterleaveDataset(self, map_func, "flat_map", 1, 1)

    def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None):
        """Returns the datasets that `map_func` gives, `cycle_length` of them by turns, `block_length` elements a turn."""
        return InterleaveDataset(self, map_func, "interleave", cycle_length, block_length)

    def filter(self, predicate):
        """Returns a dataset of the elements for which `predicate(*components)`, a bool scalar, is True."""
        return FilterDataset(self, predicate)

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None):
        """Returns a dataset of so many elements joined along a new first axis; the last may be smaller."""
        return BatchDataset(self, batch_size, drop_remainder)

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False):
        """Returns a dataset of batches whose rows are padded at their ends to `padded_shapes`.

        Args:
          padded_shapes: like an element; a size None or -1 is the largest of a batch, and one may be a tensor.
          padding_values: like an element, or one for all; by default 0 or "".
        """
        return BatchDataset(self, batch_size, drop_remainder, self.output_shapes if padded_shapes is None else padded_shapes,
                            padding_values)

    def window(self, size, shift=None, stride=1, drop_remainder=False):
        """Returns a dataset of windows: each component of an element is a dataset of that component, for `flat_map`.

            dataset.window(3, shift=1, drop_remainder=True).flat_map(lambda window: window.batch(3))

        Args:
          size: how many elements a window has.
          shift: how far apart the first elements of two windows are; `size` by default.
          stride: how far apart the elements of a window are.
          drop_remainder: leave windows at the end out that have fewer.
        """
        from regrad.data.windows import WindowedDataset

        return WindowedDataset(self, size, shift, stride, drop_remainder)

    def reduce(self, initial_state, reduce_func):
        """Returns the last state of `state = reduce_func(state, element)`, tensors; each run goes through the whole dataset.

        Args:
          initial_state: a structure of tensors.
          reduce_func: function of a state and an element; returns the next state, of the same structure and dtypes.

        Raises:
          TypeError: another dtype or structure is returned.
        """
        from regrad.data.windows import reduced

        return reduced(self, initial_state, reduce_func)

    def unbatch(self):
        """Returns a dataset of the rows of the elements."""
        return UnbatchDataset(self)

    # -- order --------------------------------------------------------------------------------------------
    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        """Returns the elements in random order, each drawn from `buffer_size` of them."""
        return ShuffleDataset(self, buffer_size, seed, reshuffle_each_iteration in (None, True))

    def repeat(self, count=None):
        """Returns the elements `count` times; without end by default."""
        return RepeatDataset(self, count)

    def take(self, count):
        """Returns the first elements; all of them for -1."""
        return TakeDataset(self, count)

    def skip(self, count):
        """Returns the elements after the first; none for -1."""
        return SkipDataset(self, count)

    def shard(self, num_shards, index):
        """Returns every `num_shards`-th element, from `index` on."""
        return ShardDataset(self, num_shards, index)

    def concatenate(self, dataset):
        """Returns these elements, then those of another dataset of the same types."""
        return ConcatenateDataset(self, dataset)

    def cache(self, filename=""):
        """Returns the elements; what was read to its end once is kept in memory until the iterator begins anew."""
        return CacheDataset(self)

    def enumerate(self, start=0):
        """Returns pairs of a number, int64, and an element."""
        return ZipDataset((RangeDataset(start, np.iinfo(np.int64).max), self))

    def prefetch(self, buffer_size=None):
        """Returns the dataset as it is: elements are made when they are asked for."""
        return self

    map_with_legacy_function, filter_with_legacy_function = map, filter

    def with_options(self, options):
        """Returns the dataset as it is."""
        return self

    def apply(self, transformation_func):
        """Returns `transformation_func(self)`, which must be a dataset."""
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, got {found!r}.")
        return found


class Options(Shown):
    """Accepted by `Dataset.with_options`; nothing here depends on it."""


def get_output_types(dataset_or_iterator):
    """Returns the types of an element's components."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator):
    """Returns the static shapes of an element's components."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator):
    """Returns the classes of an element's components: tf.Tensor."""
    return dataset_or_iterator.output_classes


# -- sources ----------------------------------------------------------------------------------------------
def _converted(structure):
    """Returns the tensors of the structure that a user gave; NumPy arrays become constants."""
    found = []
    with get_default_graph().name_scope("tensors"):
        for i, leaf in enumerate(leaves(structure)):
            if hasattr(leaf, "dense_shape"):
                raise TypeError(f"Elements of datasets are dense tensors, got {leaf!r}.")
            found.append(convert_to_tensor(leaf, name=f"component_{i}"))
    return found


class TensorDataset(Dataset):
    def __init__(self, structure):
        self._given = _converted(structure)
        super().__init__((), structure, [Spec(t.dims, t.dtype) for t in self._given], self._given)

    def start(self, scope):
        return iter([[as_array(scope.values[t]) for t in self._given]])


class TensorSliceDataset(Dataset):
    def __init__(self, structure):
        self._given = _converted(structure)
        specs, size = [], None
        for t in self._given:
            if t.dims == ():
                raise ValueError(f"Unbatching a tensor is only supported for rank >= 1: from_tensor_slices got {t!r}.")
            specs.append(Spec(None if t.dims is None else t.dims[1:], t.dtype))
            if t.dims is not None and t.dims[0] is not None:
                if size not in (None, t.dims[0]):
                    raise ValueError(f"Dimensions {size} and {t.dims[0]} are not compatible: from_tensor_slices needs the same "
                                     "first size of all components.")
                size = t.dims[0]
        super().__init__((), structure, specs, self._given)

    def start(self, scope):
        arrays = [as_array(scope.values[t]) for t in self._given]
        if any(a.ndim == 0 for a in arrays) or len({len(a) for a in arrays}) > 1:
            raise InvalidArgumentError("from_tensor_slices needs the same first size of all components, got shapes "
                                       f"{[list(a.shape) for a in arrays]}")
        return _Running(_rows(arrays))


def _rows(arrays):
    numbers = iter(range(len(arrays[0]) if arrays else 0))

    def step():
        i = next(numbers)
        return [a[i, ...] for a in arrays]

    return step


class RangeDataset(Dataset):
    def __init__(self, *args, output_type=dtypes.int64, name=None):
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range takes stop, or start, stop and step; got {args!r}.")
        if len(args) == 1:
            args = (0, *args)
        self._limits = [_count(a, n) for a, n in zip((*args, 1)[:3], ("start", "stop", "step"))]
        dtype = as_dtype(output_type)
        self._numpy = dtype.as_numpy_dtype
        super().__init__((), None, [Spec((), dtype)], self._limits)

    def start(self, scope):
        start, stop, step = (int(scope.values[t]) for t in self._limits)
        if step == 0:
            raise InvalidArgumentError("step must be a non-zero integer.")
        numbers = iter(range(start, stop, step))
        return _Running(lambda: [np.asarray(next(numbers), self._numpy)])


class GeneratorDataset(Dataset):
    def __init__(self, generator, output_types, output_shapes, args):
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        self._generator = generator
        if isinstance(output_types, list):
            output_types = tuple(output_types)
        types = [as_dtype(t) for t in leaves(output_types)]
        if output_shapes is None:
            dims = [None] * len(types)
        else:
            dims = [as_dims(s) for s in leaves_up_to(output_types, output_shapes, "output_shapes")]
        self._args = [convert_to_tensor(a, name="args") for a in args or ()]
        super().__init__((), output_types, [Spec(d, t) for d, t in zip(dims, types)], self._args)

    def start(self, scope):
        source = iter(self._generator(*(np.array(scope.values[t])[()] for t in self._args)))
        return _Running(lambda: self._element(next(source)))

    def _element(self, value):
        try:
            values = leaves_up_to(self._structure, value, "an element")
        except (TypeError, ValueError):
            raise InvalidArgumentError("`generator` yielded an element that did not match the expected structure. The expected "
                                       f"structure was {self.output_types!r}, but the yielded element was {value!r}.") from None
        arrays = []
        for v, spec in zip(values, self.specs):
            try:
                if spec.dtype is dtypes.string:
                    array = to_array(v, spec.dtype)
                else:
                    array = np.array(v).astype(spec.dtype.as_numpy_dtype, copy=False)
            except (TypeError, ValueError):
                raise InvalidArgumentError("`generator` yielded an element that could not be converted to the expected type. "
                                           f"The expected type was {spec.dtype.name}, but the yielded element was "
                                           f"{v!r}.") from None
            if not compatible(array.shape, spec.dims):
                raise InvalidArgumentError(f"`generator` yielded an element of shape {array.shape} where an element of shape "
                                           f"{text(spec.dims)} was expected.")
            arrays.append(array)
        return arrays


def _texts(array):
    return [os.fsdecode(x) for x in np.asarray(array).reshape(-1)]


class _FileDataset(Dataset):
    """Records of files, given by their names: a string scalar or vector, or a dataset of such."""

    def __init__(self, filenames):
        self._names = None if isinstance(filenames, Dataset) else convert_to_tensor(filenames, dtypes.string, "filenames")
        self._of = filenames if self._names is None else None
        super().__init__([] if self._of is None else [self._of], None, [Spec((), dtypes.string)],
                         [] if self._names is None else [self._names])

    def records(self, path, scope):
        raise NotImplementedError

    def start(self, scope):
        if self._of is None:
            files = iter(_texts(scope.values[self._names]))
        else:
            files = itertools.chain.from_iterable(_texts(e[0]) for e in self._of.start(scope))
        records = None

        def step():
            nonlocal records
            while True:
                if records is None:
                    path = next(files)
                    records = each(path, self.records(path, scope))
                for record in records:
                    return [np.array(record, object)]
                records = None

        return _Running(step)


def _compression(value):
    found = "" if value is None else value
    if found not in ("", "GZIP", "ZLIB"):
        raise ValueError(f"compression_type must be '', 'ZLIB' or 'GZIP', got {value!r}.")
    return found


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        self._compression = _compression(compression_type)
        super().__init__(filenames)

    def records(self, path, scope):
        return read_records(path, self._compression)


class TextLineDataset(_FileDataset):
    """The lines of text files, without their ends."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        self._compression = _compression(compression_type)
        super().__init__(filenames)

    def records(self, path, scope):
        with opened(path, self._compression) as file:
            for line in file:
                yield line.rstrip(b"\n").removesuffix(b"\r")


class FixedLengthRecordDataset(_FileDataset):
    """Records of `record_bytes` each, between a header and a footer."""

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None, compression_type=None,
                 num_parallel_reads=None):
        self._compression = _compression(compression_type)
        self._sizes = [_count(n or 0, "bytes") for n in (record_bytes, header_bytes, footer_bytes)]
        super().__init__(filenames)
        self.tensors += [t for t in self._sizes if t not in self.tensors]

    def records(self, path, scope):
        size, header, footer = (int(scope.values[t]) for t in self._sizes)
        with opened(path, self._compression) as file:
            data = file.read()
        body = len(data) - header - footer
        if body < 0 or body % size:
            raise InvalidArgumentError(f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
                                       f"\"{path}\" has body length {body} bytes, which is not an exact multiple of the record "
                                       f"length ({size} bytes).")
        yield from (data[at:at + size] for at in range(header, len(data) - footer, size))


class ListFilesDataset(Dataset):
    def __init__(self, patterns, shuffle, seed):
        self._patterns = convert_to_tensor(patterns, dtypes.string, "file_pattern")
        self._seeds = _seeds(seed) if shuffle else None
        super().__init__((), None, [Spec((), dtypes.string)], [self._patterns])

    def start(self, scope):
        patterns = _texts(scope.values[self._patterns])
        files = sorted(set(gfile.Glob(patterns)))
        if not files:
            raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
        if self._seeds is not None:
            words = _Words(*_epoch_seeds(self, scope, self._seeds, True))
            files = [files.pop(words.next() % len(files)) for _ in range(len(files))]
        return _Running(_rows([np.array([os.fsencode(f) for f in files], object)]))


class ZipDataset(Dataset):
    def __init__(self, datasets):
        self._parts = leaves(datasets)
        for part in self._parts:
            if not isinstance(part, Dataset):
                raise TypeError(f"Dataset.zip takes a structure of datasets, in tuples and dicts; got {part!r}.")
        if not self._parts:
            raise ValueError("Dataset.zip takes a structure of datasets with at least one in it.")
        super().__init__(self._parts, packed(datasets, [p._structure for p in self._parts]),
                         [s for p in self._parts for s in p.specs])

    def start(self, scope):
        parts = [p.start(scope) for p in self._parts]
        return _Running(lambda: [a for p in parts for a in next(p)])


# -- elements ---------------------------------------------------------------------------------------------
def dense_only(dataset, what):
    """Raises TypeError for a dataset whose elements are windows, which only `flat_map` and `interleave` look into."""
    if any(hasattr(spec, "window") for spec in dataset.specs):
        raise TypeError(f"Dataset.{what}: the elements are windows, datasets themselves: make tensors of them first, as by "
                        "flat_map(lambda window: window.batch(size)).")


class MapDataset(Dataset):
    def __init__(self, source, function):
        dense_only(source, "map")
        self._source = source
        self._function = ElementFunction("map", function, source.output_types, source.specs)
        if isinstance(self._function.returned, Dataset):
            raise TypeError("Dataset.map: the function returned a dataset; use flat_map or interleave.")
        super().__init__([source], self._function.returned, self._function.specs, self._function.captures)

    def start(self, scope):
        source = self._source.start(scope)
        return _Running(lambda: self._function(scope, next(source)))


class FilterDataset(Dataset):
    def __init__(self, source, function):
        dense_only(source, "filter")
        self._source = source
        self._function = ElementFunction("filter", function, source.output_types, source.specs)
        specs = self._function.specs
        if is_nested(self._function.returned) or specs[0].dtype is not dtypes.bool_ or not compatible(specs[0].dims, ()):
            raise ValueError(f"`predicate` return type must be convertible to a scalar boolean tensor, got "
                             f"{[(s.dtype.name, text(s.dims)) for s in specs]}.")
        super().__init__([source], source._structure, source.specs, self._function.captures)

    def start(self, scope):
        source = self._source.start(scope)

        def step():
            while True:
                element = next(source)
                if self._function(scope, element)[0]:
                    return element

        return _Running(step)


class InterleaveDataset(Dataset):
    def __init__(self, source, function, name, cycle_length, block_length):
        self._source = source
        self._function = ElementFunction(name, function, source.output_types, source.specs)
        inner = self._function.returned
        if not isinstance(inner, Dataset):
            raise TypeError(f"`map_func` must return a `Dataset` object, got {inner!r}.")
        self._turns = [_count(n, "turns") for n in (4 if cycle_length in (None, AUTOTUNE) else cycle_length,
                                                     1 if block_length is None else block_length)]
        super().__init__([source], inner._structure, inner.specs, [*self._function.captures, *self._turns])

    def start(self, scope):
        source = self._source.start(scope)
        cycle, block = (int(scope.values[t]) for t in self._turns)
        if cycle < 1 or block < 1:
            raise InvalidArgumentError(f"cycle_length and block_length must be greater than zero, got {cycle} and {block}.")
        running = [None] * cycle
        at = given = 0

        def step():
            nonlocal at, given
            idle = 0  # places passed over since something ran
            while idle < cycle:
                if running[at] is None:
                    try:
                        element = next(source)
                    except StopIteration:
                        at, idle = (at + 1) % cycle, idle + 1
                        continue
                    running[at] = self._function.start(scope, element)
                idle = 0
                try:
                    element = next(running[at])
                except StopIteration:
                    running[at] = None
                    at, given = (at + 1) % cycle, 0
                    continue
                given += 1
                if given == block:
                    at, given = (at + 1) % cycle, 0
                return element
            raise StopIteration

        return _Running(step)


class BatchDataset(Dataset):
    def __init__(self, source, batch_size, drop_remainder, padded_shapes=None, padding_values=None):
        dense_only(source, "batch")
        self._source = source
        self._size = _count(batch_size, "batch_size")
        self._drop = convert_to_tensor(drop_remainder, dtypes.bool_, "drop_remainder")
        known = _known(self._size)
        if known is not None and known < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        first = known if self._drop.value() is not None and self._drop.value() else None
        rows = [s.dims for s in source.specs]
        self._padded, self._padding, self._sizes = None, (), {}
        if padded_shapes is not None:
            shapes = leaves_up_to(source.output_types, padded_shapes, "padded_shapes")
            self._sizes = {(i, k): s for i, shape in enumerate(shapes) if isinstance(shape, (list, tuple))
                           for k, s in enumerate(shape) if isinstance(s, Tensor)}  # sizes that are known when it runs
            shapes = [[None if isinstance(s, Tensor) else s for s in shape] if isinstance(shape, (list, tuple)) else shape
                      for shape in shapes]
            rows = self._padded = [_padded_dims(s, spec) for s, spec in zip(shapes, source.specs)]
            if padding_values is None or not is_nested(padding_values):
                padding_values = [padding_values] * len(source.specs)
            else:
                padding_values = leaves_up_to(source.output_types, padding_values, "padding_values")
            self._padding = [_padding(v, s.dtype) for v, s in zip(padding_values, source.specs)]
        super().__init__([source], source._structure, [Spec(None if d is None else (first, *d), s.dtype)
                                                       for d, s in zip(rows, source.specs)],
                         [self._size, self._drop, *self._padding, *self._sizes.values()])

    def start(self, scope):
        source, size = self._source.start(scope), int(scope.values[self._size])
        drop = bool(scope.values[self._drop])
        if size < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        padding = [as_array(scope.values[p]) for p in self._padding]
        padded = self._padded and [tuple(int(scope.values[self._sizes[i, k]]) if (i, k) in self._sizes else d
                                         for k, d in enumerate(dims)) for i, dims in enumerate(self._padded)]

        def step():
            elements = list(itertools.islice(source, size))
            if not elements or drop and len(elements) < size:
                raise StopIteration
            columns = list(zip(*elements))
            if padded is None:
                return [_stacked(i, column) for i, column in enumerate(columns)]
            return [_padded(i, c, d, p) for i, (c, d, p) in enumerate(zip(columns, padded, padding))]

        return _Running(step)


def _stacked(i, column):
    for j, a in enumerate(column):
        if a.shape != column[0].shape:
            raise InvalidArgumentError(f"Cannot batch tensors with different shapes in component {i}. First element had shape "
                                       f"{list(column[0].shape)} and element {j} had shape {list(a.shape)}.")
    return np.stack(column)


def _padded_dims(shape, spec):
    if isinstance(shape, Tensor):
        shape = shape.value()
        if shape is None:
            raise ValueError("padded_batch: padded_shapes must be known while the graph is built.")
    if not isinstance(shape, TensorShape):
        shape = [None if s is not None and not hasattr(s, "value") and int(s) == -1 else s for s in shape]
    dims = as_dims(shape)
    if dims is None:
        raise ValueError("padded_batch: a padded shape must have a known rank; give padded_shapes.")
    if spec.dims is not None and (len(dims) != len(spec.dims) or any(
            d is not None and n is not None and d < n for d, n in zip(dims, spec.dims))):
        raise ValueError(f"The padded shape {text(dims)} is not compatible with the corresponding input component shape "
                         f"{text(spec.dims)}.")
    return dims


def _padding(value, dtype):
    if value is None:
        value = b"" if dtype is dtypes.string else np.zeros((), dtype.as_numpy_dtype)
    found = convert_to_tensor(value, name="padding_value")
    if found.dtype != dtype:
        found = convert_to_tensor(value, dtype=dtype, name="padding_value")
    return found


def _padded(i, column, dims, padding):
    if any(a.ndim != len(dims) for a in column):
        raise InvalidArgumentError(f"All elements in a batch must have the same rank as the padded shape for component {i}: "
                                   f"expected rank {len(dims)}, got {sorted({a.ndim for a in column})}.")
    sizes = [max(a.shape[k] for a in column) if d is None else d for k, d in enumerate(dims)]
    whole = np.empty((len(column), *sizes), column[0].dtype)
    whole[...] = padding[()]
    for j, a in enumerate(column):
        if any(n > s for n, s in zip(a.shape, sizes)):
            raise DataLossError(f"Attempted to pad to a smaller size than the input element: component {i} of shape "
                                f"{list(a.shape)}, padded shape {sizes}.")
        whole[(j, *(slice(n) for n in a.shape), ...)] = a
    return whole


class WindowDataset(Dataset):
    """The elements of one window, which are in its scope's memory."""

    def __init__(self, structure, specs):
        super().__init__((), structure, specs)

    def start(self, scope):
        return iter(scope.memory[self])


class WindowSpec:
    """Stands among the specs of a dataset for a component that is a dataset: `window`, whose elements a scope's memory has."""

    dims, dtype = None, dtypes.variant

    def __init__(self, window):
        self.window = window


class GroupByWindowDataset(Dataset):
    """What `reduce_func(key, window)` gives for up to `window_size(key)` elements of the same key."""

    def __init__(self, source, key_func, reduce_func, size_func):
        dense_only(source, "group_by_window")
        self._source = source
        self._key = ElementFunction("group_by_window", key_func, source.output_types, source.specs)
        if [(s.dtype, s.dims) for s in self._key.specs] != [(dtypes.int64, ())]:
            raise ValueError(f"`key_func` must return a single tf.int64 scalar, got "
                             f"{[(s.dtype.name, text(s.dims)) for s in self._key.specs]}.")
        key = [Spec((), dtypes.int64)]
        self._size = ElementFunction("group_by_window", lambda k: convert_to_tensor(size_func(k), dtypes.int64), None, key)
        self._window = WindowDataset(source._structure, source.specs)
        self._reduce = ElementFunction("group_by_window", lambda k: reduce_func(k, self._window), None, key)
        inner = self._reduce.returned
        if not isinstance(inner, Dataset):
            raise TypeError(f"`reduce_func` must return a `Dataset` object, got {inner!r}.")
        super().__init__([source], inner._structure, inner.specs,
                         [t for f in (self._key, self._size, self._reduce) for t in f.captures])

    def start(self, scope):
        source, windows, running = self._source.start(scope), {}, iter(())

        def step():
            nonlocal running
            while True:
                for element in running:
                    return element
                running = self._reduced(scope, *self._full(scope, source, windows))

        return _Running(step)

    def _full(self, scope, source, windows):
        """Returns (key, elements) of the next window: a full one or, when the source has ended, one of the rest by keys."""
        for element in source:
            key = int(self._key(scope, element)[0])
            if key not in windows:
                size = int(self._size(scope, [np.asarray(key, np.int64)])[0])
                if size < 1:
                    raise InvalidArgumentError(f"Window size must be greater than zero, but got {size}.")
                windows[key] = size, []
            size, elements = windows[key]
            elements.append(element)
            if len(elements) == size:
                del windows[key]
                return key, elements
        if not windows:
            raise StopIteration
        key = min(windows)
        return key, windows.pop(key)[1]

    def _reduced(self, scope, key, elements):
        return self._reduce.start(scope, [np.asarray(key, np.int64)], {self._window: elements})


class UnbatchDataset(Dataset):
    def __init__(self, source):
        dense_only(source, "unbatch")
        self._source = source
        if any(s.dims == () for s in source.specs):
            raise ValueError("Cannot unbatch an input with scalar components.")
        super().__init__([source], source._structure,
                         [Spec(None if s.dims is None else s.dims[1:], s.dtype) for s in source.specs])

    def start(self, scope):
        source = self._source.start(scope)
        rows = iter(())

        def step():
            nonlocal rows
            while True:
                for row in rows:
                    return row
                rows = _Running(_rows(next(source)))

        return _Running(step)


class IgnoreErrors(Dataset):
    """The elements that do not fail."""

    def __init__(self, source, errors):
        self._source, self._errors = source, errors
        super().__init__([source], source._structure, source.specs)

    def start(self, scope):
        source = self._source.start(scope)

        def step():
            while True:
                try:
                    return next(source)
                except self._errors:
                    pass

        return _Running(step)


# -- order ------------------------------------------------------------------------------------------------
def _seeds(seed):
    """Returns the two seeds of a dataset; (0, 0) for none."""
    found = get_seed(seed)
    return (0, 0) if found == (None, None) else found


class _Words:
    """Random uint32 numbers, one at a time: TensorFlow's stream of two seeds."""

    def __init__(self, seed, seed2):
        self._seeds, self._block, self._left = (seed, seed2), 0, []

    def next(self):
        if not self._left:
            self._left = philox_words(*self._seeds, self._block, 64)[::-1]
            self._block += 64
        return self._left.pop()


def _epoch_seeds(dataset, scope, seeds, reshuffle):
    """Returns the seeds of a dataset's next epoch in a scope."""
    if seeds == (0, 0):
        seeds = tuple(int(n) for n in np.frombuffer(os.urandom(16), np.uint64))
    if not reshuffle:
        return scope.memory.setdefault((dataset, "seeds"), seeds)
    words = scope.memory.get((dataset, "words"))
    if words is None:
        words = scope.memory[dataset, "words"] = _Words(*seeds)
    return words.next(), words.next()


class ShuffleDataset(Dataset):
    """Elements drawn from a buffer, in TensorFlow's order."""

    def __init__(self, source, buffer_size, seed, reshuffle):
        self._source, self._reshuffle = source, reshuffle
        self._buffer_size = _count(buffer_size, "buffer_size")
        _check_buffer(_known(self._buffer_size))
        self._seeds = _seeds(seed)
        super().__init__([source], source._structure, source.specs, [self._buffer_size])

    def start(self, scope):
        size = int(scope.values[self._buffer_size])
        _check_buffer(size)
        words = _Words(*_epoch_seeds(self, scope, self._seeds, self._reshuffle))
        # The elements held are those numbered [first, behind); an element's place is its number modulo `size`.
        buffer, first, behind = {}, 0, 0
        source = self._source.start(scope)

        def step():
            nonlocal first, behind
            while behind - first < size:
                try:
                    buffer[behind % size] = next(source)
                except StopIteration:
                    break
                behind += 1
            if first == behind:
                raise StopIteration
            drawn, place = (first + words.next() % (behind - first)) % size, first % size
            element = buffer[drawn]
            buffer[drawn] = buffer[place]
            del buffer[place]
            first += 1
            return element

        return _Running(step)


def _check_buffer(size):
    if size is not None and size < 1:
        raise InvalidArgumentError(f"buffer_size must be greater than zero, got {size}.")


class RepeatDataset(Dataset):
    def __init__(self, source, count):
        self._source, self._count = source, _count(-1 if count is None else count, "count")
        super().__init__([source], source._structure, source.specs, [self._count])

    def start(self, scope):
        left = int(scope.values[self._count])
        source, given = None, False

        def step():
            nonlocal source, given, left
            while left:
                if source is None:
                    source, given = self._source.start(scope), False
                try:
                    element = next(source)
                except StopIteration:
                    source, left = None, left - 1
                    if not given:
                        left = 0  # an empty dataset is empty however often
                    continue
                given = True
                return element
            raise StopIteration

        return _Running(step)


class TakeDataset(Dataset):
    def __init__(self, source, count):
        self._source, self._count = source, _count(count, "count")
        super().__init__([source], source._structure, source.specs, [self._count])

    def start(self, scope):
        left, source = int(scope.values[self._count]), self._source.start(scope)

        def step():
            nonlocal left
            if not left:
                raise StopIteration
            element = next(source)
            left -= 1
            return element

        return _Running(step)


class SkipDataset(Dataset):
    def __init__(self, source, count):
        self._source, self._count = source, _count(count, "count")
        super().__init__([source], source._structure, source.specs, [self._count])

    def start(self, scope):
        left, source = int(scope.values[self._count]), self._source.start(scope)
        if left < 0:
            return iter(())

        def step():
            nonlocal left
            while left:
                next(source)
                left -= 1
            return next(source)

        return _Running(step)


class ShardDataset(Dataset):
    def __init__(self, source, num_shards, index):
        self._source = source
        self._shards, self._index = _count(num_shards, "num_shards"), _count(index, "index")
        _check_shard(_known(self._shards), _known(self._index))
        super().__init__([source], source._structure, source.specs, [self._shards, self._index])

    def start(self, scope):
        shards, index = int(scope.values[self._shards]), int(scope.values[self._index])
        _check_shard(shards, index)
        source, at = self._source.start(scope), 0

        def step():
            nonlocal at
            while True:
                element, mine = next(source), at == index
                at = (at + 1) % shards
                if mine:
                    return element

        return _Running(step)


def _check_shard(shards, index):
    if shards is not None and shards < 1:
        raise InvalidArgumentError(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
    if index is not None and (index < 0 or shards is not None and index >= shards):
        raise InvalidArgumentError(f"Index must be between 0 and {shards} - 1 (currently index = {index}).")


class ConcatenateDataset(Dataset):
    def __init__(self, first, second):
        dense_only(first, "concatenate")
        self._parts = first, second
        if first.output_types != second.output_types:
            raise TypeError(f"Two datasets to concatenate have different types {first.output_types} and {second.output_types}.")
        super().__init__(self._parts, first._structure, [Spec(_joined(a.dims, b.dims), a.dtype)
                                                         for a, b in zip(first.specs, second.specs)])

    def start(self, scope):
        waiting = iter(self._parts)
        source = next(waiting).start(scope)

        def step():
            nonlocal source
            while True:
                try:
                    return next(source)
                except StopIteration:
                    source = next(waiting).start(scope)

        return _Running(step)


class CacheDataset(Dataset):
    def __init__(self, source):
        self._source = source
        super().__init__([source], source._structure, source.specs)

    def start(self, scope):
        found = scope.memory.get(self)
        if found is not None:
            return iter(found)
        source, kept = self._source.start(scope), []

        def step():
            try:
                kept.append(next(source))
            except StopIteration:
                scope.memory[self] = kept
                raise
            return kept[-1]

        return _Running(step)
