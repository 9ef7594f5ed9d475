"""The table of TensorFlow's modules: which Regrad module each stands for, and names that lie elsewhere.

A module listed without "=" offers the public names of `regrad` only; with "=", those of a Regrad module first.
"""

import collections.abc
import contextlib
import functools
import itertools
import types

from regrad.core import dtypes, gradient_registry

_TREE = {
    "": """compat=compat compat.v1=regrad compat.v2=compat.v2 python=regrad core core.framework core.lib core.lib.core
        core.protobuf core.util core.example raw_ops=raw_ops""",
    "core.framework": """attr_value_pb2=core.graph_def function_pb2 graph_pb2=core.graph_def node_def_pb2=core.graph_def
        op_def_pb2 step_stats_pb2 summary_pb2=core.messages tensor_pb2=core.messages tensor_shape_pb2=core.messages types_pb2
        variable_pb2=core.messages versions_pb2""",
    "contrib": """eager eager.python eager.python.tfe
        rnn.python rnn.python.ops rnn.python.ops.core_rnn_cell=contrib.rnn rnn.python.ops.rnn_cell=contrib.rnn
        rnn.python.ops.core_rnn_cell_impl=contrib.rnn rnn.python.ops.core_rnn=contrib.rnn
        rnn.python.ops.fused_rnn_cell=contrib.rnn rnn.python.ops.lstm_ops=contrib.rnn rnn.python.ops.gru_ops=contrib.rnn
        rnn.python.ops.rnn=contrib.rnn distributions=contrib.distributions distributions.python
        distributions.python.ops=contrib.distributions distributions.python.ops.bijectors=contrib.bijectors
        distributions.bijectors=contrib.bijectors legacy_seq2seq=contrib.legacy_seq2seq
        compiler=contrib.compiler compiler.jit=contrib.compiler crf=contrib.crf crf.python crf.python.ops
        crf.python.ops.crf=contrib.crf cudnn_rnn=contrib.cudnn_rnn cudnn_rnn.python
        cudnn_rnn.python.layers=contrib.cudnn_rnn cudnn_rnn.python.ops
        cudnn_rnn.python.ops.cudnn_rnn_ops=contrib.cudnn_rnn seq2seq=contrib.seq2seq
        seq2seq.python seq2seq.python.ops seq2seq.python.ops.attention_wrapper=contrib.seq2seq
        seq2seq.python.ops.basic_decoder=contrib.seq2seq seq2seq.python.ops.beam_search_decoder=contrib.seq2seq
        seq2seq.python.ops.decoder=contrib.seq2seq seq2seq.python.ops.helper=contrib.seq2seq
        seq2seq.python.ops.loss=contrib.seq2seq data=contrib.data framework=contrib.framework framework.python
        framework.python.framework=contrib.framework framework.python.framework.checkpoint_utils=contrib.framework
        framework.python.framework.tensor_util=contrib.framework framework.python.ops=contrib.framework
        framework.python.ops.arg_scope=contrib.framework
        framework.python.ops.variables=contrib.framework graph_editor=contrib.graph_editor
        graph_editor.edit=contrib.graph_editor graph_editor.reroute=contrib.graph_editor
        graph_editor.select=contrib.graph_editor graph_editor.subgraph=contrib.graph_editor
        graph_editor.transform=contrib.graph_editor graph_editor.util=contrib.graph_editor layers=contrib.layers
        layers.python layers.python.layers=contrib.layers layers.python.layers.initializers=contrib.layers
        layers.python.layers.layers=contrib.layers
        layers.python.layers.optimizers=contrib.optimize layers.python.layers.regularizers=contrib.layers
        layers.python.layers.utils=contrib.layer_utils layers.utils=contrib.layer_utils
        losses=contrib.losses metrics=contrib.metrics opt=contrib.opt predictor=contrib.predictor
        predictor.predictor_factories=contrib.predictor predictor.saved_model_predictor=contrib.predictor
        saved_model=contrib.saved_model saved_model.python saved_model.python.saved_model
        saved_model.python.saved_model.reader=contrib.saved_model
        saved_model.python.saved_model.signature_def_utils=contrib.saved_model
        rnn=contrib.rnn slim=contrib.slim slim.evaluation=contrib.evaluation slim.learning=contrib.learning
        slim.model_analyzer=contrib.model_analyzer
        slim.losses=contrib.losses slim.metrics=contrib.metrics slim.python slim.python.slim
        slim.utils=contrib.layer_utils slim.nets=contrib.nets slim.nets.alexnet=contrib.nets.alexnet
        slim.nets.inception=contrib.nets.inception slim.nets.overfeat=contrib.nets.overfeat
        slim.nets.resnet_utils=contrib.nets.resnet_utils slim.nets.resnet_v1=contrib.nets.resnet_v1
        slim.nets.resnet_v2=contrib.nets.resnet_v2 slim.nets.vgg=contrib.nets.vgg
        slim.python.slim.nets=contrib.nets slim.python.slim.nets.alexnet=contrib.nets.alexnet
        slim.python.slim.nets.inception=contrib.nets.inception slim.python.slim.nets.inception_v1=contrib.nets.inception
        slim.python.slim.nets.inception_v2=contrib.nets.inception slim.python.slim.nets.inception_v3=contrib.nets.inception
        slim.python.slim.nets.overfeat=contrib.nets.overfeat slim.python.slim.nets.resnet_utils=contrib.nets.resnet_utils
        slim.python.slim.nets.resnet_v1=contrib.nets.resnet_v1 slim.python.slim.nets.resnet_v2=contrib.nets.resnet_v2
        slim.python.slim.nets.vgg=contrib.nets.vgg
        slim.python.slim.evaluation=contrib.evaluation slim.python.slim.learning=contrib.learning
        training=contrib.training training.python training.python.training
        training.python.training.hparam=contrib.training image=contrib.image opt.python opt.python.training
        opt.python.training.external_optimizer=contrib.opt quantize=contrib.quantize resampler=contrib.resampler
        stateless=contrib.stateless sparsemax=contrib.sparsemax nn=contrib.nn integrate=contrib.integrate
        copy_graph=contrib.copy_graph
        losses.python losses.python.metric_learning=contrib.metric_learning losses.metric_learning=contrib.metric_learning
        tensorboard=contrib.tensorboard tensorboard.plugins=contrib.tensorboard.plugins
        tensorboard.plugins.projector=contrib.tensorboard.plugins.projector
        util=contrib.util estimator=contrib.estimator learn=contrib.learn tpu=contrib.tpu tpu.python tpu.python.tpu
        tpu.python.tpu.tpu_config=contrib.tpu tpu.python.tpu.tpu_estimator=contrib.tpu
        tpu.python.tpu.tpu_optimizer=contrib.tpu""",
    "core.lib.core": "error_codes_pb2=core.errors",
    "core.protobuf": """cluster_pb2 config_pb2 control_flow_pb2 error_codes_pb2=core.errors
        meta_graph_pb2=core.graph_proto queue_runner_pb2 rewriter_config_pb2
        saved_model_pb2=core.graph_proto saver_pb2=core.graph_proto tensorflow_server_pb2""",
    "core.util": "event_pb2=core.messages",
    "core.example": "example_pb2=core.messages feature_pb2=core.messages",
    "python": """client compat compat.compat=compat.text debug data=data data.ops data.ops.dataset_ops=data
        data.ops.iterator_ops=data data.util
        data.util.nest=core.nest distribute=distribute distribute.distribution_strategy_context=distribute
        distribute.reduce_util=distribute distribute.summary_op_util eager estimator=estimator estimator.estimator=estimator
        estimator.estimator_lib=estimator estimator.inputs=estimator.inputs estimator.inputs.numpy_io=estimator.inputs
        estimator.model_fn=estimator estimator.run_config=estimator estimator.training=estimator
        feature_column=feature_column feature_column.feature_column=feature_column
        feature_column.feature_column_lib=feature_column feature_column.feature_column_v2=feature_column
        framework keras=keras keras.backend=keras.backend keras.callbacks=keras.callbacks
        keras.engine keras.engine.base_layer=layers keras.engine.input_spec=layers keras.initializers=initializers
        keras.layers=keras.layers keras.losses=keras.losses keras.metrics=keras.metrics
        keras.models=keras.models keras.optimizers=keras.optimizers
        keras.regularizers=keras.regularizers layers=layers lib lib.core
        lib.core.error_codes_pb2=core.errors lib.io lib.io.file_io=gfile
        lib.io.python_io lib.io.tf_record module module.module ops platform pywrap_tensorflow=train saved_model=saved_model
        saved_model.builder=saved_model.builder saved_model.builder_impl=saved_model.builder
        saved_model.loader=saved_model.loader saved_model.loader_impl=saved_model.loader
        saved_model.main_op=saved_model.main_op saved_model.main_op_impl=saved_model.main_op
        saved_model.signature_def_utils=saved_model.signature_def_utils
        saved_model.signature_def_utils_impl=saved_model.signature_def_utils
        saved_model.utils=saved_model.utils saved_model.utils_impl=saved_model.utils
        saved_model.constants=saved_model.constants saved_model.saved_model=saved_model saved_model.simple_save=saved_model
        saved_model.signature_constants=saved_model.signature_constants saved_model.tag_constants=saved_model.tag_constants
        summary=summary summary.plugin_asset summary.summary=summary summary.summary_iterator=summary summary.writer=summary
        summary.writer.event_file_writer=summary summary.writer.writer=summary summary.writer.writer_cache=summary tf2
        tools tools.freeze_graph=train.freezing tools.inspect_checkpoint=train.freezing tpu tpu.ops tpu.ops.tpu_ops
        tpu.tpu_function training=train user_ops user_ops.user_ops util""",
    "python.framework": """auto_control_deps common_shapes=core.shapes composite_tensor constant_op=core.convert
        device=core.device device_spec=core.device dtypes=core.dtypes error_interpolation errors=core.errors
        errors_impl=core.errors func_graph=core.func_graph function graph_io=train graph_util=graph_util
        graph_util_impl=graph_util
        importer indexed_slices=core.indexed_slices kernels load_library meta_graph=train op_def_library op_def_registry
        ops=framework random_seed=framework registry smart_cond sparse_tensor=ops.sparse subscribe
        tensor_shape=core.shapes tensor_spec=core.tensor_spec tensor_util=core.constants
        test_util=compat.testing traceable_stack type_spec
        versions=versions""",
    "python.client": "client_lib device_lib session=runtime.session timeline",
    "python.eager": """backprop context core def_function execute function imperative_grad tape test=test wrap_function""",
    "python.ops": """array_grad=ops.array_grad array_ops=ops.array bitwise_ops=bitwise boosted_trees_ops
        candidate_sampling_ops=ops.candidates check_ops=ops.check clip_ops=ops.clip clustering_ops cond_v2
        confusion_matrix control_flow_grad=ops.flow_grad control_flow_ops=ops.control control_flow_state control_flow_util
        control_flow_util_v2 control_flow_v2_func_graphs control_flow_v2_toggles ctc_ops=nn cudnn_rnn_grad
        custom_gradient=autodiff.custom data_flow_grad=ops.partition_grad data_flow_ops default_gradient
        distributions=distributions distributions.bernoulli=distributions distributions.beta=distributions
        distributions.categorical=distributions distributions.dirichlet=distributions
        distributions.dirichlet_multinomial=distributions distributions.distribution=distributions
        distributions.distributions=distributions distributions.exponential=distributions distributions.gamma=distributions
        distributions.kullback_leibler=distributions distributions.laplace=distributions
        distributions.multinomial=distributions distributions.normal=distributions distributions.student_t=distributions
        distributions.uniform=distributions distributions.util=distributions.util
        embedding_ops=nn functional_ops=ops.functional gen_array_ops=generated gen_bitwise_ops=generated
        gen_candidate_sampling_ops=generated gen_control_flow_ops=generated gen_ctc_ops=generated
        gen_data_flow_ops=generated gen_functional_ops=generated gen_image_ops=generated gen_io_ops=generated
        gen_linalg_ops=generated gen_list_ops=generated gen_logging_ops=generated gen_lookup_ops=generated
        gen_math_ops=generated gen_nn_ops=generated gen_parsing_ops=generated gen_random_ops=generated
        gen_resource_variable_ops=generated gen_script_ops=generated gen_sparse_ops=generated gen_spectral_ops=generated
        gen_state_ops=generated gen_stateless_random_ops=generated gen_string_ops=generated gen_training_ops=generated
        gen_user_ops=generated gradient_checker=test gradient_checker_v2=compat.testing gradients=autodiff.gradients
        gradients_impl=autodiff.gradients gradients_util=autodiff.gradients histogram_ops=ops.counting
        image_grad=ops.image_grad image_ops=image image_ops_impl=image init_ops=variables.initializers
        init_ops_v2=variables.initializers inplace_ops=ops.inplace io_ops linalg linalg.linalg=linalg linalg.linalg_impl=linalg
        linalg.linear_operator=linalg linalg.linear_operator_addition linalg.linear_operator_diag=linalg
        linalg.linear_operator_full_matrix=linalg linalg.linear_operator_identity=linalg
        linalg.linear_operator_low_rank_update=linalg linalg.linear_operator_lower_triangular=linalg
        linalg.linear_operator_util
        linalg_grad=ops.linalg_grad linalg_ops=linalg linalg_ops_impl=linalg list_ops logging_ops=ops.check
        lookup_ops=ops.lookup
        losses=losses losses.losses=losses losses.losses_impl=losses losses.util=losses manip_ops=manip
        map_fn=ops.functional math_grad=ops.math_grad math_ops=ops.math math_ops_impl metrics=metrics
        metrics_impl=compat.metrics nn=nn nn_grad=ops.nn_grad nn_impl=nn nn_ops=nn numerics op_selector optional_grad
        parallel_for
        parallel_for.control_flow_ops parallel_for.gradients=autodiff.derivatives parsing_ops partitioned_variables
        quantized_ops=quantization ragged random_grad=ops.random_grad random_ops=ops.random
        resource_variable_ops=variables.variable resources rnn=nn rnn_cell=nn.rnn_cell rnn_cell_impl=nn.rnn_cell rnn_grad
        script_ops=ops.script sdca_ops session_ops=ops.handles sets=sets sets_impl=sets signal=signal signal.dct_ops=signal
        signal.fft_ops=spectral signal.mel_ops=signal signal.mfcc_ops=signal signal.reconstruction_ops=signal
        signal.shape_ops=signal signal.signal=signal signal.spectral_ops=signal signal.util_ops=signal
        signal.window_ops=signal sort_ops=ops.sort sparse_grad sparse_ops=ops.sparse special_math_ops=math
        spectral_ops=spectral standard_ops=regrad state_grad=ops.state_grad state_ops=variables.assign
        stateless_random_ops=random string_ops=strings summary_op_util=ops.summary summary_ops=summary template
        tensor_array_grad tensor_array_ops=ops.tensor_array unconnected_gradients variable_scope=variables.scope
        variables=variables.variable weights_broadcast_ops=losses while_v2""",
    "python.training": """adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management
        checkpoint_ops checkpoint_utils coordinator device_setter evaluation ftrl gradient_descent input
        learning_rate_decay momentum monitored_session moving_averages=train.moving_averages optimizer=train.optimizer
        proximal_adagrad proximal_gradient_descent py_checkpoint_reader quantize_training queue_runner queue_runner_impl
        rmsprop saver saver_test_utils saving saving.saveable_object saving.saveable_object_util server_lib
        gen_training_ops=generated session_manager session_run_hook slot_creator=train.slots summary_io supervisor
        sync_replicas_optimizer=train training training_ops=generated training_util warm_starting_util""",
    "python.layers": "base convolutional core layers normalization pooling utils",
    "python.platform": """app=app benchmark=test build_info flags=flags gfile=gfile googletest=test resource_loader self_check
        sysconfig test=test tf_logging=logging""",
    "python.util": """all_util compat=compat.text decorator_utils=compat.decorators deprecation=compat.decorators dispatch
        function_utils=compat.decorators is_in_graph_mode keyword_args=compat.decorators lazy_loader lock_util
        nest=core.nest object_identity protobuf protobuf.compare serialization tf_contextlib=contextlib
        tf_decorator=compat.decorators tf_export=compat.decorators tf_inspect=inspect tf_should_use=compat.decorators
        tf_stack""",
}

_NAMESPACES = """autograph bitwise contrib data distribute distributions errors initializers layers linalg logging losses math
    nn random train signal spectral strings summary image test gfile app flags manip sets metrics keras io debugging dtypes
    estimator estimator.experimental estimator.inputs feature_column quantization graph_util lookup nest python_io queue sparse
    version
    saved_model saved_model.builder saved_model.constants saved_model.loader saved_model.main_op
    saved_model.signature_constants saved_model.signature_def_utils saved_model.tag_constants saved_model.utils
    io.gfile nn.rnn_cell keras.activations keras.backend keras.callbacks keras.constraints keras.datasets keras.initializers
    keras.layers keras.losses keras.metrics keras.models keras.optimizers keras.preprocessing keras.preprocessing.sequence
    keras.preprocessing.text keras.regularizers keras.utils""".split()

_STANDARD = {"contextlib", "inspect", "generated", "regrad"}  # targets that are no parts of Regrad
_BELOW = {"python.training": "train", "python.layers": "layers"}  # what stands for modules without "="


def _table():
    modules = {"tensorflow": "regrad"}
    for package, entries in _TREE.items():
        for entry in entries.split():
            name, equals, target = entry.partition("=")
            target = target if equals else _BELOW.get(package, "")
            path = ".".join(part for part in ("tensorflow", package, name) if part)
            modules[path] = target if target in _STANDARD or not target else f"regrad.{target}"
    for name in _NAMESPACES:
        target = {"errors": "regrad.core.errors", "dtypes": "regrad.dtypes"}.get(name, f"regrad.{name}")
        modules.setdefault(f"tensorflow.{name}", target)
        modules.setdefault(f"tensorflow.compat.v1.{name}", target)
        modules.setdefault(f"tensorflow.compat.v2.{name}", target)
    return modules


MODULES = _table()


# -- names that TensorFlow has in a module and Regrad has elsewhere ---------------------------------------
def _nothing(*_args, **_kwargs):
    """Does nothing: graphs and sessions are all there is."""


def _no(*_args, **_kwargs):
    return False


def _get_gradient_function(op):
    """Returns the rule that would differentiate `op` now, None where there are no inputs or nothing flows."""
    from regrad.autodiff.resolution import get_gradient_function

    found = get_gradient_function(op) if op.inputs else None
    return getattr(found, "function", found)


def _broadcast_weights(weights, values):
    """Returns `weights` broadcast to the shape of `values`; ValueError where TensorFlow's losses and metrics refuse it."""
    import regrad as tf
    from regrad.ops.array import fit_weights

    weights, values = tf.convert_to_tensor(weights), tf.convert_to_tensor(values)
    return fit_weights(weights, values) * tf.ones_like(values, dtype=weights.dtype)


def _assert_broadcastable(weights, values):
    """Returns an operation that does nothing, but InvalidArgumentError where `weights` do not broadcast to `values`.

    Where that is known already, it is a ValueError now.
    """
    import regrad as tf
    from regrad.ops.array import fit_weights

    weights = tf.convert_to_tensor(weights)
    fitted = fit_weights(weights, tf.convert_to_tensor(values))
    return tf.no_op(name="static_scalar_check_success") if fitted is weights else fitted.op


def _without_last_axis(labels, predictions, expected_rank_diff=0, name=None):
    """Returns both; the one with an axis of size 1 more at its end than it should have loses it."""
    import regrad as tf

    labels, predictions = tf.convert_to_tensor(labels), tf.convert_to_tensor(predictions)
    if labels.shape.ndims is not None and predictions.shape.ndims is not None:
        more = predictions.shape.ndims - labels.shape.ndims - expected_rank_diff
        if more == 1 and predictions.dims[-1] in (1, None):
            predictions = tf.squeeze(predictions, [-1])
        elif more == -1 and labels.dims[-1] in (1, None):
            labels = tf.squeeze(labels, [-1])
    return labels, predictions


class _RuleEntry(dict):
    """What TensorFlow keeps about a rule, `{"type": function, "location": where}`; another "type" becomes the rule."""

    def __init__(self, rule):
        super().__init__(type=rule.function, location=rule.where)
        self._rule = rule

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if key == "type":
            self._rule.function = value


class _Rules(collections.abc.MutableMapping):
    """The registered rules as TensorFlow's private dictionary of them: programs exchange rules there, and take some out."""

    def __getitem__(self, name):
        rule = gradient_registry.find(name) if isinstance(name, str) else None
        if rule is None:
            raise KeyError(name)
        return _RuleEntry(rule)

    def __setitem__(self, name, entry):
        if name in self:
            self[name]["type"] = entry["type"]
        else:
            gradient_registry.register(name, entry["type"])

    def __delitem__(self, name):
        gradient_registry.forget(name)

    def __contains__(self, name):
        return name in gradient_registry.names()  # a rule under two names is exchanged once, and given back once

    def __iter__(self):
        return iter(list(gradient_registry.names()))

    def __len__(self):
        return len(gradient_registry.names())


class _GradientRegistry:
    """What programs see as `ops._gradient_registry`: the registered rules, by name."""

    _registry = _Rules()

    def register(self, candidate, name=None):
        gradient_registry.register(name or candidate.__name__, candidate)

    def list(self):
        return self._registry.keys()

    def lookup(self, name):
        try:
            return self._registry[name]["type"]
        except KeyError:
            raise LookupError(f"gradient registry has no entry for: {name}") from None


def _all_collection_keys():
    from regrad.core.graph import get_default_graph

    return [key for key in get_default_graph().get_all_collection_keys() if isinstance(key, str)]


def _name_scope_in_force():
    from regrad.core.graph import get_default_graph

    return get_default_graph().get_name_scope()


def _strip_name_scope(name, export_scope):
    """Returns `name` without the leading `export_scope`, marks of control inputs and colocation kept."""
    if not export_scope:
        return name
    for mark in ("^", "loc:@", ""):
        if name.startswith(f"{mark}{export_scope.rstrip('/')}/"):
            return mark + name[len(mark) + len(export_scope.rstrip("/")):].lstrip("/")
    return name


def _prepend_name_scope(name, import_scope):
    """Returns `name` below `import_scope`, marks of control inputs and colocation kept in front."""
    if not import_scope:
        return name
    mark = next(m for m in ("^", "loc:@", "") if name.startswith(m))
    return f"{mark}{import_scope.rstrip('/')}/{name[len(mark):]}"


def _collect(value, collections, default_collections):
    """Adds `value` to collections."""
    from regrad.core.graph import get_default_graph

    get_default_graph().add_to_collections(default_collections if collections is None else collections, value)


def _name_of_scope(scope):
    return scope[:-1] if scope.endswith("/") else scope


def _converted(values, dtype=None, name=None, preferred_dtype=None):
    """Returns `values` as a list of tensors, named name_0, name_1 ..."""
    from regrad.core.convert import convert_to_tensor

    return [convert_to_tensor(v, dtype, name=None if name is None else f"{name}_{i}", preferred_dtype=preferred_dtype)
            for i, v in enumerate(values)]


def _to_tensor(value, dtype=None, name=None, as_ref=False, preferred_dtype=None, dtype_hint=None, ctx=None,
               accepted_result_types=None):
    """Returns `value` as a tensor; `as_ref` and what follows `dtype_hint` are accepted."""
    from regrad.core.convert import convert_to_tensor

    return convert_to_tensor(value, dtype, name, preferred_dtype=preferred_dtype, dtype_hint=dtype_hint)


def _reduced_shape(input_shape, axes):
    """Returns the shape that a reduction over `axes` with kept axes gives, as an int32 tensor."""
    import regrad as tf

    shape = tf.cast(input_shape, tf.int32)
    rank = tf.size(shape)
    axes = tf.reshape((tf.cast(axes, tf.int32) + rank) % rank, [-1])
    hit = tf.reduce_any(tf.equal(tf.range(rank)[:, None], axes[None]), 1)
    return tf.where(hit, tf.ones_like(shape), shape)


def _update_of_storage(op_name):
    """Returns the function of a variable's handle and a value that makes the operation which writes it."""

    def update(resource, value, name=None):
        from regrad.ops import state

        return getattr(state, op_name)(resource, value, name=name).op

    return update


def _read_storage(resource, dtype=None, name=None):
    """Returns the value of a variable by its handle."""
    from regrad.ops.array import identity

    return identity(resource, name=name)


def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


class _LazyLoader(types.ModuleType):
    """A module that is imported when something of it is asked for; it then takes its place in `parent_module_globals`."""

    def __init__(self, local_name, parent_module_globals, name, warning=None):
        super().__init__(name)
        self._where = parent_module_globals, local_name

    def _load(self):
        import importlib

        module = importlib.import_module(self.__name__)
        names, local_name = self._where
        names[local_name] = module
        return module

    def __getattr__(self, item):
        return getattr(self._load(), item)

    def __dir__(self):
        return dir(self._load())


def _argspec(function):
    """Returns `inspect.getfullargspec` of what decorators wrap."""
    import inspect

    return inspect.getfullargspec(inspect.unwrap(function))


def _public_names(module_name, doc_string_modules=None):
    """Returns the names of a module that do not begin with "_"."""
    import sys

    return [name for name in vars(sys.modules[module_name]) if not name.startswith("_")]


def _zero_state(state_size, batch_size, dtype):
    """Returns a cell's state of zeros."""
    from regrad.core.dtypes import as_dtype
    from regrad.nn.rnn_cell import _zeros

    return _zeros(batch_size, state_size, as_dtype(dtype))


def _restored(prefix, tensor_names, shape_and_slices, dtypes, name=None):
    """Returns a list of tensors that a checkpoint holds, read when they are run.

    Args:
      shape_and_slices: for each name "", or the whole shape and what to take of each axis: "4 2 0,2:-" for rows 0 and 1.
    """
    import regrad as tf

    def read(path, key, part, dtype):
        value = tf.train.load_checkpoint(path.decode()).array(key.decode())
        if part:
            ranges = [r.split(",") for r in part.decode().rpartition(" ")[2].split(":")]
            value = value[tuple(slice(None) if r == ["-"] else slice(int(r[0]), int(r[0]) + int(r[1])) for r in ranges)]
        return value.astype(dtype.as_numpy_dtype)

    with tf.name_scope(name or "RestoreV2"):
        return [tf.py_func(lambda *inputs, d=d: read(*inputs, d), [prefix, key, part], d)
                for key, part, d in zip(tensor_names, shape_and_slices, map(tf.as_dtype, dtypes))]


def _of_sizes(name):
    """Returns `shape`, `size` or `rank` with the argument `optimize`; what is known while building is folded when it runs."""

    def internal(input, name=None, optimize=True, **options):
        from regrad.ops import array

        return getattr(array, kind)(input, name=name, **options)

    kind = name
    return internal


def _graph_of(op_input_list, graph=None):
    """Returns `graph`, the graph of the first tensor or operation among the inputs, or the default graph.

    Raises:
      TypeError: `graph` is no graph.
      ValueError: inputs of several graphs.
    """
    import regrad as tf

    if graph is not None and not isinstance(graph, tf.Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    first = None
    for x in op_input_list:
        x = x._as_graph_element() if hasattr(x, "_as_graph_element") else x
        if not isinstance(x, (tf.Tensor, tf.Operation)):
            continue
        if graph is None:
            first, graph = x, x.graph
        elif x.graph is not graph:
            raise ValueError(f"{x} is not from the passed-in graph." if first is None else
                             f"{x} must be from the same graph as {first}.")
    return graph or tf.get_default_graph()


def _write_text(filename, file_content):
    """Writes a file."""
    from regrad.core.files import in_place_of

    with in_place_of(filename) as file:
        file.write(file_content.encode() if isinstance(file_content, str) else file_content)


def _write_text_anew(filename, contents, overwrite=True):
    """Writes a file; AlreadyExistsError if it is there and `overwrite` is not said."""
    from regrad.gfile import _refuse_existing

    _refuse_existing(filename, overwrite)
    _write_text(filename, contents)


def _read_text(filename, binary_mode=False):
    """Returns what a file holds."""
    import regrad as tf

    with tf.gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def _functional_if(cond, inputs, then_branch, else_branch, name=None):
    """Returns a list: what one of two functions gives for `inputs`."""
    import regrad as tf

    return tf.cond(tf.cast(cond, tf.bool), lambda: _listed(then_branch(*inputs)), lambda: _listed(else_branch(*inputs)),
                   strict=True, name=name)


def _functional_while(input_, cond, body, name=None, hostmem=None):
    """Returns a list: `input_` after `body` was applied while `cond` held."""
    import regrad as tf

    return _listed(tf.while_loop(lambda *v: tf.cast(cond(*v), tf.bool), lambda *v: _listed(body(*v)), list(input_), name=name))


def _functional_for(start, limit, delta, inputs, body, name=None, hostmem=None, rewrite_with_while=None):
    """Returns a list: `inputs` after `body(i, *inputs)` for i from `start` below `limit` in steps of `delta`."""
    import regrad as tf

    delta = tf.convert_to_tensor(delta)
    return list(tf.while_loop(lambda i, *_: tf.where(delta > 0, i < limit, i > limit),
                              lambda i, *v: [i + delta, *_listed(body(i, *v))], [tf.convert_to_tensor(start), *inputs],
                              name=name)[1:])


def _is_dense(x):
    """True for tensors and variables."""
    import regrad as tf

    return isinstance(x, (tf.Tensor, tf.Variable))


def _pure_variable_scope(name_or_scope, **options):
    """Returns a variable scope that is no name scope."""
    import regrad as tf

    return tf.variable_scope(name_or_scope, auxiliary_name_scope=False, **options)


def _init_scope_only(*_args, **_kwargs):
    raise RuntimeError("There is no eager execution: build a graph and run it in a session.")


def _as_indexed_slices(x, optimize=True):
    """Returns a tensor as IndexedSlices of all its rows; slices as they are."""
    import regrad as tf

    if isinstance(x, tf.IndexedSlices):
        return x
    if not isinstance(x, tf.Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}.")
    sizes = tf.shape(x)
    return tf.IndexedSlices(x, tf.range(sizes[0]), sizes)


def _pfor(name):
    """Returns `jacobian` or `batch_jacobian` with the arguments of TensorFlow's: how it loops is Regrad's affair."""

    def derivative(output, inputs, use_pfor=True, parallel_iterations=None):
        from regrad.autodiff import derivatives

        return getattr(derivatives, name)(output, inputs)

    def batch_derivative(output, inp, use_pfor=True, parallel_iterations=None):
        return derivative(output, inp)

    return batch_derivative if name == "batch_jacobian" else derivative


class _Context:
    """What `context.context()` gives: everything is a graph, and there are no devices to choose from."""

    executing_eagerly = staticmethod(_no)
    num_gpus = staticmethod(lambda: 0)


_CONTROL_FLOW_UTIL = {"ENABLE_CONTROL_FLOW_V2": True, "EnableControlFlowV2": lambda graph: True,
                      "enable_control_flow_v2": _nothing, "GraphOrParentsInXlaContext": _no, "IsInWhileLoop": _no,
                      "IsInCond": _no, "IsInXLAContext": _no,
                      "GetContainingXLAContext": _nothing, "GetContainingWhileContext": _nothing,
                      "GetContainingCondContext": _nothing}

_EAGER = {"defun": lambda func=None, **_options: func if func is not None else lambda f: f, "executing_eagerly": _no,
          "in_eager_mode": _no, "in_graph_mode": lambda: True, "num_gpus": lambda: 0,
          "run_test_in_graph_and_eager_modes": "regrad.compat.testing:run_in_graph_and_eager_modes",
          "run_all_tests_in_graph_and_eager_modes": "regrad.compat.testing:run_all_in_graph_and_eager_modes",
          "enable_eager_execution": _init_scope_only}  # defun: a function called while building is part of the graph

EXTRAS = {
    "tensorflow.contrib.eager": _EAGER, "tensorflow.contrib.eager.python.tfe": _EAGER,
    "tensorflow.core.framework.types_pb2": {dtypes.enum_name(t): int(t) for t in dtypes.ALL},
    "tensorflow": {"__file__": "regrad:__file__", "__version__": "regrad.versions:VERSION"},
    "tensorflow.python.framework.function": {"Defun": "regrad.autodiff.defun:Defun",
                                             "_DefinedFunction": "regrad.autodiff.defun:_DefinedFunction"},
    "tensorflow.python.client.device_lib": {"list_local_devices": "regrad.runtime.session:list_local_devices"},
    "tensorflow.python.client.timeline": {"Timeline": "regrad.runtime.trace:Timeline"},
    "tensorflow.python.framework.ops": {
        "RegisterGradient": "regrad.core.gradient_registry:RegisterGradient",
        "NotDifferentiable": "regrad.core.gradient_registry:NotDifferentiable",
        "NoGradient": "regrad.core.gradient_registry:NoGradient",
        "no_gradient": "regrad.core.gradient_registry:NotDifferentiable",
        "_gradient_registry": _GradientRegistry(),
        "get_gradient_function": _get_gradient_function,
        "uid": functools.partial(next, itertools.count(1)),
        "get_all_collection_keys": _all_collection_keys, "get_name_scope": _name_scope_in_force,
        "strip_name_scope": _strip_name_scope, "prepend_name_scope": _prepend_name_scope,
        "name_from_scope_name": _name_of_scope, "convert_n_to_tensor": _converted,
        "convert_to_tensor": _to_tensor, "internal_convert_to_tensor": _to_tensor,
        "name_scope_v1": "regrad.framework:name_scope",
        "executing_eagerly_outside_functions": _no, "inside_function": _no, "has_default_graph": lambda: True,
        "enable_eager_execution": _init_scope_only, "disable_eager_execution": _nothing,
        "IndexedSlicesValue": "regrad.runtime.feeds:IndexedSlicesValue", "is_dense_tensor_like": _is_dense,
        "NullContextmanager": contextlib.nullcontext, "EagerTensor": type("EagerTensor", (), {}),
        "RegisterShape": lambda op_type: lambda f: f, "_get_graph_from_inputs": _graph_of,
        "register_proto_function": "regrad.train.graph_files:register_proto_function",
        "register_dense_tensor_like_type": _nothing,
    },
    "tensorflow.python.ops.script_ops": {"eager_py_func": "regrad.ops.script:py_function"},
    "tensorflow.python.ops.gradients_impl": {
        "gradients_v2": "regrad.autodiff.gradients:gradients",
        "_hessian_vector_product": "regrad.autodiff.derivatives:hessian_vector_product"},
    "tensorflow.python.ops.parallel_for.gradients": {"jacobian": _pfor("jacobian"), "batch_jacobian": _pfor("batch_jacobian")},
    "tensorflow.python.framework.meta_graph": {
        "read_meta_graph_file": "regrad.train.graph_files:read_meta_graph"},
    "tensorflow.python.framework.constant_op": {"constant_v1": "regrad.core.convert:constant"},
    "tensorflow.python.framework.random_seed": {
        "DEFAULT_GRAPH_SEED": "regrad.ops.random:DEFAULT_GRAPH_SEED", "get_seed": "regrad.ops.random:get_seed",
        "set_seed": "regrad.ops.random:set_random_seed"},
    "tensorflow.python.framework.smart_cond": {
        "smart_case": "regrad.layers.core:smart_case",
        "smart_cond": "regrad.layers.core:smart_cond", "smart_constant_value": "regrad.layers.core:smart_constant_value"},
    "tensorflow.python.framework.tensor_util": {"is_tensor": "regrad.core.graph:is_tensor",
                                                "is_tf_type": "regrad.core.graph:is_tensor",
                                                "MakeNdarray": "regrad.core.messages:make_ndarray",
                                                "ShapeEquals": "regrad.core.messages:shape_equals"},
    "tensorflow.python.framework.common_shapes": {"broadcast_shape": "regrad.ops.array:broadcast_static_shape"},
    "tensorflow.python.client.session": {
        "BaseSession": "regrad.runtime.session:Session", "SessionInterface": "regrad.runtime.session:Session",
        "register_session_run_conversion_functions": "regrad.runtime.feeds:register_session_run_conversion_functions"},
    "tensorflow.python.eager.context": {
        "executing_eagerly": _no, "in_eager_mode": _no, "in_graph_mode": lambda: True, "num_gpus": lambda: 0,
        "graph_mode": contextlib.nullcontext, "eager_mode": _init_scope_only, "context": _Context},
    "tensorflow.python.ops.control_flow_ops": {"smart_cond": "regrad.layers.core:smart_cond"},
    "tensorflow.python.layers.utils": {
        "smart_cond": "regrad.layers.core:smart_cond", "constant_value": "regrad.layers.core:smart_constant_value",
        "normalize_tuple": "regrad.layers.base:normalize", "conv_output_length": "regrad.layers.convolutional:output_length",
        "conv_input_length": "regrad.layers.convolutional:input_length",
        "deconv_output_length": "regrad.layers.convolutional:transposed_length",
        "convert_data_format": "regrad.layers.convolutional:tf_data_format",
        "normalize_data_format": "regrad.layers.convolutional:checked_data_format",
        "normalize_padding": "regrad.layers.convolutional:checked_padding"},
    "tensorflow.python.ops.control_flow_util": _CONTROL_FLOW_UTIL,
    "tensorflow.python.ops.control_flow_v2_toggles": {"enable_control_flow_v2": _nothing, "disable_control_flow_v2": _nothing,
                                                      "control_flow_v2_enabled": lambda: True},
    "tensorflow.python.ops.weights_broadcast_ops": {"broadcast_weights": _broadcast_weights,
                                                    "assert_broadcastable": _assert_broadcastable},
    "tensorflow.python.ops.confusion_matrix": {"remove_squeezable_dimensions": _without_last_axis},
    "tensorflow.python.ops.rnn_cell_impl": {
        "_linear": "regrad.contrib.cells:linear", "_Linear": "regrad.contrib.cells:Linear", "_zero_state_tensors": _zero_state,
        "_WEIGHTS_VARIABLE_NAME": "regrad.compat.nn:WEIGHTS", "_BIAS_VARIABLE_NAME": "regrad.compat.nn:BIAS",
        "_SlimRNNCell": "regrad.compat.nn:SlimRNNCell",
        "_concat": "regrad.compat.nn:joined_sizes", "assert_like_rnncell": "regrad.compat.nn:assert_like_rnncell",
        "ASSERT_LIKE_RNNCELL_ERROR_REGEXP": "regrad.compat.nn:NOT_A_CELL"},
    "tensorflow.python.ops.rnn": {
        "_transpose_batch_time": "regrad.nn.rnn:_transposed", "_rnn_step": "regrad.compat.nn:rnn_step",
        "_best_effort_input_batch_size": "regrad.compat.nn:best_effort_input_batch_size",
        "_infer_state_dtype": "regrad.compat.nn:infer_state_dtype", "_reverse_seq": "regrad.compat.nn:reverse_seq",
        "_concat": "regrad.compat.nn:joined_sizes"},
    "tensorflow.python.ops.nn_ops": {
        name: f"regrad.compat.nn:{name}" for name in (
            "Convolution", "data_format_dim_map", "data_format_vec_permute", "dropout_v2", "log_softmax_v2", "softmax_v2")},
    "tensorflow.python.ops.nn_grad": {"_BatchNormGrad": "regrad.compat.nn:batch_norm_grad"},
    "tensorflow.python.ops.nn_impl": {
        "_compute_sampled_logits": "regrad.compat.nn:compute_sampled_logits", "moments_v2": "regrad.compat.nn:moments_v2",
        "nce_loss_v2": "regrad.compat.nn:nce_loss_v2", "sampled_softmax_loss_v2": "regrad.compat.nn:sampled_softmax_loss_v2"},
    "tensorflow.python.ops.ctc_ops": {"dense_labels_to_sparse": "regrad.nn.sequences:dense_labels_to_sparse"},
    "tensorflow.python.ops.init_ops": {
        "_compute_fans": "regrad.variables.initializers:fans",
        **{name: f"regrad.variables.orthogonal:ConvolutionOrthogonal{n}D" for n in "123"
           for name in (f"ConvolutionOrthogonal{n}D", f"convolutional_orthogonal_{n}d")}},
    "tensorflow.python.compat.compat": {"forward_compatibility_horizon": lambda year, month, day: contextlib.nullcontext()},
    "tensorflow.python.training.optimizer": {
        "_deduplicate_indexed_slices": "regrad.train.optimizer:_distinct_rows", "_var_key": lambda v: (v.op.graph, v.op.name)},
    "tensorflow.python.ops.embedding_ops": {
        "embedding_lookup_v2": "regrad.compat.nn:embedding_lookup_v2",
        "_embedding_lookup_and_transform": "regrad.compat.nn:embedding_lookup_and_transform"},
    "tensorflow.python.ops.io_ops": {"restore_v2": _restored},
    "tensorflow.python.ops.rnn_cell": {"_linear": "regrad.contrib.cells:linear"},
    "tensorflow.contrib.rnn.python.ops.lstm_ops": {"_block_lstm": "regrad.contrib.lstm_block:block_lstm"},
    "tensorflow.contrib.rnn.python.ops.core_rnn_cell": {
        "_linear": "regrad.contrib.cells:linear", "_Linear": "regrad.contrib.cells:Linear"},
    "tensorflow.python.ops.cond_v2": {"cond_v2": "regrad.ops.flow:cond"},
    "tensorflow.python.ops.array_ops": {"shape_internal": _of_sizes("shape"), "size_internal": _of_sizes("size"),
                                        "rank_internal": _of_sizes("rank"),
                                        "_SLICE_TYPE_ERROR": "regrad.ops.indexing:_SLICE_TYPE_ERROR"},
    "tensorflow.python.ops.sparse_ops": {"sparse_dense_cwise_add": "regrad.ops.sparse_shape:sparse_dense_cwise_add"},
    "tensorflow.python.ops.string_ops": {"string_split_v2": "regrad.ops.strings:split",
                                         "reduce_join_v2": "regrad.ops.strings:reduce_join"},
    "tensorflow.python.ops.math_ops": {"add_v2": "regrad.ops.math:add", "matvec": "regrad.ops.linalg:matvec",
                                       "cumulative_logsumexp": "regrad.ops.cumulative:cumulative_logsumexp",
                                       "reduced_shape": _reduced_shape,
                                       "_as_indexed_slices": _as_indexed_slices},
    "tensorflow.python.ops.variables": {"VariableV1": "regrad.variables.variable:Variable",
                                        "PartitionedVariable": "regrad.variables.partition:PartitionedVariable",
                                        "RefVariable": "regrad.variables.variable:Variable"},
    "tensorflow.python.ops.variable_scope": {"variable": "regrad.variables.variable:Variable",
                                             "_pure_variable_scope": _pure_variable_scope,
                                             "_get_default_variable_store": "regrad.variables.scope:_store",
                                             "variable_creator_scope_v1": "regrad.variables.variable:variable_creator_scope"},
    "tensorflow.python.ops.resource_variable_ops": {
        "ResourceVariable": "regrad.variables.variable:Variable",
        "is_resource_variable": lambda v: type(v).__name__ == "Variable",
        "assign_variable_op": _update_of_storage("assign_op"), "assign_add_variable_op": _update_of_storage("assignadd_op"),
        "assign_sub_variable_op": _update_of_storage("assignsub_op"), "read_variable_op": _read_storage},
    "tensorflow.python.distribute.summary_op_util": {"skip_summary": _no},
    "tensorflow.python.ops.summary_op_util": {
        "collect": _collect, "skip_summary": _no, "clean_tag": "regrad.ops.summary:_clean",
        "summary_scope": "regrad.ops.summary:summary_scope"},
    "tensorflow.contrib.framework": {
        "deprecated": "regrad.compat.decorators:deprecated", "deprecated_args": "regrad.compat.decorators:deprecated_args",
        "deprecated_arg_values": "regrad.compat.decorators:deprecated_arg_values",
        "remove_squeezable_dimensions": _without_last_axis, "prepend_name_scope": _prepend_name_scope,
        "strip_name_scope": _strip_name_scope},
    "tensorflow.python.ops.functional_ops": {
        "symbolic_gradient": "regrad.autodiff.defun:symbolic_gradient", "If": _functional_if, "While": _functional_while,
        "For": _functional_for},
    "tensorflow.python.lib.io.file_io": {
        "FileIO": "regrad.gfile:GFile", "file_exists": "regrad.gfile:Exists", "delete_file": "regrad.gfile:Remove",
        "create_dir": "regrad.gfile:MkDir", "recursive_create_dir": "regrad.gfile:MakeDirs", "copy": "regrad.gfile:Copy",
        "rename": "regrad.gfile:Rename", "delete_recursively": "regrad.gfile:DeleteRecursively",
        "is_directory": "regrad.gfile:IsDirectory", "list_directory": "regrad.gfile:ListDirectory",
        "walk": "regrad.gfile:Walk", "stat": "regrad.gfile:Stat", "get_matching_files": "regrad.gfile:Glob",
        "write_string_to_file": _write_text, "atomic_write_string_to_file": _write_text_anew,
        "read_file_to_string": _read_text},
    "tensorflow.python.training.evaluation": {
        "_StopAfterNEvalsHook": "regrad.train.evaluation:StopAfterNEvalsHook",
        "_evaluate_once": "regrad.train.evaluation:evaluate_once",
        "_get_or_create_eval_step": "regrad.train.evaluation:get_or_create_eval_step"},
    "tensorflow.python.framework.device_spec": {"DeviceSpecV1": "regrad.core.device:DeviceSpec"},
    "tensorflow.python.ops.linalg.linear_operator_util": {
        "matrix_triangular_solve_with_broadcast": "regrad.ops.linalg:matrix_triangular_solve",
        "matrix_solve_with_broadcast": "regrad.ops.linalg:matrix_solve", "cholesky_solve_with_broadcast":
        "regrad.ops.linalg:cholesky_solve", "matmul_with_broadcast": "regrad.ops.matmul:matmul"},
    "tensorflow.python.util.lazy_loader": {"LazyLoader": _LazyLoader},
    "tensorflow.python.util.nest": {"_is_namedtuple": lambda x, strict=False: isinstance(x, tuple) and hasattr(x, "_fields")},
    "tensorflow.python.util.tf_inspect": {"getfullargspec": _argspec, "getargspec": _argspec},
    "tensorflow.python.util.all_util": {"make_all": _public_names, "remove_undocumented": _nothing},
    "tensorflow.python.training.monitored_session": {"_HookedSession": "regrad.train.monitored:_HookedSession"},
    "tensorflow.python.tpu.tpu_function": {"get_tpu_context": lambda: types.SimpleNamespace(number_of_shards=None)},
    "tensorflow.python.pywrap_tensorflow": {"EventsWriter": "regrad.train.event_files:EventsWriter"},
    "tensorflow.python.tf2": {"enabled": _no, "enable": _init_scope_only, "disable": _nothing},
}
EXTRAS["tensorflow.compat.v1"] = EXTRAS["tensorflow"]
EXTRAS["tensorflow.compat.v2"] = EXTRAS["tensorflow"]
EXTRAS["tensorflow.compat.v2.random"] = {"poisson": "regrad.compat.v2:poisson"}
EXTRAS["tensorflow.compat.v2.math"] = {"argmax": "regrad.compat.v2:argmax", "argmin": "regrad.compat.v2:argmin"}
