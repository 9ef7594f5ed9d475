"""`tf.contrib.training`: settings of a program, training and evaluation in monitored sessions, and parts of `learning.py`."""

import json

from regrad.core.lazy import names_of
from regrad.core.reading import reading

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.contrib.learning": "add_gradients_summaries clip_gradient_norms create_train_op multiply_gradients",
    "regrad.train.evaluation": """
        StopAfterNEvalsHook SummaryAtEndHook checkpoints_iterator evaluate_once evaluate_repeatedly get_or_create_eval_step
        wait_for_new_checkpoint""",
})
__all__ += ["HParams", "clip_gradient_norms_fn", "train"]


def clip_gradient_norms_fn(max_norm):
    """Returns a `transform_grads_fn` that limits the norm of each gradient to `max_norm`."""
    from regrad.contrib.learning import clip_gradient_norms

    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def train(train_op, logdir, master="", is_chief=True, scaffold=None, hooks=None, chief_only_hooks=None,
          save_checkpoint_secs=600, save_summaries_steps=100, config=None, max_wait_secs=7200, run_metadata=None):
    """Runs `train_op` in a `tf.train.MonitoredTrainingSession` until a hook stops it; returns its last value.

    Args:
      train_op: what `create_train_op` gave.
      logdir: folder of checkpoints and summaries; None for neither.
      The others: those of MonitoredTrainingSession; `run_metadata` is filled by every step.

    Raises:
      ValueError: summaries or checkpoints are asked for without a `logdir`.
    """
    from regrad.train.monitored import MonitoredTrainingSession

    if logdir is None and is_chief:
        for name, value in (("save_summaries_steps", save_summaries_steps), ("save_checkpoint_secs", save_checkpoint_secs)):
            if value:
                raise ValueError(f"logdir cannot be None when {name} is not None; it is {value}.")
    loss = None
    with MonitoredTrainingSession(
            master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
            chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
            save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs) as session:
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss


class HParams:
    """Settings as attributes: `HParams(rate=0.1, sizes=[3, 4])`."""

    def __init__(self, hparam_def=None, model_structure=None, **kwargs):
        """Args: hparam_def, model_structure: accepted; kwargs: names and values."""
        object.__setattr__(self, "_values", {})
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        """Adds a setting.

        Raises:
          ValueError: the name is taken, or the value is an empty list.
        """
        if name in self._values or hasattr(type(self), name):
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)) and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._values[name] = list(value) if isinstance(value, tuple) else value

    def set_hparam(self, name, value):
        """Changes a setting; a list stays a list, and a number of the same kind.

        Raises:
          KeyError: there is none of that name.
          ValueError: a value of another kind.
        """
        old = self._values[name]
        if isinstance(old, list) != isinstance(value, (list, tuple)):
            words = ("pass a list for multi" if isinstance(old, list) else "not pass a list for single")
            raise ValueError(f"Must {words}-valued parameter: {name}")
        self._values[name] = [_cast(name, old[0], v) for v in value] if isinstance(old, list) else _cast(name, old, value)

    def __getattr__(self, name):
        if name.startswith("__") or name == "_values":  # asked by copy and pickle, before there are values
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"HParams has no {name!r}; it has {', '.join(self._values)}.") from None

    def __setattr__(self, name, value):
        self._values[name] = value

    def __contains__(self, name):
        return name in self._values

    def get(self, key, default=None):
        """Returns a setting, or `default`."""
        return self._values.get(key, default)

    def del_hparam(self, name):
        """Takes a setting away."""
        del self._values[name]

    def values(self):
        """Returns {name: value}."""
        return dict(self._values)

    def override_from_dict(self, values_dict):
        """Changes settings; returns itself."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse(self, values):
        """Changes settings by a text such as "rate=0.5,sizes=[1,2]"; returns itself.

        Raises:
          ValueError: the text cannot be read, or a name is unknown.
        """
        rest = values
        while rest:
            name, equals, rest = rest.partition("=")
            name = name.strip(", ")
            if not equals or name not in self._values:
                raise ValueError(f"Unknown hyperparameter or syntax: {name!r} in {values!r}")
            if rest.lstrip().startswith("["):
                text, _, rest = rest.lstrip()[1:].partition("]")
                self.set_hparam(name, [part.strip() for part in text.split(",") if part.strip()])
            else:
                text, _, rest = rest.partition(",")
                self.set_hparam(name, text.strip())
        return self

    def parse_json(self, values_json):
        """Changes settings by a JSON object; returns itself."""
        with reading("parse_json", remedy="The text is a dict of settings that are there, as to_json gives it."):
            return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent=None, separators=None, sort_keys=False):
        """Returns the settings as JSON; functions are left out."""
        plain = {k: v for k, v in self._values.items() if not callable(v)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def __repr__(self):
        return f"HParams({', '.join(f'{k}={v!r}' for k, v in sorted(self._values.items()))})"


def _cast(name, old, value):
    """Returns `value` in the kind of `old`."""
    if old is None or value is None or isinstance(value, type(old)) and isinstance(value, bool) == isinstance(old, bool):
        return value
    try:
        if isinstance(old, bool):
            if str(value).lower() in ("true", "1", "false", "0"):
                return str(value).lower() in ("true", "1")
        elif isinstance(old, int):
            if float(value) == int(float(value)) and not isinstance(value, bool):
                return int(float(value))
        elif not isinstance(value, bool):
            return type(old)(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"Could not cast hparam {name!r} of type {type(old).__name__} from value {value!r}")
