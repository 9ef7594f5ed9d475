"""Grad-CAM (Selvaraju et al. 2016, arXiv 1610.02391): where in the picture the evidence for the digit lies.

The gradient with respect to an inner tensor, feature maps, is asked for like any other.
"""

import numpy as np
from digits import trained
from figure import plt, save

import regrad as tf

with tf.Session() as session:
    images, labels, x, maps, scores = trained(session)
    own = tf.reduce_max(scores, axis=1)
    slopes = tf.gradients(own, maps)[0]
    cam = tf.nn.relu(tf.reduce_sum(tf.reduce_mean(slopes, axis=[1, 2], keepdims=True) * maps, axis=-1))
    shown = [np.flatnonzero(labels == k)[0] for k in range(10)]
    found = session.run(cam, {x: images[shown]})

figure, axes = plt.subplots(2, 5, figsize=(8, 3.5))
for place, image, heat in zip(axes.flat, images[shown], found):
    place.imshow(image[:, :, 0], cmap="gray")
    place.imshow(heat, alpha=0.6, cmap="jet")
    place.set(xticks=[], yticks=[])
ink = images[shown][..., 0] > 0.3
print(f"share of the evidence that lies on the digit: {np.sum(found * ink) / np.sum(found):.2f}; of area {np.mean(ink):.2f}")
save(figure)
