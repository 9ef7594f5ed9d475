"""Remedies in errors: what a message says to do is done, and helps."""

import re

import pytest

import regrad as tf

VALUES = {"float32": [1.5, 2.5], "int32": [1, 2], "float64": [1.5, 2.5], "bool": [True, False], "complex64": [1j, 2.0]}
OPERATIONS = {"add": lambda x, y: tf.add(x, y), "multiply": lambda x, y: tf.multiply(x, y), "less": lambda x, y: tf.less(x, y),
              "pow": lambda x, y: tf.pow(x, y), "floormod": lambda x, y: tf.floormod(x, y),
              "squared_difference": lambda x, y: tf.squared_difference(x, y), "maximum": lambda x, y: tf.maximum(x, y)}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_cast_that_is_proposed_helps(name):
    tried = 0
    for a in VALUES:
        for b in VALUES:
            x, y = tf.constant(VALUES[a], a), tf.constant(VALUES[b], b)
            try:
                OPERATIONS[name](x, y)
                continue
            except TypeError as error:
                found = re.search(r"; (tf\.cast\((?:x|y), tf\.\w+\)) converts", str(error))
            if found is None:  # the operation takes no such dtype at all
                continue
            names = {"tf": tf, "x": x, "y": y}
            operand = found[1][8]
            names[operand] = eval(found[1], names)
            assert {a, b} == {names["x"].dtype.name, names["y"].dtype.name} | {a if operand == "x" else b}
            widest = max((a, b), key=["bool", "int32", "float32", "float64", "complex64"].index)
            if {a, b} != {"float32", "float64"} and {a, b} != {"float64", "complex64"}:
                assert names["x"].dtype.name == widest, (a, b)
            try:
                OPERATIONS[name](names["x"], names["y"])
            except TypeError as error:
                assert "not in list of allowed values" in str(error), (a, b)
            tried += 1
    assert tried >= 4


def test_a_variable_keeps_its_dtype():
    v = tf.Variable([1, 2])
    for assign in (tf.assign, tf.assign_add):
        with pytest.raises(TypeError, match=r"tf\.cast\(value, tf\.int32\) converts"):
            assign(v, tf.constant([1.5, 2.5]))


def test_how_a_value_is_had_names_the_placeholders():
    x, z = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="z")
    y = tf.multiply(x, z, name="y")
    w = tf.Variable(1.0, name="w")
    for use in (float, lambda t: t.numpy(), lambda t: t.item(), lambda t: f"{t:.2f}", int):
        for t, words in ((y, "sess.run(y, feed_dict={x: value, z: value}) gives it for values of the placeholders 'x', 'z'"),
                         (x, "it is a placeholder, and its value is the one that you feed"),
                         (tf.constant(1.0, name="c"), "sess.run(c"), (w, "sess.run(w) gives it")):
            with pytest.raises((TypeError, AttributeError), match=re.escape(words)):
                use(t)
    with pytest.raises(TypeError, match="inside of a function.*let the function return it"):
        tf.while_loop(lambda i: i < 3, lambda i: float(i * 2) + i, [0])
