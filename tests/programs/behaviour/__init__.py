"""Behaviour of TensorFlow 1's API, as tables: an id, a few lines of code, and what they leave in `result`.

TensorFlow's answers are recorded in `expected/behaviour_<table>.json`; a row with `expect=` holds the answer
itself, where later versions differ from 1.15, and a row with `raises=` the error and a word of it.
"""
from behaviour import (corners, dtypes, errors, fit, flow, framework, grad_points, grad_rules, graphs, keeping, keras, kernels, names,
                       nn, scopes, sessions, shapes, training, values)

MODULES = (names, scopes, shapes, dtypes, errors, sessions, values, grad_points, grad_rules, flow, training,
           nn, keras, fit, framework, kernels, graphs, corners, keeping)
TABLES = {module.__name__.rpartition(".")[2]: module.ROWS for module in MODULES}
