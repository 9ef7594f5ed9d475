"""Four backward passes over one network, side by side: what each says about the same digits.

The true gradient, guided backpropagation (Springenberg et al. 2014, arXiv 1412.6806), deconvolution (Zeiler & Fergus 2013,
arXiv 1311.2901) and layer-wise relevance propagation (Bach et al. 2015). One graph, one run; the model is not touched.
"""

import numpy as np
from digits import trained
from figure import plt, save

import regrad as tf
from regrad import rules

with tf.Session() as session:
    images, labels, x, _, scores = trained(session)
    own = tf.reduce_max(scores, axis=1)
    views = [tf.View("gradient"), tf.View("guided", {"Relu": rules.guided_relu}),
             tf.View("deconvnet", {"Relu": rules.deconvnet_relu})]
    maps = {name: g for name, (g,) in tf.view_gradients(own, x, views).items()}
    maps["LRP"] = tf.gradients(own, x, grad_ys=[own], overrides=rules.lrp_epsilon_gamma_box(0.0, 1.0))[0]
    shown = [np.flatnonzero(labels == k)[0] for k in (0, 2, 3, 5, 8)]
    found = {"image": images[shown], **session.run(maps, {x: images[shown]})}

figure, axes = plt.subplots(len(found), len(shown), figsize=(7, 7.4))
for row, (name, pictures) in zip(axes, found.items()):
    for place, picture in zip(row, pictures[..., 0]):
        most = np.abs(picture).max()
        place.imshow(picture, cmap="gray" if name == "image" else "RdBu_r", vmin=0 if name == "image" else -most, vmax=most)
        place.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
print("share of pixels above a tenth of the greatest:",
      {name: round(float(np.mean(np.abs(g) > 0.1 * np.abs(g).max((1, 2, 3), keepdims=True))), 2) for name, g in found.items()})
save(figure)
