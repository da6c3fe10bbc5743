"""An actor and a critic that learn to walk to a goal, in PyTorch's spelling.

Run it by ``python docs/examples/spellings/actor_critic_torch.py``. Random numbers are NumPy's, so that the losses are
those of `actor_critic.py`, and of this program with ``import torch``.
"""

import numpy as np

import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch import nn, optim

PLACES, GOAL, DISCOUNT = 6, 5, 0.9


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(PLACES, 16)
        self.action_head, self.value_head = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, state):
        x = torch.tanh(self.affine(state))
        return F.log_softmax(self.action_head(x), dim=-1), self.value_head(x).squeeze(-1)


def episode(model, rng, most=20):
    """Walk until the goal; return the logarithms of the actions' probabilities, the values, and the rewards."""
    place, logs, values, rewards = 0, [], [], []
    while place != GOAL and len(rewards) < most:
        state = F.one_hot(torch.tensor(place), PLACES).double()
        log, value = model(state)
        action = int(rng.random() < log[1].exp().item())
        place = max(0, place + 2 * action - 1)
        logs.append(log.select(0, action))
        values.append(value)
        rewards.append(1.0 if place == GOAL else -0.1)
    return torch.stack(logs), torch.stack(values), rewards


def train(episodes=30):
    """Return the losses, and the probabilities of steps towards the goal."""
    rng = np.random.default_rng(0)
    model = Policy()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0.0, 0.3, tuple(p.size()))))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(episodes):
        logs, values, rewards = episode(model, rng)
        returns, total = [], 0.0
        for reward in reversed(rewards):
            total = reward + DISCOUNT * total
            returns.insert(0, total)
        returns = torch.tensor(returns, dtype=torch.float64)
        advantage = returns - values.detach()
        optimizer.zero_grad()
        loss = -(logs * advantage).sum() + F.smooth_l1_loss(values, returns, reduction="sum")
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        logs, _ = model(torch.eye(PLACES)[:GOAL])
    return losses, logs.exp()[:, 1].tolist()


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    losses, towards = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; towards the goal {', '.join(f'{p:.3f}' for p in towards)}")
