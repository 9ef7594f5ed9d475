"""Records what Zennit answers: relevance of small networks with biases, for every rule and composite that Regrad has too.

    pip install torch && pip install --no-deps zennit
    python tests/autodiff/zennit_record.py

writes `zennit.npz` beside this file: the weights of each network as TensorFlow lays them out, an input, the relevance that
arrives at the outputs, and Zennit's relevance of the input. `test_relevance_layers.py` builds the same networks and compares.
"""

import pathlib
import sys
import types

import numpy as np

# What TensorFlow adds to a variance. torch's is 0 here, since Zennit adds it once more after it has merged a normalisation.
EPSILON = 1e-3
RULES = {
    "epsilon": lambda z: z.Epsilon(0.25), "epsilon without bias": lambda z: z.Epsilon(0.25, zero_params="bias"),
    "gamma": lambda z: z.Gamma(0.25, 1e-12), "alpha-beta": lambda z: z.AlphaBeta(2.0, 1.0, 1e-12),
    "z+": lambda z: z.ZPlus(1e-12), "z+ without bias": lambda z: z.ZPlus(1e-12, zero_params="bias"), "flat": lambda z: z.Flat(),
    "w^2": lambda z: z.WSquare(1e-12), "z box": lambda z: z.ZBox(-3.0, 3.0, 1e-12),
}
COMPOSITES = {
    "epsilon plus": lambda z, **o: z.EpsilonPlus(1e-9, 1e-12, **o),
    "epsilon plus flat": lambda z, **o: z.EpsilonPlusFlat(1e-9, 1e-12, **o),
    "epsilon alpha2 beta1": lambda z, **o: z.EpsilonAlpha2Beta1(1e-9, 1e-12, **o),
    "epsilon gamma box": lambda z, **o: z.EpsilonGammaBox(-3.0, 3.0, 1e-9, 0.25, 1e-12, **o),
    "epsilon plus without bias": lambda z, **o: z.EpsilonPlus(1e-9, 1e-12, zero_params="bias", **o),
    "gradient": lambda z, **o: z.core.Composite(),
}


def networks(nn):
    """Returns {name: (torch network, shape of its input)}."""
    return {
        "dense": (nn.Sequential(nn.Linear(5, 3)), (2, 5)),
        "conv1d": (nn.Sequential(nn.Conv1d(2, 3, 3, padding=1)), (2, 2, 6)),
        "conv2d": (nn.Sequential(nn.Conv2d(2, 3, 3, padding=1)), (2, 2, 5, 5)),
        "conv3d": (nn.Sequential(nn.Conv3d(2, 3, 2)), (1, 2, 3, 3, 3)),
        "depthwise": (nn.Sequential(nn.Conv2d(2, 4, 2, groups=2)), (2, 2, 4, 4)),
        "transposed": (nn.Sequential(nn.ConvTranspose2d(2, 3, 2, stride=2)), (1, 2, 3, 3)),
        "network": (nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 4, 3, padding=1),
                                  nn.ReLU(), nn.Flatten(), nn.Linear(36, 5), nn.ReLU(), nn.Linear(5, 3)), (2, 2, 6, 6)),
        "normalised": (nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4, 0.0), nn.ReLU(),
                                     nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4, 0.0), nn.ReLU(), nn.Flatten(),
                                     nn.Linear(144, 3)), (2, 2, 6, 6)),
    }


def channels_last(array):
    return np.moveaxis(array, 1, -1) if array.ndim > 2 else array


def as_tensorflow(layer, name):
    """Returns the parameters of one torch layer, {name: array}, in TensorFlow's order of axes."""
    w, b = (p.detach().numpy() for p in (layer.weight, layer.bias))
    if name == "BatchNorm2d":
        return {"scale": w, "offset": b, "mean": layer.running_mean.numpy(), "variance": layer.running_var.numpy() - EPSILON}
    if name == "Linear":
        return {"kernel": w.T, "bias": b}
    spatial = tuple(range(2, w.ndim))
    if name == "Conv2d" and layer.groups > 1:  # [in * multiplier, 1, ...] to [..., in, multiplier]
        return {"kernel": w.reshape(layer.groups, -1, *w.shape[2:]).transpose(2, 3, 0, 1), "bias": b}
    return {"kernel": w.transpose(*spatial, 1, 0), "bias": b}  # of a transposed one [in, out, ...] to [..., out, in]


def main():
    sys.modules["zennit.torchvision"] = types.ModuleType("zennit.torchvision")  # canonizers for networks that are not used
    import torch
    import zennit
    from zennit import attribution, canonizers, composites, rules

    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    composites.core = zennit.core
    out = {}
    for name, (net, shape) in networks(torch.nn).items():
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(torch.randn_like(p))
            for layer in net.modules():
                if isinstance(layer, torch.nn.BatchNorm2d):
                    layer.running_mean.normal_()
                    layer.running_var.uniform_(0.5, 2.0)
        net.eval()
        for i, layer in enumerate(net):
            if hasattr(layer, "weight"):
                out.update((f"{name}/{i}/{k}", v) for k, v in as_tensorflow(layer, type(layer).__name__).items())
        x = torch.randn(shape)
        relevance = torch.randn_like(net(x))
        out[f"{name}/x"], out[f"{name}/r"] = channels_last(x.numpy()), channels_last(relevance.numpy())
        every = COMPOSITES if len(net) > 1 else RULES
        for rule, make in every.items():
            if len(net) > 1:
                merge = {"canonizers": [canonizers.SequentialMergeBatchNorm()]} if name == "normalised" else {}
                composite = make(composites, **merge)
            else:
                made = make(rules)
                composite = composites.LayerMapComposite([(type(net[0]), made)])
            with attribution.Gradient(net, composite) as attributor:
                got = attributor(x, relevance)[1].detach().numpy()
            out[f"{name}/{rule}"] = channels_last(got)
    path = pathlib.Path(__file__).with_name("zennit.npz")
    np.savez_compressed(path, **out)
    print(f"{path.name}: {len(out)} arrays, Zennit {zennit.__version__ if hasattr(zennit, '__version__') else ''}")


if __name__ == "__main__":
    main()
