"""Datasets in files: what a node of a graph says of the pipeline it reads, and the pipeline that another process makes of it.

A pipeline is written as JSON: each dataset as the name of its class and what it holds, element functions as graphs, tensors as
numbers of the inputs of the node, Python functions by name. Reading it makes objects of the classes of this package only. Of
pipelines that TensorFlow wrote, which are graphs of operations, only the elements' types and shapes are read.
"""

import collections
import json

import numpy as np

from regrad.core import dtypes, errors
from regrad.core.errors import UnimplementedError
from regrad.core.graph_def import attribute
from regrad.core.graph_proto import NamedFunction, StoredBody, _body_json, _from_json, _json, supplied
from regrad.core.opdef import Spec
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape
from regrad.core.traversal import operations_within
from regrad.data.dataset import Dataset, ElementFunction, WindowSpec
from regrad.data.iterator import IteratorSpec
from regrad.data.structure import packed
from regrad.data.windows import WindowedDataset as WindowedDataset  # its module has op types and datasets
from regrad.ops.queues import kept_op


class LostDataset(Dataset):
    """Stands for a pipeline that a file could not hold; it has no elements, and says so when it begins."""

    def __init__(self, what, types, dims):
        self._what = what
        super().__init__((), tuple(types), [Spec(d, t) for d, t in zip(dims, types)])

    def start(self, scope):
        raise UnimplementedError(
            f"{self._what}. Feed what the iterator gives, or make an iterator here and import the graph with it: "
            'input_map={"IteratorGetNext:0": iterator.get_next()}, under the name that get_next has in the file.')


# -- writing ----------------------------------------------------------------------------------------------
class _Writer:
    """Turns what pipelines consist of into JSON; `tensors` are those that are known by numbers."""

    def __init__(self, tensors):
        self._tensors = list(tensors)
        self._objects = {}  # {(object, which tensors are known): its number}

    def value(self, value):
        if isinstance(value, Tensor):
            return {"input": next(i for i, t in enumerate(self._tensors) if t is value)}
        if isinstance(value, ElementFunction):
            return {"function": self._function(value)}
        if isinstance(value, (Dataset, WindowSpec)):
            return self._object(value)
        if isinstance(value, Spec):
            return {"spec": [_json(TensorShape(value.dims)), value.dtype.name]}
        if isinstance(value, (list, tuple, dict)):
            return self._collection(value)
        if isinstance(value, type) and issubclass(value, errors.OpError):
            return {"error": value.__name__}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"numpy": np.dtype(value).name}
        return {"value": _json(value)}

    def _collection(self, value):
        if isinstance(value, dict):
            return {"dict": [[self.value(k), self.value(v)] for k, v in value.items()]}
        items = [self.value(v) for v in value]
        if hasattr(value, "_fields"):
            return {"named": [type(value).__name__, list(value._fields), items]}
        return {"list" if isinstance(value, list) else "tuple": items}

    def _object(self, value):
        if not type(value).__module__.startswith("regrad.data."):
            return {"value": _json(value)}
        key = id(value), id(self._tensors) if getattr(value, "tensors", None) else None
        if key in self._objects:
            return {"again": self._objects[key]}
        self._objects[key] = number = len(self._objects)
        state = dict(vars(value))
        if "_structure" in state:
            state["_structure"] = packed(value._structure, [None] * len(value.specs))
        return {"object": [number, type(value).__name__, {k: self.value(v) for k, v in state.items()}]}

    def _function(self, f):
        inner, outer = f.returned if isinstance(f.returned, Dataset) else None, self._tensors
        made = {"name": f.name, "body": _body_json(f.graph), "captures": self.value(f.captures),
                "windows": self.value(f._windows), "specs": self.value(f.specs)}
        if inner is not None:
            self._tensors = inner.tensors
            made["returned"] = self.value(inner)
            self._tensors = outer
        return made


def _text(dataset, *more):
    tensors = list(dict.fromkeys([*dataset.tensors, *(t for f in more for t in f.captures)]))
    writer = _Writer(tensors)
    return json.dumps([writer.value(part) for part in (dataset, *more)])


# -- reading ----------------------------------------------------------------------------------------------
def _classes():
    found, todo = {"WindowSpec": WindowSpec}, [Dataset]
    while todo:
        cls = todo.pop()
        found.setdefault(cls.__name__, cls)
        todo += [c for c in cls.__subclasses__() if c.__module__.startswith("regrad.data.")]
    return found


class _Reader:
    """The inverse of _Writer, for a node; `graph` is where the operation goes, `functions` what nodes may call."""

    def __init__(self, node, tensors, graph, functions):
        self._node, self._tensors, self._graph, self._functions = node, list(tensors), graph, functions
        self._made, self._kinds = {}, _classes()

    def value(self, data):
        ((kind, of),) = data.items()
        return self._OF[kind](self, of)

    def _input(self, number):
        return self._tensors[number]

    def _value(self, of):
        found = _from_json(of)
        return supplied(self._functions, self._node.name, found) if isinstance(found, NamedFunction) else found

    def _list(self, of):
        return [self.value(v) for v in of]

    def _tuple(self, of):
        return tuple(self._list(of))

    def _dict(self, of):
        return {self.value(k): self.value(v) for k, v in of}

    def _named(self, of):
        name, fields, items = of
        if not all(isinstance(word, str) and word.isascii() for word in (name, *fields)):  # they become source
            raise ValueError(f"{(name, fields)!r:.100} are no names")
        return collections.namedtuple(name, fields)(*self._list(items))

    def _spec(self, of):
        shape, dtype = of
        return Spec(_from_json(shape).dims_, dtypes.as_dtype(dtype))

    def _error(self, of):
        kind = getattr(errors, of, None)
        if not (isinstance(kind, type) and issubclass(kind, errors.OpError)):
            raise ValueError(f"{of!r:.100} is no error of tf.errors.")
        return kind

    def _numpy(self, of):
        return np.dtype(of).type

    def _again(self, number):
        return self._made[number]

    def _object(self, of):
        number, kind, state = of
        if kind not in self._kinds:
            raise ValueError(f"There is no dataset {kind!r:.100}.")
        made = self._made[number] = object.__new__(self._kinds[kind])
        made.__dict__.update({str(key): self.value(value) for key, value in state.items()})
        return made

    def _function(self, of):
        made = object.__new__(ElementFunction)
        made.name, made.captures, made._windows = str(of["name"]), self.value(of["captures"]), self.value(of["windows"])
        made.specs, body = self.value(of["specs"]), of["body"]
        explicit = len(body["inputs"]) - len(made.captures)
        made.graph = StoredBody(body).make(self._graph, [None] * explicit + made.captures, explicit, self._functions)
        made.graph.runs_all = True
        made._seeded = [op for op in operations_within(made.graph) if op.attrs.get("seed") or op.attrs.get("seed2")]
        made.returned = None
        if "returned" in of:
            outer = self._tensors, self._graph
            self._tensors, self._graph = made.graph.outputs, made.graph
            made.returned = self.value(of["returned"])
            self._tensors, self._graph = outer
        return made

    _OF = {"input": _input, "value": _value, "list": _list, "tuple": _tuple, "dict": _dict, "named": _named, "spec": _spec,
           "error": _error, "numpy": _numpy, "again": _again, "object": _object, "function": _function}


def _read(node, text, tensors, graph, functions, kinds=(Dataset,)):
    """Returns what `_text` wrote, of these classes."""
    try:
        reader = _Reader(node, tensors, graph, functions)
        parts = [reader.value(part) for part in json.loads(text)]
        if len(parts) != len(kinds) or not all(map(isinstance, parts, kinds)):
            raise TypeError(f"{text!r:.100} is none")
        return parts
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"NodeDef '{node.name}': its dataset cannot be read: {error}") from error


# -- op types: what their nodes hold, and operations of nodes --------------------------------------------------
def _element_of(node, attrs):
    """Returns (types, static shapes) of the elements of an iterator."""
    shapes = attrs.get("output_shapes") or attribute(node, "output_shapes", ())
    return attrs.get("output_types") or attribute(node, "output_types", ()), [TensorShape(s).dims_ for s in shapes]


def _foreign(types, dims):
    return LostDataset("TensorFlow wrote this graph's input pipeline, of which Regrad reads the types and shapes alone", types,
                       dims)


def _iterator(node, inputs, groups, attrs, graph, functions):
    types, dims = _element_of(node, attrs)
    return inputs, groups, attrs | {"spec": IteratorSpec(types, dims)}


def _one_shot(node, inputs, groups, attrs, graph, functions):
    types, dims = _element_of(node, attrs)
    spec = attrs["spec"]
    if isinstance(spec, IteratorSpec):  # of this process: the same pipeline, on tensors of the graph that it goes to
        dataset = spec.dataset
    elif isinstance(spec, str):
        (dataset,) = _read(node, spec, inputs, graph, functions)
    else:
        dataset = _foreign(types, dims)
    return [], groups, attrs | {"spec": IteratorSpec(types, dims, dataset, inputs)}


def _make(node, inputs, groups, attrs, graph, functions):
    dataset = attrs["dataset"]
    if isinstance(dataset, str):
        (dataset,) = _read(node, dataset, inputs[1:], graph, functions)
    elif not isinstance(dataset, Dataset):  # TensorFlow's, which takes (dataset, iterator)
        dataset, inputs, groups = _foreign((), ()), inputs[::-1], (None, 1)
    return inputs, groups, attrs | {"dataset": dataset}


def _single(node, inputs, groups, attrs, graph, functions):
    if isinstance(attrs["dataset"], str):
        attrs = attrs | {"dataset": _read(node, attrs["dataset"], inputs, graph, functions)[0]}
    return inputs, groups, attrs


def _reduce(node, inputs, groups, attrs, graph, functions):
    if isinstance(attrs["dataset"], str):
        dataset, function = _read(node, attrs["dataset"], inputs[:groups[0]], graph, functions, (Dataset, ElementFunction))
        attrs = attrs | {"dataset": dataset, "function": function}
    return inputs, groups, attrs


_REBUILT = {"IteratorV2": _iterator, "OneShotIterator": _one_shot, "MakeIterator": _make, "DatasetToSingleElement": _single,
            "ReduceDataset": _reduce}


def written(op):
    """Returns the attributes of an operation's node, {name: text}, in place of those that are objects; None for none."""
    if op.type == "IteratorV2":
        return {"spec": None}
    if op.type == "OneShotIterator":
        return {"spec": _text(op.attrs["spec"].dataset)}
    if op.type == "ReduceDataset":
        return {"dataset": _text(op.attrs["dataset"], op.attrs["function"]), "function": None}
    return {"dataset": _text(op.attrs["dataset"])}


def rebuilt(node, inputs, groups, attrs, graph, functions):
    """Returns (inputs, groups, attributes) of the operation that a node becomes in a graph."""
    return _REBUILT[node.op](node, inputs, groups, attrs, graph, functions)


kept_op("TensorFlowDataset", "components: [T]", lambda components, *, of: Spec((), dtypes.variant),
        lambda b, session, components, *, of: np.array(None, object), {"of": ""})
