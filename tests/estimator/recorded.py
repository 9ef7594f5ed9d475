"""Estimators: programs for both systems (see `tests/recorded.py`).

TensorFlow 2.15 was the last to have them: `TF_USE_LEGACY_KERAS=0 python tests/recorded.py estimator` with it, its own Keras
being old enough. Other versions leave the records as they are.
"""
import glob
import os
import re
import tempfile

import numpy as np

from tests.recorded import refusal

NEEDS = ["estimator"]
X = np.random.RandomState(0).randn(50, 2).astype("float32")
Y = X @ np.array([1, -2], "float32")


def folder():
    """Returns a new folder, which goes when Python does."""
    made = tempfile.TemporaryDirectory()
    KEPT.append(made)
    return made.name


KEPT: list = []


def linear(tf):
    """Returns a model function with all that most have."""
    def model_fn(features, labels, mode, params):
        w = tf.get_variable("w", initializer=tf.constant([[0.1], [0.2]]))
        y = tf.squeeze(tf.matmul(features["x"], w), 1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"y": y, "x": features["x"]})
        loss = tf.reduce_mean(tf.square(y - labels), keepdims=True)
        op = tf.train.MomentumOptimizer(params["lr"], 0.5).minimize(loss, tf.train.get_global_step())
        tf.summary.scalar("mean", tf.reduce_mean(y))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op, eval_metric_ops={
            "mae": tf.metrics.mean_absolute_error(labels, y), "w": (w, tf.no_op())})

    return model_fn


def dataset(tf):
    """Returns an input function."""
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(20)


def arrays(tf, num_epochs=None, **settings):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, batch_size=8, num_epochs=num_epochs, shuffle=False, **settings)


def estimator(tf, **settings):
    settings = {"save_checkpoints_steps": 10, "keep_checkpoint_max": 2, "save_summary_steps": 5, "log_step_count_steps": None,
                **settings}
    return tf.estimator.Estimator(linear(tf), folder(), tf.estimator.RunConfig(**settings), params={"lr": 0.05})


def files(made):
    """Returns the names of the checkpoints' files and folders."""
    return sorted(n for n in os.listdir(made.model_dir) if not n.startswith("events"))


def events(tf, path):
    """Returns what event files say; at which step TensorFlow writes a summary is a race."""
    found = []
    for name in sorted(glob.glob(os.path.join(path, "events*"))):
        for event in tf.train.summary_iterator(name):
            if event.HasField("session_log"):
                found.append(f"{event.step} session {event.session_log.status}")
            found += [f"{v.tag} {v.WhichOneof('value')}" for v in event.summary.value]
    return sorted(line for line in found if not re.search("/sec|enqueue_input", line))


def training(tf):
    made = estimator(tf)
    made.train(arrays(tf), steps=25)
    first = {f"first_{n}": v for n, v in values_of(made).items()}
    first["first_eval"] = measured(made.evaluate(dataset(tf)))
    first["first_eval_steps"] = measured(made.evaluate(dataset(tf), steps=2, name="two", checkpoint_path=os.path.join(
        made.model_dir, "model.ckpt-20")))
    predicted = list(made.predict(dataset(tf)))
    first["first_y"] = np.array([p["y"] for p in predicted])
    first["first_x"] = np.array([p["x"] for p in predicted])
    batch = next(made.predict(dataset(tf), predict_keys=["y"], yield_single_examples=False))
    first["first_keys"], first["first_batch"] = sorted(batch), batch["y"]
    made.train(arrays(tf, num_epochs=2), max_steps=100)   # the data end before
    made.train(arrays(tf), max_steps=30)                  # nothing to do
    return {**first, **values_of(made), "files": files(made), "events": events(tf, made.model_dir),
            "events_eval": events(tf, made.eval_dir()), "events_two": events(tf, made.eval_dir("two")),
            "kept": [os.path.basename(p) for p in tf.train.get_checkpoint_state(made.model_dir).all_model_checkpoint_paths]}


def values_of(made):
    names = made.get_variable_names()
    return {"names": names, "values": np.concatenate([np.ravel(made.get_variable_value(n)).astype("float64") for n in names])}


def measured(results):
    return np.concatenate([np.ravel(results[name]).astype("float64") for name in sorted(results)])


def order(tf):
    """What happens around steps and saves, in this order."""
    seen: list = []

    class Hook(tf.train.SessionRunHook):
        def __init__(self, name):
            self.name = name

        def begin(self):
            seen.append(f"{self.name} begins")

        def after_create_session(self, session, coord):
            seen.append(f"{self.name} created")

        def after_run(self, run_context, run_values):
            seen.append(f"{self.name} ran")

        def end(self, session):
            seen.append(f"{self.name} ends")

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            seen.append("listener begins")

        def before_save(self, session, global_step_value):
            seen.append(f"before {global_step_value}")

        def after_save(self, session, global_step_value):
            seen.append(f"after {global_step_value}")

        def end(self, session, global_step_value):
            seen.append(f"listener ends {global_step_value}")

    def model_fn(features, mode):
        v = tf.get_variable("v", initializer=0.0)
        train = tf.group(tf.assign_add(v, 1.0), tf.assign_add(tf.train.get_global_step(), 1))
        return tf.estimator.EstimatorSpec(mode, v + 0.0, loss=v + 0.0 * features, train_op=train,
                                          training_hooks=[Hook("model")], training_chief_hooks=[Hook("chief")],
                                          evaluation_hooks=[Hook("evaluation")],
                                          prediction_hooks=[Hook("prediction")])

    made = tf.estimator.Estimator(model_fn, folder(), tf.estimator.RunConfig(save_checkpoints_steps=2))
    made.train(lambda: tf.constant(1.0), [Hook("given")], steps=3, saving_listeners=[Listener()])
    made.evaluate(lambda: tf.constant(1.0), 2, [Hook("given")])
    next(made.predict(lambda: tf.constant(1.0), hooks=[Hook("given")], yield_single_examples=False))
    return seen


def together(tf):
    """`train_and_evaluate`: when it evaluates, and what comes of it."""
    seen: list = []
    made = estimator(tf)

    class Hook(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            seen.append(f"evaluates {session.run(tf.train.get_global_step(session.graph))}")

    results, exported = tf.estimator.train_and_evaluate(
        made, tf.estimator.TrainSpec(arrays(tf), max_steps=25),
        tf.estimator.EvalSpec(dataset(tf), steps=None, hooks=[Hook()], throttle_secs=0))
    seen.append("again")
    later, _ = tf.estimator.train_and_evaluate(
        made, tf.estimator.TrainSpec(arrays(tf), max_steps=45),
        tf.estimator.EvalSpec(dataset(tf), steps=None, hooks=[Hook()], throttle_secs=600))
    return {"together": measured(results), "together_later": measured(later), "together_seen": [*seen, str(exported)],
            "together_files": files(made)}


def stopped(tf):
    """Where early stopping stops."""
    lines = []
    for name, hook in [("no_decrease", lambda e: tf.estimator.experimental.stop_if_no_decrease_hook(
            e, "mae", 10, run_every_secs=None, run_every_steps=1)), ("no_increase", lambda e: (
            tf.estimator.experimental.stop_if_no_increase_hook(e, "mae", 10, run_every_secs=None, run_every_steps=1))),
            ("lower", lambda e: tf.estimator.experimental.stop_if_lower_hook(
                e, "mae", 0.2, min_steps=5, run_every_secs=None, run_every_steps=1)),
            ("higher", lambda e: tf.estimator.experimental.stop_if_higher_hook(
                e, "loss", 10.0, run_every_secs=None, run_every_steps=1))]:
        made = estimator(tf)
        for _ in range(3):
            made.train(arrays(tf), [hook(made)], steps=10)
            made.evaluate(dataset(tf))
        lines.append(f"{name} {made.get_variable_value('global_step')}")
    return lines


def warm(tf):
    """Variables that begin with those of another estimator, words in another order."""
    def model_fn(features, mode, params):
        with tf.variable_scope(params["scope"]):
            tf.get_variable("w", [4, 2], initializer=tf.constant_initializer(params["start"]))
            tf.get_variable("words", [params["words"], 2], initializer=tf.constant_initializer(params["start"]))
        train = tf.assign_add(tf.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, tf.constant([0.0]), loss=tf.constant(0.0), train_op=train)

    where = folder()
    for name, words in ("old", "a b c"), ("new", "c x a"):
        with open(os.path.join(where, name), "w") as file:
            file.write("\n".join(words.split()) + "\n")

    def trained(scope, start, words=4, **settings):
        made = tf.estimator.Estimator(model_fn, folder(), params={"scope": scope, "start": start, "words": words}, **settings)
        return made.train(lambda: tf.constant(0.0), steps=1)

    old = trained("one", np.arange(8.0).tolist())
    vocabulary = tf.train.VocabInfo(os.path.join(where, "new"), 3, 2, os.path.join(where, "old"),
                                    backup_initializer=tf.ones_initializer())
    found = {
        "all": trained("one", -1.0, warm_start_from=old.model_dir),
        "some": trained("one", -1.0, warm_start_from=tf.estimator.WarmStartSettings(old.model_dir, ".*w$")),
        "renamed": trained("two", -1.0, 5, warm_start_from=tf.estimator.WarmStartSettings(
            old.latest_checkpoint(), ["two/w"], {"two/words": vocabulary}, {"two/w": "one/w", "two/words": "one/words"})),
    }
    return {f"warm_{name}": values_of(made)["values"] for name, made in found.items()}


def on_one_shard(tf):
    """A TPUEstimator without a TPU."""
    tpu = tf.estimator.tpu
    seen: list = []

    def input_fn(params):
        seen.append(f"input {sorted(params.items())}")
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat(2).batch(params["batch_size"])

    def model_fn(features, labels, mode, params):
        seen.append(f"model {sorted(params.items())}")
        w = tf.get_variable("w", initializer=tf.constant([[0.1], [0.2]]))
        y = tf.squeeze(tf.matmul(features["x"], w), 1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"y": y})
        loss = tf.reduce_mean(tf.square(y - labels))
        calls = tf.get_local_variable("calls", initializer=0)
        optimizer = tf.train.GradientDescentOptimizer(params["lr"])
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()),
            eval_metrics=(lambda y, labels: {"mae": tf.metrics.mean_absolute_error(labels, y)}, {"labels": labels, "y": y}),
            host_call=(lambda y: tf.assign_add(calls, tf.size(y)), [y]), training_hooks=[tf.train.FinalOpsHook(calls)])

    config = tpu.RunConfig(model_dir=folder(), tpu_config=tpu.TPUConfig(3, 8, per_host_input_for_training=False),
                           log_step_count_steps=2, save_summary_steps=50)
    made = tpu.TPUEstimator(model_fn, config=config, params={"lr": 0.1}, use_tpu=False, train_batch_size=8, eval_batch_size=30,
                            predict_batch_size=40)
    made.train(input_fn, max_steps=4)
    found = made.evaluate(input_fn)
    predicted = np.array([p["y"] for p in made.predict(input_fn)])
    config = made.config
    seen.append(f"{config.log_step_count_steps} {config.tpu_config.per_host_input_for_training} {config.master!r}")
    rates = [e for e in rates_of(tf, made.model_dir) if "/sec" in e]
    return {"tpu_seen": seen + rates, "tpu_found": measured(found), "tpu_y": predicted, **{
        f"tpu_{name}": value for name, value in values_of(made).items()}}


def rates_of(tf, path):
    """Returns ["step tag"] of the numbers in event files."""
    return sorted(f"{event.step} {v.tag}" for name in glob.glob(os.path.join(path, "events*"))
                  for event in tf.train.summary_iterator(name) for v in event.summary.value)


def canned(tf, name):
    """Returns an estimator that brings its model, whose variables begin with known numbers."""
    fc, rng = tf.feature_column, np.random.RandomState(1)
    words = fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c", "d"])
    x, embedded = fc.numeric_column("x", 2), fc.embedding_column(words, 2)
    kinds = tf.estimator
    three = {"n_classes": 3, "label_vocabulary": ["x", "y", "z"]}

    def begun(**shapes):
        """Returns a checkpoint of variables, "linear/..." and "dnn/...", by short names."""
        names = {"lx": "linear/linear_model/x/weights", "lw": "linear/linear_model/word/weights",
                 "lb": "linear/linear_model/bias_weights", "e": "dnn/input_from_feature_columns/input_layer/word_embedding/"
                 "embedding_weights", **{f"{k}{i}": f"dnn/hiddenlayer_{i}/{n}" for i in (0, 1) for k, n in (
                     ("k", "kernel"), ("b", "bias"))}, "ko": "dnn/logits/kernel", "bo": "dnn/logits/bias"}
        with tf.Graph().as_default(), tf.Session() as sess:
            for name, shape in shapes.items():
                tf.get_variable(names[name], initializer=tf.constant(rng.uniform(-0.5, 0.5, shape), tf.float32))
            sess.run(tf.global_variables_initializer())
            return tf.estimator.WarmStartSettings(tf.train.Saver().save(sess, os.path.join(folder(), "begun")), "|".join(
                names[name] for name in shapes))

    deep = {"k0": (4, 3), "b0": 3, "k1": (3, 2), "b1": 2, "ko": (2, 1), "bo": 1, "e": (4, 2)}
    made = {
        "linear2": lambda: kinds.LinearClassifier([x, words], folder(), weight_column="weight",
                                          warm_start_from=begun(lx=(2, 1), lw=(4, 1), lb=1)),
        "linear3": lambda: kinds.LinearClassifier([x, words], folder(), optimizer=lambda: tf.train.AdamOptimizer(0.1), **three,
                                          warm_start_from=begun(lx=(2, 3), lw=(4, 3), lb=3)),
        "linear": lambda: kinds.LinearRegressor([x, words], folder(), loss_reduction=tf.losses.Reduction.MEAN,
                                        warm_start_from=begun(lx=(2, 1), lw=(4, 1), lb=1)),
        "deep2": lambda: kinds.DNNClassifier([3, 2], [x, embedded], folder(), activation_fn=tf.tanh, weight_column="weight",
                                     warm_start_from=begun(**deep)),
        "deep": lambda: kinds.DNNRegressor([3], [x], folder(), batch_norm=True, weight_column="weight",
                                   warm_start_from=begun(k0=(2, 3), b0=3, ko=(3, 1), bo=1)),
        "both3": lambda: kinds.DNNLinearCombinedClassifier(
            folder(), [words], "Adam", [x], "RMSProp", [3], **three,
            warm_start_from=begun(lw=(4, 3), lb=3, k0=(2, 3), b0=3, ko=(3, 3), bo=3)),
        "both": lambda: kinds.DNNLinearCombinedRegressor(folder(), [words], "Ftrl", [x], "Adagrad", [3], label_dimension=2,
                                                 warm_start_from=begun(lw=(4, 2), lb=2, k0=(2, 3), b0=3, ko=(3, 2), bo=2)),
    }
    return made[name]()


CANNED = "linear2 linear3 linear deep2 deep both3 both".split()


def canned_answers(tf, name):
    """Returns {what one of them gives after some steps}."""
    made, rng = canned(tf, name), np.random.RandomState(2)
    words = np.array(["a", "b", "c", "d"])[rng.randint(0, 4, 50)]
    features = {"x": X, "word": words, "weight": rng.uniform(0.5, 2, 50).astype("f")}
    labels = np.array(["x", "y", "z"])[rng.randint(0, 3, 50)] if "3" in name else (Y > 0).astype("int64") if "2" in name else Y
    labels = np.stack([Y, -Y], 1) if name == "both" else labels

    def input_fn(epochs=1):
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(epochs).batch(10)

    made.train(lambda: input_fn(2))
    names = [n for n in made.get_variable_names() if not re.search("Ftrl|Ada|RMS|Adam|beta", n)]
    found, answers = made.evaluate(input_fn), list(made.predict(input_fn))
    lines = [*names, *sorted(found), *(f"{key}: {answers[0][key].dtype} {answers[0][key].shape}" for key in sorted(answers[0])),
             *(str(answer["classes"]) for answer in answers[:5] if "classes" in answer),
             *sorted({line.split()[1] for line in rates_of(tf, made.model_dir) if "/sec" not in line})]
    return {f"canned_{name}_lines": lines, f"canned_{name}_eval": measured(found), f"canned_{name}_values": np.concatenate([
        np.ravel(made.get_variable_value(n)).astype("float64") for n in names]), **{
        f"canned_{name}_{key}": np.array([a[key] for a in answers]) for key in answers[0] if "class" not in key}}


def exported(tf):
    """What SavedModels of estimators hold, and what exporters keep."""
    export = tf.estimator.export
    lines, values = [], {}
    wide = canned(tf, "linear3").train(lambda: tf.data.Dataset.from_tensors(
        ({"x": X[:3], "word": np.array(["a", "b", "d"])}, np.array(["x", "z", "x"]))))
    spec = tf.feature_column.make_parse_example_spec([
        tf.feature_column.numeric_column("x", 2), tf.feature_column.categorical_column_with_vocabulary_list("word", ["a"])])
    own = estimator(tf)
    raw = {"x": np.zeros((1, 2), "float32")}
    tf.estimator.train_and_evaluate(own, tf.estimator.TrainSpec(arrays(tf), max_steps=15), tf.estimator.EvalSpec(
        dataset(tf), throttle_secs=0, exporters=[
            tf.estimator.FinalExporter("final", lambda: export.build_raw_serving_input_receiver_fn(
                {"x": tf.constant(raw["x"])})()),
            tf.estimator.BestExporter("best", lambda: export.build_raw_serving_input_receiver_fn(
                {"x": tf.constant(raw["x"])}, 5)(), exports_to_keep=1)]))
    extra = os.path.join(own.model_dir, "checkpoint")
    for name, path in {
            "wide": wide.export_savedmodel(folder(), export.build_parsing_serving_input_receiver_fn(spec)),
            "extra": own.export_saved_model(folder(), lambda: alone(tf), {"deep/c": extra}, as_text=True,
                                            checkpoint_path=own.latest_checkpoint()),
            "final": sole(own, "final"), "best": sole(own, "best")}.items():
        path = path.decode() if isinstance(path, bytes) else path
        lines += [f"{name}: {sorted(os.listdir(path))}"]
        with tf.Graph().as_default(), tf.Session() as sess:
            meta = tf.saved_model.loader.load(sess, ["serve"], path)
            for key, signature in sorted(meta.signature_def.items()):
                lines += [f"{name} {key}: {signature.method_name}"] + [
                    f"{name} {key}: {kind} {k} {tf.as_dtype(info.dtype).name} {[d.size for d in info.tensor_shape.dim]}"
                    for kind, infos in (("in", signature.inputs), ("out", signature.outputs))
                    for k, info in sorted(infos.items())]
            served = meta.signature_def["serving_default"]
            if name == "wide":
                found = sess.run(served.outputs["scores"].name, {served.inputs["inputs"].name: [serialised(tf)]})
            elif name != "extra":
                found = sess.run(served.outputs["y"].name, {served.inputs["x"].name: X[:5]})
            values[f"exported_{name}"] = found
    return {"exported": lines, **values}


def alone(tf):
    """Returns a receiver of which both parts are dictionaries."""
    x = tf.placeholder(tf.float32, [None, 2], name="a")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x}, {"more": {"z": x}})


def sole(made, name):
    """Returns the one folder that an exporter left."""
    (found,) = glob.glob(os.path.join(made.model_dir, "export", name, "*"))
    return found


def serialised(tf):
    """Returns an Example."""
    return tf.train.Example(features=tf.train.Features(feature={
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -1.0])),
        "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"b"]))})).SerializeToString()


def batches(tf):
    """What input functions over arrays give."""
    found = {}
    for name, epochs, labels in [("one", 1, None), ("two", 2, np.arange(5)), ("dict", 2, {"y": np.arange(5), "z": np.ones(5)})]:
        with tf.Graph().as_default():
            x = {"b": np.arange(10).reshape(5, 2), "a": np.arange(5.0)}
            made = tf.estimator.inputs.numpy_input_fn(x, labels, 3, epochs, False)()
            with tf.train.MonitoredSession() as sess:
                lines = []
                while not sess.should_stop():
                    lines.append(repr(sess.run(made)).replace(" ", "").replace("\n", ""))
        found[f"batches_{name}"] = [re.sub(r"array\(|\)|,dtype=\w+|\(\{|OrderedDict", "", line) for line in lines]
    return found


def refusals(tf):
    """The errors, by what is wrong."""
    def model_fn(features, labels, mode, params):
        return tf.constant(0.0)

    def of_model(result, **arguments):
        """Trains a model that returns `result(mode)`."""
        made = tf.estimator.Estimator(lambda features, mode: result(mode), folder(), **arguments)
        return lambda: made.train(lambda: tf.constant(1.0), steps=1)

    spec, made = tf.estimator.EstimatorSpec, tf.estimator.Estimator(model_fn, folder(), params={})
    config = tf.estimator.RunConfig
    cases = {
        "both saves": lambda: config(save_checkpoints_steps=1, save_checkpoints_secs=1),
        "replaced both": lambda: config().replace(save_checkpoints_steps=1, save_checkpoints_secs=1),
        "empty folder": lambda: config(""),
        "negative": lambda: config(keep_checkpoint_max=-1),
        "seed": lambda: config(tf_random_seed="a"),
        "no model": lambda: tf.estimator.Estimator(None, folder()),
        "folders": lambda: tf.estimator.Estimator(model_fn, "a", config("b"), {}),
        "both": lambda: made.train(arrays(tf), steps=1, max_steps=1),
        "no steps": lambda: made.train(arrays(tf), steps=0),
        "no max": lambda: made.train(arrays(tf), max_steps=-1),
        "no hook": lambda: made.train(arrays(tf), hooks=[1]),
        "no eval steps": lambda: made.evaluate(arrays(tf), steps=0),
        "no spec": lambda: made.train(arrays(tf), steps=1),
        "untrained": lambda: tf.estimator.Estimator(model_fn, "/none/there", params={}).get_variable_names(),
        "no loss": of_model(lambda mode: spec(mode, train_op=tf.no_op())),
        "no train_op": of_model(lambda mode: spec(mode, loss=tf.constant(0.0))),
        "vector": of_model(lambda mode: spec(mode, loss=tf.constant([0.0, 1.0]), train_op=tf.no_op())),
        "shuffle": lambda: tf.estimator.inputs.numpy_input_fn({"x": X}),
        "no array": lambda: tf.estimator.inputs.numpy_input_fn([1.0], shuffle=False)(),
        "max": lambda: tf.estimator.TrainSpec(arrays(tf), 0),
        "function": lambda: tf.estimator.TrainSpec(1),
        "throttle": lambda: tf.estimator.EvalSpec(arrays(tf), throttle_secs=-1),
        "estimator": lambda: tf.estimator.train_and_evaluate(
            1, tf.estimator.TrainSpec(arrays(tf)), tf.estimator.EvalSpec(arrays(tf))),
        "tpu config": lambda: tf.estimator.tpu.TPUEstimator(model_fn, config=config()),
        "tpu params": lambda: tf.estimator.tpu.TPUEstimator(model_fn, config=tf.estimator.tpu.RunConfig(),
                                                            params={"batch_size": 3}),
        "tpu size": lambda: tf.estimator.tpu.TPUEstimator(model_fn, config=tf.estimator.tpu.RunConfig()),
        "tpu loops": lambda: tf.estimator.tpu.TPUConfig(num_shards=0),
        "tpu host": lambda: tf.estimator.tpu.TPUEstimatorSpec("train", host_call=1),
        "tpu input": lambda: tf.estimator.tpu.TPUEstimator(
            model_fn, folder(), tf.estimator.tpu.RunConfig(), use_tpu=False).train(dataset(tf)),
        "warm": lambda: tf.estimator.WarmStartSettings(""),
        "warm kind": lambda: tf.estimator.Estimator(model_fn, folder(), params={}, warm_start_from=3),
        "classes": lambda: tf.estimator.LinearClassifier([], n_classes=1),
        "reduction": lambda: tf.estimator.LinearRegressor([], loss_reduction="a"),
        "no parts": lambda: tf.estimator.DNNLinearCombinedRegressor(),
        "receiver": lambda: made.export_saved_model(folder(), None),
        "scores": lambda: tf.estimator.export.ClassificationOutput(),
        "value": lambda: tf.estimator.export.RegressionOutput(tf.constant("a")),
        "exports": lambda: tf.estimator.LatestExporter("a", lambda: None, exports_to_keep=0),
        "stop": lambda: tf.estimator.experimental.make_early_stopping_hook(1, None),
    }
    words = {name: refusal(case)[0].partition(": ") for name, case in cases.items()}
    return [f"{name}: {re.split('[,.(:]', text)[0][:60]} ({kind})" for name, (kind, _, text) in words.items()]


def results(tf):
    found = {"order": order(tf), "stopped": stopped(tf), "refusals": refusals(tf)}
    for program in (training, together, warm, batches, exported, on_one_shard):
        found |= program(tf)
    for name in CANNED:
        found |= canned_answers(tf, name)
    return found
