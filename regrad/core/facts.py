"""What an op type says of itself besides its shape rule and its lowering: Facts, stated in the block that defines it.

The runtime, gradients, copies and readers of files ask for facts; none of them knows an op type by its name. A user's
`define_op(..., facts=tf.Facts(...))` states the same ones.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """How an operation uses the FuncGraphs among its attributes: branches, the body of a loop.

    Attributes:
      calls: `calls(op, specs, body_dims)` -> [(graph, Specs of its inputs, how often it runs)], or None where that depends on
        values. `specs` are those of the operation's inputs; `body_dims(graph, specs)` gives the dims of a graph's outputs.
      dims: `dims(op, specs, body_dims)` -> dims of the outputs, or None where they depend on values.
      saved_from: `saved_from(op)` -> the first output that holds what branches or iterations saved for a gradient; not
        every run has those.
      offset: input of the operation that is the first input of its bodies.
      loop_vars: `loop_vars(op)` -> how many inputs of the bodies, the first, are loop variables.
      static: `static(op)` -> inputs whose values must be known when compiling, besides those that the bodies need.
      taken: `taken(op, value)` -> the branch that this value of the first input takes; None where all bodies run.
      counters: `counters(op, specs)` -> {output: (least, largest)} for outputs that hold integers which a loop has counted;
        None where no body counts.
      unsettled: `unsettled(shape)` -> whether an output of this shape has never been written; None where none can be.
    """

    calls: Callable
    dims: Callable
    saved_from: Callable
    offset: int = 1
    loop_vars: Callable = lambda op: 0
    static: Callable = lambda op: ()
    taken: Callable | None = None
    counters: Callable | None = None
    unsettled: Callable | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """An op that sums products: of matrices, or a convolution.

    Attributes:
      multiply_adds: `multiply_adds(op, dims, made)` -> how many, for the dims of its inputs and the number of elements made.
      convolution: whether it is one: NumPy takes longer for each multiply-add then.
    """

    multiply_adds: Callable
    convolution: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An op that puts elements into a queue that lives in the session, or takes some out.

    Attributes:
      gives: `gives(op)` -> how many elements it puts in; None for an op that takes.
      take: `take(session, op)` waits for what it takes, before the run begins; None for one that gives.
      room: `room(session, op, n)` waits until n elements fit, and returns whether it has waited.
    """

    gives: Callable | None = None
    take: Callable | None = None
    room: Callable | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How operations of a type stand in files.

    Attributes:
      complete: `complete(attrs)` -> the attributes, with the Python objects that a file does not hold.
      functions: names of attributes that are functions of the program; a file holds their names.
      module: the module whose `written(op)` gives attributes for a file, and whose `read` takes them back.
      hidden_inputs: `hidden_inputs(op)` -> tensors that it needs and that are none of its inputs.
      writes_files: `writes_files(op)` -> whether running it writes files.
    """

    complete: Callable | None = None
    functions: tuple[str, ...] = ()
    module: str | None = None
    hidden_inputs: Callable | None = None
    writes_files: Callable | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is true of all operations of a type; each has a default that is right for an op that computes values from values.

    Attributes:
      cost: what computing a result again costs: "free" (it is the operand, or is made where it is read), "light" (an element
        takes about as long as reading it), "slow" (longer than reading it from the processor's cache), "heavy" (never worth
        computing twice).
      product: what kind of product it is, if it is one.
      bodies: how it uses the graphs among its attributes, if it has any.
      passes_value: whether the output holds the numbers of the first input: "" (no), "unchanged", or "reshaped" (in another
        shape or dtype).
      rows_of: inputs of which only the rows that other inputs name are read or written.
      numpy: `numpy(op, known)` -> NumPy's own function of the operands that are not static, which is the lowering on the host;
        `known` has the static ones by position.
      host_if: `host_if(op)` -> whether this operation runs on the host.
      blocks: of a random op: `blocks(attrs, *dims of the outputs)` -> how many blocks of its stream it takes in a run.
      refusal: what only values can refuse (core.opdef.Refusal, Bounds).
      by_product: the OpDef that computes an optimizer's step together with the product that is its gradient.
      uninitialized_ok: it takes variables that have no value.
      in_session: it keeps something in the session, which its lowering is given.
      waiting: how it waits for other threads, if it does.
      user_code: its lowering calls the user's code: exceptions are the user's own.
      symmetric: its gradient is meant for matrices that stay Hermitian when they are moved.
      led_through: inputs whose values it does not need and through which gradients flow all the same.
      stored: how operations stand in files.
    """

    cost: Literal["free", "light", "slow", "heavy"] = "light"
    product: Product | None = None
    bodies: Bodies | None = None
    passes_value: Literal["", "unchanged", "reshaped"] = ""
    rows_of: tuple[int, ...] = ()
    numpy: Callable | None = None
    host_if: Callable | None = None
    blocks: Callable | None = None
    refusal: Any = None
    by_product: Any = None
    uninitialized_ok: bool = False
    in_session: bool = False
    waiting: Waiting | None = None
    user_code: bool = False
    symmetric: bool = False
    led_through: tuple[int, ...] = ()
    stored: Stored = Stored()


NONE = Facts()
