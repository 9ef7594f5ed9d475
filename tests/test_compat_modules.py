"""TensorFlow's module tree: every entry of the table leads somewhere, and tests written on it run."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import regrad as tf
from regrad.compat.modules import EXTRAS, MODULES
from regrad.compat.tensorflow import _lookup
from regrad.core.absent import ABSENT


def test_the_table_leads_somewhere():
    for target in sorted({t for t in MODULES.values() if t and t != "generated"}):
        importlib.import_module(target)
    for module, names in EXTRAS.items():
        assert module in MODULES
        for name, value in names.items():
            if isinstance(value, str) and ":" in value:
                where, _, attribute = value.partition(":")
                assert hasattr(importlib.import_module(where), attribute), (module, name)


NAMES = {
    "framework.ops": """Graph Tensor Operation IndexedSlices GraphKeys get_default_graph reset_default_graph name_scope
        control_dependencies convert_to_tensor convert_n_to_tensor register_tensor_conversion_function RegisterGradient
        NotDifferentiable get_gradient_function colocate_with device add_to_collection get_all_collection_keys
        strip_name_scope prepend_name_scope executing_eagerly_outside_functions uid""",
    "framework.constant_op": "constant constant_v1",
    "framework.dtypes": "float32 as_dtype DType",
    "framework.errors_impl": "OpError InvalidArgumentError FailedPreconditionError",
    "framework.tensor_shape": "TensorShape Dimension unknown_shape scalar vector matrix as_shape as_dimension",
    "framework.tensor_util": "constant_value constant_value_as_shape is_tensor",
    "framework.random_seed": "set_random_seed get_seed DEFAULT_GRAPH_SEED",
    "framework.test_util": "TensorFlowTestCase run_deprecated_v1 run_in_graph_and_eager_modes assert_ops_in_graph",
    "framework.importer": "import_graph_def",
    "client.device_lib": "list_local_devices",
    "client.session": "Session InteractiveSession register_session_run_conversion_functions",
    "eager.context": "executing_eagerly graph_mode",
    "ops.array_ops": "placeholder identity zeros shape_internal strided_slice gather where mirror_pad unique",
    "ops.math_ops": "matmul add cast reduce_sum mul_no_nan reduced_shape prod sigmoid_grad",
    "ops.nn_ops": "relu softmax relu_grad conv2d conv2d_backprop_input max_pool_grad bias_add",
    "ops.nn_grad": "_ReluGrad _BiasAddGrad",
    "ops.math_grad": "_TanhGrad",
    "ops.control_flow_ops": "cond case while_loop group with_dependencies no_op tuple Assert",
    "ops.functional_ops": "map_fn foldl foldr scan",
    "ops.gradients_impl": "gradients hessians",
    "ops.gradient_checker": "compute_gradient compute_gradient_error",
    "ops.gradient_checker_v2": "compute_gradient max_error",
    "ops.variables": "Variable VariableV1 global_variables_initializer trainable_variables PartitionedVariable",
    "training.evaluation": "_StopAfterNEvalsHook _evaluate_once _get_or_create_eval_step",
    "ops.metrics_impl": "accuracy metric_variable _remove_squeezable_dimensions _confusion_matrix_at_thresholds",
    "client.timeline": "Timeline",
    "ops.variable_scope": "variable variable_scope get_variable VariableScope AUTO_REUSE get_variable_scope",
    "ops.resource_variable_ops": "ResourceVariable is_resource_variable",
    "ops.state_ops": "assign assign_add scatter_update count_up_to",
    "ops.partitioned_variables": "fixed_size_partitioner variable_axis_size_partitioner",
    "ops.init_ops": "zeros_initializer constant_initializer VarianceScaling",
    "ops.tensor_array_ops": "TensorArray",
    "ops.template": "make_template",
    "ops.losses.losses_impl": "mean_squared_error Reduction",
    "ops.rnn": "dynamic_rnn static_rnn _transpose_batch_time _rnn_step",
    "ops.rnn_cell_impl": "LSTMCell BasicRNNCell LSTMStateTuple LayerRNNCell _Linear _WEIGHTS_VARIABLE_NAME",
    "ops.embedding_ops": "embedding_lookup _embedding_lookup_and_transform",
    "ops.nn_impl": "moments moments_v2 _compute_sampled_logits",
    "ops.check_ops": "assert_equal assert_rank",
    "ops.summary_op_util": "summary_scope collect skip_summary clean_tag",
    "tpu.tpu_function": "get_tpu_context",
    "training.adam": "AdamOptimizer",
    "training.saver": "Saver latest_checkpoint",
    "training.learning_rate_decay": "exponential_decay",
    "training.moving_averages": "ExponentialMovingAverage assign_moving_average weighted_moving_average",
    "training.slot_creator": "create_slot create_zeros_slot",
    "training.training_util": "get_or_create_global_step",
    "layers.core": "Dense dense",
    "layers.utils": "smart_cond normalize_tuple conv_output_length",
    "platform.test": "TestCase main mock Benchmark get_temp_dir",
    "platform.googletest": "main",
    "util.nest": "flatten map_structure",
    "util.compat": "as_bytes as_str_any",
    "util.tf_inspect": "signature",
    "lib.io.file_io": "file_exists FileIO",
}


CONTRIB = {
    "framework.python.framework": "is_tensor list_variables",
    "layers.python.layers.optimizers": "optimize_loss OPTIMIZER_CLS_NAMES",
    "distributions.python.ops": "Normal",
    "distributions.python.ops.bijectors": "Chain Exp",
}


@pytest.mark.parametrize("module", CONTRIB)
def test_names_of_contributed_modules(module):
    for name in CONTRIB[module].split():
        assert _lookup(f"tensorflow.contrib.{module}", name) is not None


@pytest.mark.parametrize("module", NAMES)
def test_names_of_inner_modules(module):
    found = importlib.import_module(f"regrad.python.{module}")
    missing = [name for name in NAMES[module].split() if not hasattr(found, name)]
    assert missing == []


PROGRAM = '''
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op, dtypes, errors_impl, ops, test_util
from tensorflow.python.ops import array_ops, check_ops, gradient_checker, gradients_impl, math_ops, variables
from tensorflow.python.platform import test


class InnerModules(test.TestCase):

    @test_util.run_deprecated_v1
    def testGradients(self):
        with self.cached_session():
            x = constant_op.constant([1.0, 2.0], dtype=dtypes.float64)
            y = math_ops.square(x)
            self.assertAllClose([2.0, 4.0], gradients_impl.gradients(y, x)[0])
            self.assertLess(gradient_checker.compute_gradient_error(x, [2], y, [2]), 1e-6)

    @test_util.run_in_graph_and_eager_modes
    def testVariableLastsForTheTest(self):
        v = variables.VariableV1([1.0])
        self.evaluate(variables.global_variables_initializer())
        self.evaluate(v.assign_add([1.0]))
        self.assertAllEqual([2.0], self.evaluate(v))
        self.assertFalse(context.executing_eagerly())

    def testOpErrors(self):
        x = array_ops.placeholder(dtypes.float32)
        with self.session() as sess, ops.control_dependencies([check_ops.assert_positive(x)]):
            y = array_ops.identity(x)
            with self.assertRaisesOpError("x > 0"):
                sess.run(y, {x: -1.0})
            with self.assertRaises(errors_impl.InvalidArgumentError):
                sess.run(y, {x: -1.0})

    @test_util.run_gpu_only
    def testOnGPU(self):
        raise AssertionError


assert tf.compat.v1.Session is tf.Session
test.main()
'''


def test_a_test_on_inner_modules(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "regrad", "run", str(tmp_path / "program.py")], capture_output=True, text=True)
    assert "Ran 5 tests" in done.stderr and "OK (skipped=2)" in done.stderr, done.stderr


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_what_is_left_out_says_what_to_do(name):
    space, _, leaf = name.rpartition(".")
    regrad = importlib.import_module(f"regrad.{space}" if space else "regrad")
    with pytest.raises(AttributeError) as told:
        getattr(regrad, leaf)
    assert ABSENT[name] in str(told.value)
    with pytest.raises(AttributeError) as told:
        _lookup(f"tensorflow.{space}" if space else "tensorflow", leaf)
    assert ABSENT[name] in str(told.value)


def test_modules_that_packages_lean_on():
    ops = importlib.import_module("regrad.python.framework.ops")
    util = importlib.import_module("regrad.python.ops.summary_op_util")
    assert ops.uid() < ops.uid()
    assert ops.convert_to_tensor(3, None, "three", False).op.name == "three"  # `as_ref` stands before what is preferred
    with tf.name_scope("net"), util.summary_scope("a b", "family") as (tag, scope):
        assert (tag, scope) == ("family/net/family/a_b", "net/family/a_b/")
    util.collect(3, None, ["those"])
    assert tf.get_collection("those") == [3]
    assert tf.get_default_graph()._get_control_flow_context() is None
    assert importlib.import_module("regrad.python.tpu.tpu_function").get_tpu_context().number_of_shards is None


def test_contrib_framework():
    framework = _lookup("tensorflow.contrib", "framework")
    with tf.variable_scope("net"):
        v, x = framework.global_variable(1.0, name="v"), tf.placeholder(tf.float32, [3], name="x")
        assert framework.get_name_scope() == "net"
    assert framework.get_variables_by_suffix("v") == [v] and framework.get_variable_full_name(v) == "net/v"
    assert framework.get_placeholders(x.graph) == [x] and framework.get_graph_from_inputs([x]) is x.graph
    assert framework.smart_cond(v > 0.0, lambda: x, lambda: -x, name="either").op.name == "either/Merge"
    with pytest.raises(ValueError, match="integer type"):
        framework.assert_scalar_int(1.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        flag = tf.get_variable("flag", initializer=True)
        sess.run(flag.initializer)
        total = framework.reduce_sum_n([x, tf.ones([2, 2])])
        chosen = framework.smart_cond(flag, lambda: 1, lambda: 2), framework.smart_cond(False, tf.no_op, lambda: tf.constant(2))
        assert sess.run([total, *chosen], {x: [1.0, 2.0, 3.0]}) == [10.0, 1, 2]


def test_what_model_functions_are_written_with():
    estimator = tf.estimator
    spec = estimator.EstimatorSpec(estimator.ModeKeys.PREDICT, predictions={"p": (p := tf.constant(1.0))})
    assert spec.mode == "infer" and spec.predictions == {"p": p} and spec.training_hooks == ()
    with pytest.raises(ValueError, match="Missing train_op"):
        estimator.EstimatorSpec(estimator.ModeKeys.TRAIN, loss=1.0)
    assert issubclass(estimator.LoggingTensorHook, tf.train.SessionRunHook)

    @tf.autograph.experimental.do_not_convert()
    def f():
        return 3

    assert f() == tf.autograph.do_not_convert(f)() == 3


def test_tensor_spec():
    spec = tf.TensorSpec([None, 3], name="x")
    assert repr(spec) == "TensorSpec(shape=(?, 3), dtype=tf.float32, name='x')" and spec == tf.TensorSpec.from_spec(spec)
    assert spec.is_compatible_with(tf.zeros([2, 3])) and not spec.is_compatible_with(tf.zeros([2, 4]))
    assert not spec.is_compatible_with(tf.TensorSpec([2, 3], tf.int32)) and not spec.is_compatible_with([1.0])
    assert len({spec, tf.TensorSpec((None, 3), tf.float32, "x"), tf.TensorSpec.from_tensor(tf.zeros([2], name="q"))}) == 2


def test_a_part_of_a_checkpoint_is_read_by_an_operation(tmp_path):
    restore = importlib.import_module("regrad.python.ops.io_ops").restore_v2
    tf.get_variable("v", initializer=np.arange(6.0).reshape(3, 2))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        whole, rows = sess.run(restore(path, ["v", "v"], ["", "3 2 1,2:-"], [tf.float64, tf.float32]))
    assert whole.shape == (3, 2) and rows.tolist() == [[2, 3], [4, 5]] and rows.dtype == np.float32


def test_one_replica():
    context = importlib.import_module("regrad.python.distribute.distribution_strategy_context")
    assert not tf.distribute.has_strategy() and not context.in_cross_replica_context()
    assert tf.distribute.get_strategy().num_replicas_in_sync == 1
    assert context.get_replica_context().merge_call(lambda strategy, x: strategy.update(x, lambda v: v + 1), (3,)) == 4
    with tf.Session() as sess:
        assert sess.run(tf.distribute.get_strategy().reduce(tf.distribute.ReduceOp.MEAN, tf.constant([1.0, 3.0]), 0)) == 2.0
    with pytest.raises(NotImplementedError, match="one process"):
        tf.distribute.MirroredStrategy()


def test_raw_ops_lists_op_types():
    assert {"MatMul", "Relu", "While"} <= set(dir(tf.raw_ops)) and tf.raw_ops.Relu(features=1.0).op.type == "Relu"


def test_local_devices():
    devices = _lookup("tensorflow.python.client.device_lib", "list_local_devices")()
    assert [(d.name, d.physical_device_desc) for d in devices if d.device_type == "CPU"][:1] == [("/device:CPU:0", "")]


def test_settings_of_keras_and_values_in_the_default_session():
    backend = tf.keras.backend
    assert (backend.epsilon(), backend.floatx(), backend.image_data_format()) == (1e-7, "float32", "channels_last")
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    assert backend.int_shape(v) == (2,) and backend.ndim(v) == 1 and backend.dtype(v) == "float32"
    with tf.Session() as sess:
        backend.set_value(v, [3, 4])
        assert backend.get_value(v).tolist() == [3.0, 4.0] and backend.get_session() is sess
    for refused in (lambda: backend.set_floatx("int8"), lambda: backend.set_image_data_format("NHWC")):
        with pytest.raises(ValueError, match="Unknown"):
            refused()


def test_a_session_that_hooks_take_part_in():
    class Doubles(tf.train.SessionRunHook):
        def before_run(self, context):
            return tf.train.SessionRunArgs(y)

        def after_run(self, context, values):
            seen.append(values.results)
            context.request_stop()

    seen, x = [], tf.placeholder(tf.float32)
    y = x * 2.0
    with tf.Session() as sess:
        hooked = _lookup("tensorflow.python.training.monitored_session", "_HookedSession")(sess, [Doubles()])
        assert hooked.run(x, {x: 3.0}) == 3.0 and seen == [6.0] and hooked.should_stop() and hooked.graph is sess.graph


def test_programs_may_ask_about_an_optimizer_of_many_workers():
    found = importlib.import_module("regrad.python.training.sync_replicas_optimizer").SyncReplicasOptimizer
    assert not isinstance(tf.train.AdamOptimizer(), found) and found is tf.train.SyncReplicasOptimizer


def test_what_cells_of_other_packages_are_made_of():
    from regrad.compat import nn

    x, state, lengths = tf.ones([3, 4]), tf.fill([3, 2], 0.5), tf.constant([1, 2, 3])
    cell = tf.nn.rnn_cell.GRUCell(2)
    steps = [nn.rnn_step(tf.constant(1), lengths, tf.reduce_min(lengths), tf.reduce_max(lengths), tf.zeros([3, 2]), state,
                         lambda: cell(x, state), 2, skip) for skip in (False, True)]
    turned = tf.stack(nn.reverse_seq([tf.constant([[1.0], [2.0]]), tf.constant([[3.0], [4.0]])], [1, 2]))
    linear = tf.contrib.rnn.OutputProjectionWrapper  # loads the module
    from regrad.contrib.cells import Linear

    assert linear and nn.best_effort_input_batch_size([tf.placeholder(tf.float32, [None, 3, 4])]) == 3
    assert nn.joined_sizes(3, [4, None], static=True) == [3, 4, None]
    assert nn.infer_state_dtype(None, (x, state)) is tf.float32 and nn.infer_state_dtype(tf.int32, None) is tf.int32
    for wrong, error in ((lambda: nn.infer_state_dtype(None, (x, lengths)), ValueError),
                         (lambda: nn.assert_like_rnncell("cell", 3), TypeError), (lambda: Linear([], 2, True), ValueError)):
        with pytest.raises(error):
            wrong()
    with tf.variable_scope("shared", initializer=tf.ones_initializer()):
        product = Linear([x, state], 2, False)
    slim = nn.SlimRNNCell(lambda inputs, state, scope=None: (tf.zeros([1, 2]),) * 2 if state is None else (inputs, state + 1))
    assert (slim.output_size, slim.state_size) == (2, 2)
    conv = nn.Convolution(None, None, "SAME", strides=(2, 2))(tf.ones([1, 5, 5, 2]), tf.ones([3, 3, 2, 4]))
    assert conv.shape.as_list() == [1, 3, 3, 4]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for output, after in sess.run(steps):
            assert (output[0] == 0).all() and (after[0] == 0.5).all() and (output[1:] == after[1:]).all()
            assert (output[1:] != 0).all()
        np.testing.assert_array_equal(sess.run(turned)[:, :, 0], [[1, 4], [3, 2]])
        np.testing.assert_array_equal(sess.run([product([x, state]), product([2 * x, state])]),
                                      [np.full((3, 2), 5), np.full((3, 2), 9)])
        np.testing.assert_array_equal(sess.run(nn.joined_sizes(tf.constant(3), 4)), [3, 4])
        np.testing.assert_array_equal(sess.run(nn.embedding_lookup_and_transform(np.eye(3), [2], transform_fn=lambda r: 2 * r)),
                                      [[0, 0, 2]])


def test_numbers_of_axes_and_sizes_in_another_order():
    from regrad.compat import nn

    fetches = [nn.data_format_dim_map(tf.constant([[1, -3], [1, -1]])), nn.data_format_dim_map([0, 1, -1], "NHWC", "HWNC"),
               nn.data_format_vec_permute(tf.constant([7, 4, 9, 3])), nn.data_format_vec_permute([4, 9], "NHWC", "NCWH"),
               nn.data_format_vec_permute([[7, 4], [9, 3], [4, 5], [5, 1]])]
    with tf.Session() as sess:
        for got, wanted in zip(sess.run(fetches), ([[2, 2], [2, 1]], [2, 0, 3], [7, 3, 4, 9], [9, 4],
                                                   [[7, 4], [5, 1], [9, 3], [4, 5]])):
            np.testing.assert_array_equal(got, wanted)
    for source, wanted, says in (("12345678", "NCHW", "Source format must be"), ("NHWC", "NN", "Destination format must be"),
                                 ("NHWC", "NCHH", "must determine a permutation")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            nn.data_format_dim_map([0], source, wanted)


@pytest.mark.parametrize("training", [True, False])
def test_the_gradient_of_batch_normalisation_may_be_asked_for(training):
    from regrad.python.ops import nn_grad

    x, dy = (tf.constant(np.random.RandomState(i).rand(2, 3, 2, 2), tf.float32) for i in (0, 1))
    scale, offset, mean = tf.constant([1.0, 2.0]), tf.constant([0.5, 0.0]), tf.constant([0.2, 0.3])
    given = {} if training else {"mean": mean, "variance": scale}
    y, _, _ = tf.nn.fused_batch_norm(x, scale, offset, is_training=training, **given)
    asked = nn_grad._BatchNormGrad(dy, x, scale, mean, scale, y.op.get_attr("epsilon"), y.op.get_attr("data_format"), training)
    with tf.Session() as sess:
        for a, b in zip(*sess.run([list(asked), tf.gradients(y, [x, scale, offset], dy)])):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_rules_are_exchanged_in_tensorflows_private_dictionary():
    # As SHAP does around a call of tf.gradients, and notebooks that register a name again.
    rules = EXTRAS["tensorflow.python.framework.ops"]["_gradient_registry"]._registry
    x = tf.constant(0.5)
    y, run = tf.tanh(x), tf.Session().run
    own = rules["Tanh"]["type"]
    rules["shap_Tanh"] = {"type": lambda op, dy: 9.0 * dy, "location": rules["Tanh"]["location"]}
    try:
        rules["Tanh"]["type"] = rules["shap_Tanh"]["type"]
        assert run(tf.gradients(y, x)) == [9.0]
    finally:
        rules["Tanh"]["type"] = own
    assert run(tf.gradients(y, x)) == [pytest.approx(1 - np.tanh(0.5) ** 2)]

    del rules["shap_Tanh"]
    assert "shap_Tanh" not in rules and "Tanh" in rules and len(rules) == len(list(rules)) > 300
    with pytest.raises(KeyError):
        rules.pop("shap_Tanh")
    tf.RegisterGradient("shap_Tanh")(lambda op, dy: dy)
    del rules["shap_Tanh"]
