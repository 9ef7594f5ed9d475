"""Domain-adversarial training of a digit reader, by reversing one gradient.

The source domain is scikit-learn's handwritten digits: white ink on black, with labels. The target domain is
other digits of the same collection, each seen as its difference from a sea-coloured texture: faint in red,
strong enough in green and blue to invert the ink. Training sees target images, but none of their labels.

A small convolutional network feeds two heads: one names the digit, the other the domain. Between the features
and the domain head stands an identity whose gradient is multiplied by `-strength`. The head learns to tell
the domains apart and the features learn to prevent it, until what separates the source's digits separates the
target's too. With strength 0 the domain head only watches and the digit network trains exactly as if alone:
one graph, with the same initial weights and the same batches, serves both halves of the comparison.

The method and its schedules: Ganin et al., "Domain-Adversarial Training of Neural Networks", 2016.
Everything is scored after the last step, on images of both domains that took no part in training.

    python examples/domain_adversarial_digits.py --seeds 5 --steps 1600 --out domain_adversarial_digits.png
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

import regrad as tf

BATCH = 64  # images of each domain in one step
SEA = (0.1, 0.8, 1.0)  # how strongly the texture shows in red, green and blue
SOURCE, TARGET = "#2563a8", "#e07a1f"


# --- Data ---------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Four disjoint sets of images, float32[n, 8, 8, 3]; labels are int32[n]."""

    source_images: np.ndarray
    source_labels: np.ndarray
    target_images: np.ndarray  # unlabelled: the training set of the target domain
    source_test_images: np.ndarray
    source_test_labels: np.ndarray
    target_test_images: np.ndarray
    target_test_labels: np.ndarray


def sea_texture(rng: np.random.Generator, count: int, size: int = 8, knots: int = 4) -> np.ndarray:
    """Smooth random textures, float64[count, size, size, 3]: bilinear between `knots` x `knots` colours."""
    tents = np.maximum(0, 1 - abs(np.linspace(0, knots - 1, size)[:, None] - np.arange(knots)))
    colours = rng.uniform(size=(count, knots, knots, 3)) * SEA
    return np.einsum("yi,xj,nijc->nyxc", tents, tents, colours)


def load_data(seed: int) -> Data:
    """Splits the 1797 digits at random, and shifts those that fall to the target domain."""
    digits = load_digits()
    rng = np.random.default_rng(seed)
    source, source_test, target, target_test = np.split(rng.permutation(len(digits.images)), [600, 900, 1500])
    clean = np.repeat(digits.images[..., None] / 16.0, 3, axis=-1)
    shifted = np.abs(clean - sea_texture(rng, len(clean)))
    clean, shifted, labels = np.float32(clean), np.float32(shifted), digits.target.astype(np.int32)
    return Data(
        source_images=clean[source],
        source_labels=labels[source],
        target_images=shifted[target],
        source_test_images=clean[source_test],
        source_test_labels=labels[source_test],
        target_test_images=shifted[target_test],
        target_test_labels=labels[target_test],
    )


# --- Network ------------------------------------------------------------------------------------------------


class FlipGradientBuilder:
    """Identity forwards; backwards the gradient times `-strength`, a number or a scalar tensor."""

    def __init__(self) -> None:
        self.num_calls = 0

    def __call__(self, x: tf.Tensor, strength: float | tf.Tensor = 1.0) -> tf.Tensor:
        grad_name = f"FlipGradient{self.num_calls}"

        @tf.RegisterGradient(grad_name)
        def _flip_gradients(op: tf.Operation, grad: tf.Tensor) -> list[tf.Tensor]:
            return [tf.negative(grad) * strength]

        g = tf.get_default_graph()
        with g.gradient_override_map({"Identity": grad_name}):
            y = tf.identity(x)

        self.num_calls += 1
        return y


flip_gradient = FlipGradientBuilder()


class Network(NamedTuple):
    """The tensors to feed, to fetch and to run."""

    images: tf.Tensor  # float32[n, 8, 8, 3]; in training, BATCH of the source and then BATCH of the target
    labels: tf.Tensor  # int32[BATCH], of the source's images only
    domains: tf.Tensor  # float32[n, 1]: 0 is source, 1 is target
    strength: tf.Tensor  # of the reversal
    rate: tf.Tensor  # of learning
    features: tf.Tensor  # float32[n, 128]
    answers: tf.Tensor  # int64[n]: the digits read
    start: tf.Operation  # gives the weights their first values
    step: tf.Operation  # trains on one batch


def convolution(x: tf.Tensor, filters: int, name: str) -> tf.Tensor:
    """3x3 convolution, bias, ReLU, and 2x2 max-pooling."""
    with tf.variable_scope(name):
        size = [3, 3, int(x.shape[-1]), filters]
        weights = tf.get_variable("weights", size, initializer=tf.glorot_uniform_initializer())
        bias = tf.get_variable("bias", [filters], initializer=tf.zeros_initializer())
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weights, strides=[1, 1, 1, 1], padding="SAME"), bias))
        return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def dense(x: tf.Tensor, units: int, name: str) -> tf.Tensor:
    """Affine map: x weights + bias."""
    with tf.variable_scope(name):
        size = [int(x.shape[-1]), units]
        weights = tf.get_variable("weights", size, initializer=tf.glorot_uniform_initializer())
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(x, weights), bias)


def build_network() -> Network:
    """Adds the features, the two heads, both losses and one training step to the default graph."""
    images = tf.placeholder(tf.float32, [None, 8, 8, 3], name="images")
    labels = tf.placeholder(tf.int32, [BATCH], name="labels")
    domains = tf.placeholder(tf.float32, [None, 1], name="domains")
    strength = tf.placeholder(tf.float32, [], name="strength")
    rate = tf.placeholder(tf.float32, [], name="rate")

    with tf.variable_scope("features"):
        features = convolution(convolution(images, 16, "first"), 32, "second")
        features = tf.reshape(features, [-1, 2 * 2 * 32])
    with tf.variable_scope("digit"):
        digit_logits = dense(tf.nn.relu(dense(features, 64, "hidden")), 10, "logits")
    with tf.variable_scope("domain"):
        flipped = flip_gradient(features, strength)
        domain_logits = dense(tf.nn.relu(dense(flipped, 256, "hidden")), 1, "logits")

    digit_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=digit_logits[:BATCH])
    domain_losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=domains, logits=domain_logits)
    loss = tf.reduce_mean(digit_losses) + tf.reduce_mean(domain_losses)
    answers = tf.argmax(digit_logits, axis=1)
    step = tf.train.AdamOptimizer(rate, beta1=0.5).minimize(loss)
    start = tf.global_variables_initializer()
    return Network(images, labels, domains, strength, rate, features, answers, start, step)


# --- Training -----------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """What one training run leaves behind."""

    steps: np.ndarray  # int[k]: when it was scored
    accuracy: np.ndarray  # float[k, 2], on the source's and the target's test images
    features: np.ndarray  # float32[m, 128], of the source's and then the target's test images


def plain(progress: float) -> float:
    """The schedule of the network that trains alone."""
    return 0.0


def reversal(progress: float) -> float:
    """From 0 towards 1, so that the digit head has something to say before the features are disturbed."""
    return 2 / (1 + math.exp(-10 * progress)) - 1


def train(
    network: Network,
    data: Data,
    schedule: Callable[[float], float],
    steps: int,
    seed: int,
    tick: Callable[[], None],
) -> Run:
    """Trains from fresh weights, the reversal as strong as `schedule` says; calls `tick` at each step."""
    rng = np.random.default_rng(seed)
    domains = np.repeat(np.float32([[0], [1]]), BATCH, axis=0)
    test_images = np.concatenate([data.source_test_images, data.target_test_images])
    test_labels = np.concatenate([data.source_test_labels, data.target_test_labels])
    scored, accuracy = [], []

    with tf.Session() as session:
        session.run(network.start)
        for step in range(1, steps + 1):
            progress = step / steps
            source = rng.integers(len(data.source_images), size=BATCH)
            target = rng.integers(len(data.target_images), size=BATCH)
            feed = {
                network.images: np.concatenate([data.source_images[source], data.target_images[target]]),
                network.labels: data.source_labels[source],
                network.domains: domains,
                network.strength: schedule(progress),
                network.rate: 3e-3 / (1 + 10 * progress) ** 0.75,
            }
            session.run(network.step, feed)
            tick()

            if step % max(steps // 40, 1) == 0 or step == steps:
                fetches = [network.answers, network.features]
                answers, features = session.run(fetches, {network.images: test_images})
                right = np.split(answers == test_labels, [len(data.source_test_labels)])
                scored.append(step)
                accuracy.append([np.mean(right[0]), np.mean(right[1])])
    return Run(np.array(scored), np.array(accuracy), features)


# --- Report -------------------------------------------------------------------------------------------------


def mean_and_spread(values: np.ndarray, sign: str = "") -> str:
    """Mean and sample standard deviation, in percent."""
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    return f"{100 * values.mean():{sign}.1f} ± {100 * spread:.1f}"


def table(before: list[Run], after: list[Run]) -> Table:
    """Final accuracies of each seed, and the mean and spread over the seeds."""
    scores = np.array([[*b.accuracy[-1], *a.accuracy[-1]] for b, a in zip(before, after, strict=True)])
    gains = scores[:, 3] - scores[:, 1]
    result = Table(title="Accuracy on unseen images, percent", title_style="bold")
    for heading in ("seed", "plain:\nsource", "\ntarget", "reversal:\nsource", "\ntarget", "gain on\ntarget"):
        result.add_column(heading, justify="right")
    for seed, (score, gain) in enumerate(zip(scores, gains, strict=True)):
        result.add_row(str(seed), *(f"{100 * value:.1f}" for value in score), f"{100 * gain:+.1f}")
    result.add_section()
    result.add_row("mean", *map(mean_and_spread, scores.T), mean_and_spread(gains, "+"), style="bold")
    return result


def draw_images(axes: Axes, images: np.ndarray, title: str, colour: str) -> None:
    """A sheet of 5 x 6 images with a thin margin around each."""
    framed = np.pad(images[:30], ((0, 0), (0, 1), (0, 1), (0, 0)), constant_values=1)
    sheet = framed.reshape(5, 6, 9, 9, 3).swapaxes(1, 2).reshape(45, 54, 3)
    axes.imshow(sheet[:-1, :-1])
    axes.set_title(title, color=colour)
    axes.axis("off")


def draw_accuracy(axes: Axes, before: list[Run], after: list[Run]) -> None:
    """Accuracy against training steps: the mean over the seeds, and their range as a band."""
    for runs, style, name in ((after, "-", "with reversal"), (before, "--", "plain")):
        steps, curves = runs[0].steps, 100 * np.stack([run.accuracy for run in runs])
        for values, colour, domain in zip(curves.T, (SOURCE, TARGET), ("source", "target"), strict=True):
            axes.plot(steps, values.mean(axis=1), style, color=colour, lw=2, label=f"{domain}, {name}")
            axes.fill_between(steps, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.12, lw=0)
    axes.set(title="Accuracy on unseen images", xlabel="training step", ylabel="percent", ylim=(0, 102))
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", frameon=False, ncols=2)


def draw_features(axes: Axes, run: Run, data: Data, title: str) -> None:
    """Features of the test images in the plane, each drawn as its digit in the colour of its domain."""
    with threadpool_limits(1):  # faster than several threads for so few points
        points = TSNE(metric="cosine", perplexity=50, random_state=0).fit_transform(run.features)
    for cloud, labels, colour in (
        (points[: len(data.source_test_labels)], data.source_test_labels, SOURCE),
        (points[len(data.source_test_labels) :], data.target_test_labels, TARGET),
    ):
        for digit in range(10):
            x, y = cloud[labels == digit].T
            axes.scatter(x, y, s=34, marker=f"${digit}$", color=colour, lw=0)
    axes.set(title=f"{title}: {run.accuracy[-1, 1]:.0%} of the target read", xticks=[], yticks=[])


def draw(path: str, data: Data, before: list[Run], after: list[Run]) -> None:
    """Writes the picture: the domains, accuracy over time, and what the first seed's two networks see."""
    figure = Figure(figsize=(12, 9), layout="constrained", dpi=120)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    grid = figure.add_gridspec(2, 4, height_ratios=(1, 1.9))
    draw_images(figure.add_subplot(grid[0, 0]), data.source_test_images, "Source", SOURCE)
    draw_images(figure.add_subplot(grid[0, 1]), data.target_test_images, "Target", TARGET)
    draw_accuracy(figure.add_subplot(grid[0, 2:]), before, after)
    draw_features(figure.add_subplot(grid[1, :2]), before[0], data, "Features, plain")
    draw_features(figure.add_subplot(grid[1, 2:]), after[0], data, "Features, gradient reversed")
    for axes in figure.axes:
        axes.spines[:].set_visible(False)
    figure.savefig(path)


def main() -> None:
    """Compares plain training with reversal over the seeds; prints a table and writes the picture."""
    parser = argparse.ArgumentParser(description="Domain-adversarial training on handwritten digits.")
    parser.add_argument(
        "--seeds", type=int, default=5, help="repetitions, each with its own split of the data"
    )
    parser.add_argument("--steps", type=int, default=1600, help="training steps of each run")
    parser.add_argument("--out", default="domain_adversarial_digits.png", help="where to write the picture")
    options = parser.parse_args()

    console, started = Console(), time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    runs: dict[str, list[Run]] = {"plain": [], "reversal": []}
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=options.seeds * 2 * options.steps)
        for seed in range(options.seeds):
            data = load_data(seed)
            with tf.Graph().as_default():
                tf.set_random_seed(seed)
                network = build_network()
                for schedule in (plain, reversal):
                    progress.update(task, description=f"seed {seed}, {schedule.__name__:8}")
                    run = train(network, data, schedule, options.steps, seed, lambda: progress.advance(task))
                    runs[schedule.__name__].append(run)
    console.print(table(runs["plain"], runs["reversal"]))
    draw(options.out, load_data(0), runs["plain"], runs["reversal"])
    console.print(f"Picture in {options.out}; {time.perf_counter() - started:.0f} seconds in all.")


if __name__ == "__main__":
    main()
