"""Every Python block of the README and of docs/, and every example of a docstring, runs as it stands."""

import ast
import inspect
import operator
import pathlib
import re
import textwrap
import warnings

import numpy as np
import pytest

import regrad as tf
from regrad import compat

ROOT = pathlib.Path(__file__).parents[1]
BLOCKS = [
    pytest.param(path, match.group(1), id=f"{path.name}:{text[:match.start()].count(chr(10)) + 1}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for text in [path.read_text()]
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)
    if "define_op(" not in match.group(1) or "import" in match.group(1)
]

# The names that programs use most, counted in scripts that others wrote, and those that change or explain a gradient.
WITH_EXAMPLES = """
    constant placeholder gradients Variable ones Session reduce_sum get_variable matmul reshape cast reduce_mean
    variable_scope while_loop cond square global_variables_initializer RegisterGradient gradient_override_map overriding
    attach View view_gradients Override set_graph_rule grouped reverse_gradient scale_gradient clip_gradient mask_gradient
    zero_gradient normalize_gradient substitute straight_through spike custom_gradient grad_pass_through recompute_grad
    explain_gradients audit compare diagnose why_none jacobian batch_jacobian hessians hessian_vector_product
    forward_gradients combine_gradients pcgrad concat zeros identity get_default_graph shape control_dependencies py_func
    gather where name_scope nn.relu exp nn.conv2d stack train.AdamOptimizer train.GradientDescentOptimizer
    train.MomentumOptimizer clip_by_value convert_to_tensor zeros_like ones_like TensorShape argmax stop_gradient Graph
    expand_dims abs nn.max_pool range pad trainable_variables global_variables split sin tanh sqrt log sigmoid sign
    get_collection one_hot assign assign_add equal placeholder_with_default map_fn scan transpose slice random_uniform
    random_normal add tile squeeze fill maximum nn.softmax nn.bias_add nn.sparse_softmax_cross_entropy_with_logits
    IndexedSlices norm reduce_max add_n group clip_by_global_norm SparseTensor TensorArray constant_initializer
    zeros_initializer ones_initializer no_op device layers.Dense layers.BatchNormalization nn.embedding_lookup train.Saver
    tensordot train.get_or_create_global_step gather_nd nn.avg_pool import_graph_def round unstack
    nn.softmax_cross_entropy_with_logits_v2 add_to_collection reverse cumsum nn.dropout reduce_min minimum multiply subtract
    negative einsum nn.top_k
""".split()


def _examples(doc):
    """Returns the code under each "Example:" of a docstring."""
    return [textwrap.dedent(code) for code in re.findall(r"^Example:\n((?:(?: .*)?\n)+)", inspect.cleandoc(doc) + "\n", re.M)]


def _docstrings():
    """Yields (path, name, docstring) of the functions and classes that have an example."""
    for path in sorted(pathlib.Path(tf.__file__).parent.rglob("*.py")):
        text = path.read_text()
        if "Example:\n" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and "Example:\n" in (ast.get_docstring(node) or ""):
                    yield path, node.name, ast.get_docstring(node)


EXAMPLES = [pytest.param(path, code, id=f"{path.stem}.{name}")
            for path, name, doc in _docstrings() for code in _examples(doc)]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs code in a graph of its own and returns the words it printed and those promised after `#>`."""

    def run(path, code, **names):
        monkeypatch.chdir(tmp_path)
        try:
            with tf.Graph().as_default(), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(compile(code, f"<{path.name}>", "exec"), {"__name__": "__main__"} | names)
        finally:
            compat.uninstall()
        return capsys.readouterr().out.split(), " ".join(re.findall(r"^#>(.*)", code, re.M)).split()

    return run


@pytest.mark.parametrize(("path", "code"), BLOCKS)
def test_block_runs_and_prints_what_stands_there(path, code, run):
    printed, promised = run(path, code)
    assert printed == promised or not promised


@pytest.mark.parametrize(("path", "code"), EXAMPLES)
def test_example_of_a_docstring_runs_and_prints_what_stands_there(path, code, run):
    printed, promised = run(path, code, tf=tf, np=np)
    assert printed == promised != []


def test_the_names_used_most_have_examples():
    assert [name for name in WITH_EXAMPLES if not _examples(operator.attrgetter(name)(tf).__doc__)] == []
    assert len(EXAMPLES) >= len(set(WITH_EXAMPLES)) == len(WITH_EXAMPLES)


def test_there_are_blocks():
    assert len(BLOCKS) >= 4


def _outside_blocks(path):
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)


def _anchors(path):
    """The names that headings have in links."""
    headings = re.findall(r"^#+ (.*)$", _outside_blocks(path), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_links_lead_somewhere_and_every_page_is_reached_from_the_readme():
    reached, waiting, broken = set(), [ROOT / "README.md"], []
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for link in re.findall(r"\]\(([^)\s]+)\)", _outside_blocks(page)):
            if not link.startswith("http"):
                file, _, anchor = link.partition("#")
                target = (page.parent / file).resolve() if file else page
                if not target.exists() or anchor and target.suffix == ".md" and anchor not in _anchors(target):
                    broken.append((page.name, link))
                waiting.append(target)
    assert broken == []
    assert set((ROOT / "docs").glob("*.md")) <= reached
