"""Classes of the nodes of a graph by graph convolutions, in PyTorch's spelling.

Run it by ``python docs/examples/spellings/gcn_torch.py``. Random numbers are NumPy's, so that the losses are
those of `gcn.py`, and of this program with ``import torch``.
"""

import numpy as np

import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.optim import Adam

NODES, FEATURES, HIDDEN, CLASSES = 24, 6, 8, 3


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.kernel = nn.Parameter(torch.Tensor(inputs, outputs))
        self.bias = nn.Parameter(torch.Tensor(outputs))
        nn.init.zeros_(self.bias)

    def forward(self, x, adjacency):
        return torch.mm(adjacency, torch.mm(x, self.kernel)) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConv(FEATURES, HIDDEN), GraphConv(HIDDEN, CLASSES)

    def forward(self, x, adjacency):
        x = F.relu(self.first(x, adjacency))
        return F.log_softmax(self.second(x, adjacency), dim=1)


def graph(rng):
    """Return the features, classes and normalized adjacency matrix of nodes that mostly know those of their class."""
    labels = torch.arange(NODES) % CLASSES
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    chances = torch.from_numpy(rng.random((NODES, NODES)))
    adjacency = (chances < torch.where(same, torch.full_like(chances, 0.3), torch.full_like(chances, 0.05))).double()
    adjacency = torch.clamp(adjacency + adjacency.t() + torch.eye(NODES), max=1.0)
    degree = adjacency.sum(dim=1).pow(-0.5)
    features = torch.from_numpy(rng.normal(size=(NODES, FEATURES)))
    features.scatter_(1, labels.view(-1, 1), 1.0)
    return features, labels, degree.view(-1, 1) * adjacency * degree.view(1, -1)


def train(steps=30):
    """Return the losses, and the share of nodes whose class is right, of those not trained on."""
    rng = np.random.default_rng(0)
    model = GCN()
    with torch.no_grad():
        for layer in (model.first, model.second):
            layer.kernel.copy_(torch.from_numpy(rng.normal(0.0, 0.5, tuple(layer.kernel.size()))))
    features, labels, adjacency = graph(rng)
    shuffled = torch.from_numpy(rng.permutation(NODES))
    known, unknown = shuffled.split([NODES // 2, NODES - NODES // 2])
    optimizer = Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(features, adjacency)
        loss = F.nll_loss(output.index_select(0, known), labels[known])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.inference_mode():
        right = model(features, adjacency)[unknown].argmax(dim=1).eq(labels[unknown])
    return losses, right.double().mean().item()


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    losses, share = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; {share:.0%} of the other nodes right")
