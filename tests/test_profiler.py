"""tf.profiler: what is printed and refused; the counts themselves are rows of tests/programs/behaviour/framework.py."""
import pytest

import regrad as tf

OPTIONS = tf.profiler.ProfileOptionBuilder


def network():
    with tf.variable_scope("net"):
        y = tf.matmul(tf.ones([2, 3]), tf.get_variable("w", [3, 4]))
    return tf.nn.softmax(y)


def test_tables(capsys, tmp_path):
    network()
    tf.profiler.profile()
    assert capsys.readouterr().out == "\n".join([
        "", "Profile:", "node name | # parameters", "_TFProfRoot (--/12 params)", "  net (--/12 params)",
        "    net/w (3x4, 12/12 params)", "", ""])
    path = tmp_path / "table"
    options = OPTIONS(OPTIONS.float_operation()).with_file_output(str(path)).with_min_float_operations(40).build()
    root = tf.profiler.profile(cmd="op", options=options)
    assert capsys.readouterr().out == "" and "MatMul                      48 float_ops\n" in path.read_text()
    assert (root.total_float_ops, root.children[0].name, root.children[0].float_ops) == (88, "MatMul", 48)
    assert root.children[0].children[0].name == "Softmax"
    by_slim = tf.contrib.tfprof.model_analyzer
    by_slim.print_model_analysis(tf.get_default_graph(), tfprof_options=by_slim.TRAINABLE_VARS_PARAMS_STAT_OPTIONS)
    assert "net/w (3x4, 12/12 params)" in capsys.readouterr().out


def test_what_has_no_shape_is_left_out_and_said(capsys):
    tf.nn.relu(tf.placeholder(tf.float32, [None, 2]) + 1.0)
    root = tf.profiler.profile(options=OPTIONS(OPTIONS.float_operation()).with_empty_output().build())
    assert root.total_float_ops == 0 and root.children == []
    assert capsys.readouterr().err == "1 ops no flops stats due to incomplete shapes.\n"


def test_refusals():
    with pytest.raises(ValueError, match="ProfilerHook"):
        OPTIONS.time_and_memory()
    with pytest.raises(ValueError, match="'scope' or|\"scope\""):
        tf.profiler.profile(cmd="code")
    with pytest.raises(ValueError, match="'bytes'] is not counted"):
        tf.profiler.profile(options=OPTIONS().select(["bytes"]).build())


def test_slim_analyses(capsys):
    network()
    analyzer = tf.contrib.slim.model_analyzer
    assert analyzer.analyze_vars(tf.trainable_variables(), print_info=True) == (12, 48)
    assert "net/w:0 (float32 3x4) [12, bytes: 48]" in capsys.readouterr().out
    total = analyzer.analyze_ops(tf.get_default_graph(), print_info=True)
    assert f"Total number of elements: {total}" in capsys.readouterr().out and total > 12
