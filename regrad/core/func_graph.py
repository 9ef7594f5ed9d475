"""FuncGraph: the graph that is the body of a branch, loop or function, and how it takes what lies outside."""

from regrad.core import opdef as opdefs
from regrad.core.frames import Frame, framed
from regrad.core.graph import Graph
from regrad.core.opdef import Spec
from regrad.core.operation import UNASKED, variable_of


class FuncGraph(Graph):
    """A graph that is the body of a function, branch or loop of `outer_graph`.

    Using a tensor of an outer graph inside it makes an extra input, a *capture*. Scopes in force outside hold inside.

    Attributes:
      name: the body's name.
      inputs: its own input tensors, captures last.
      captures: {outer tensor: inner tensor}.
      outer_inputs: the tensors of the graph around that were captured, in the order of the inputs that they feed.
      reads: {the read `w/read` of a variable that was asked for inside: the variable's storage}.
      outputs: what it returns.
    """

    runs_all = False  # whether effects run that no output needs, as in TensorFlow's functions but not in its loops and branches
    built = False  # whether the function has returned: nobody outside may use its tensors from then on

    def __init__(self, name, outer_graph, inherits_scope=False):
        outer = outer_graph.frame
        super().__init__(Frame(scope=outer.scope if inherits_scope else "", device=outer.device,
                               device_functions=outer.device_functions, device_by_op=outer.device_by_op,
                               override_scope=outer.override_scope, forward_op=outer.forward_op))
        self.name = name
        self.outer_graph = outer_graph
        self.inputs = []
        self.captures = {}
        self.outer_inputs = []
        self._inner_of = {}  # {tensor of the graph around: the input that it feeds}
        self.reads = {}
        self.outputs = []
        # (operation of an enclosing graph that a block of control dependencies names, what is made in that block or None)
        self.waits_outside = []
        self.seed = outer_graph.seed
        self._collections = outer_graph._collections
        self.gradient_rules = outer_graph.gradient_rules
        self.override_blocks = outer_graph.override_blocks

    def encloses(self, graph):
        """True when `graph` is one of the graphs around this one."""
        return graph is not self and any(outer is graph for outer in self.outwards())

    def add_input(self, dtype, dims, name):
        """Returns a new input tensor of the body, the last."""
        self.inputs.append(self._new_input(dtype, dims, name))
        return self.inputs[-1]

    def _new_input(self, dtype, dims, name):
        """Returns a new input tensor, which is yet to be put among `inputs`."""
        attrs = {"dtype": dtype, "shape": dims}
        return self._add(opdefs.find_op("FuncInput"), (), attrs, name, specs=Spec(dims, dtype)).outputs[0]

    def capture(self, tensor):
        """Returns the inner tensor that stands for `tensor` of an enclosing graph."""
        inner = self.captures.get(tensor)
        if inner is None:
            outer = self.outer_graph
            tensor_outside = tensor if tensor.graph is outer else outer.capture(tensor)
            known = tensor.value() if tensor.dtype._kind in "iubs" else None
            if tensor_outside in self._inner_of:  # under another name: two tensors further out may be one in the graph around
                inner = self._inner_of[tensor_outside]
            elif known is not None and known.size <= 64:
                # Sizes and axes are simply repeated, so that they stay known inside. Real numbers are not: somebody may
                # differentiate with respect to them.
                with self.control_dependencies(None):
                    op = self._add(opdefs.find_op("Const"), (), {"value": known, "dtype": tensor.dtype},
                                   tensor.op.name.rpartition("/")[2])
                inner = op.outputs[0]
            else:
                with framed(self, scope="", controls=(), override_scope=None):
                    inner = self._new_input(tensor.dtype, tensor.dims, "capture/" + tensor.op.name)
                self.inputs.append(inner)
                self.outer_inputs.append(tensor_outside)
                self._inner_of[tensor_outside] = inner
                variable = variable_of(tensor)
                if variable is not None:
                    inner.op.attrs = {**inner.op.attrs, "variable": variable}
            self.captures[tensor] = inner
        return inner

    def capture_shape(self, tensor):
        """Returns an inner tensor of the shape of `tensor`, for an operand of which only the shape matters."""
        return self.capture(tensor)

    def note_read(self, snapshot, storage):
        """Remembers here and further out that a read made outside stands for one inside: a loop may have to make it one."""
        for graph in self.outwards():
            if graph.outer_graph is not None:
                graph.reads[snapshot] = storage

    def read_inside(self, snapshot):
        """Makes the read of a variable that was captured one of this body: its value is then that of each call."""
        inner = self.captures.pop(snapshot)
        n_explicit = len(self.inputs) - len(self.outer_inputs)
        position = self.inputs.index(inner)
        self._inner_of.pop(self.outer_inputs[position - n_explicit], None)
        del self.inputs[position], self.outer_inputs[position - n_explicit]
        storage = self.capture(self.reads[snapshot])
        op = inner.op
        op.opdef, op.inputs, op.attrs = opdefs.find_op("Identity"), (storage,), UNASKED
        storage._consumers = [*(storage._consumers or ()), op]


opdefs.define_op("FuncInput", "", infer=lambda *, dtype, shape, variable=None: Spec(shape, dtype),
                 attrs={"dtype": None, "shape": None}, stateful=True)
