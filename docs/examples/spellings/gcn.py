"""Classes of the nodes of a graph by graph convolutions, in dispatchkit's spelling.

Run it by ``python docs/examples/spellings/gcn.py``. `gcn_torch.py` is the same program in
PyTorch's spelling.
"""

import numpy as np

import dispatchkit as dk
from dispatchkit import nn

NODES, FEATURES, HIDDEN, CLASSES = 24, 6, 8, 3


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.kernel = nn.Parameter(dk.zeros((inputs, outputs)))
        self.bias = nn.Parameter(dk.zeros(outputs))

    def forward(self, x, adjacency):
        return adjacency @ (x @ self.kernel) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConv(FEATURES, HIDDEN), GraphConv(HIDDEN, CLASSES)

    def forward(self, x, adjacency):
        x = dk.relu(self.first(x, adjacency))
        return dk.log_softmax(self.second(x, adjacency), axis=1)


def graph(rng):
    """Return the features, classes and normalized adjacency matrix of nodes that mostly know those of their class."""
    labels = dk.arange(NODES) % CLASSES
    same = labels[None] == labels[:, None]
    linked = dk.astype(dk.asarray(rng.random((NODES, NODES))) < dk.where(same, 0.3, 0.05), dk.float64)
    adjacency = dk.clip(linked + linked.T + dk.eye(NODES), max=1.0)
    degree = dk.sum(adjacency, axis=1) ** -0.5
    features = dk.asarray(rng.normal(size=(NODES, FEATURES)))
    features[dk.arange(NODES), labels] = 1.0
    return features, labels, degree[:, None] * adjacency * degree


def train(steps=30):
    """Return the losses, and the share of nodes whose class is right, of those not trained on."""
    rng = np.random.default_rng(0)
    model = GCN()
    with dk.no_grad():
        for layer in (model.first, model.second):
            layer.kernel.copy_(rng.normal(0.0, 0.5, layer.kernel.shape))
    features, labels, adjacency = graph(rng)
    known, unknown = dk.split(dk.asarray(rng.permutation(NODES)), 2)
    optimizer = dk.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(features, adjacency)
        loss = nn.functional.nll_loss(output[known], labels[known])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with dk.no_grad():
        right = dk.argmax(model(features, adjacency)[unknown], axis=1) == labels[unknown]
    return losses, right.double().mean().item()


if __name__ == "__main__":
    losses, share = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; {share:.0%} of the other nodes right")
