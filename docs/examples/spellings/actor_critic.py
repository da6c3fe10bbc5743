"""An actor and a critic that learn to walk to a goal, in dispatchkit's spelling.

Run it by ``python docs/examples/spellings/actor_critic.py``. `actor_critic_torch.py` is the same program in
PyTorch's spelling.
"""

import numpy as np

import dispatchkit as dk
from dispatchkit import nn

PLACES, GOAL, DISCOUNT = 6, 5, 0.9


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(PLACES, 16)
        self.action_head, self.value_head = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, state):
        x = dk.tanh(self.affine(state))
        return dk.log_softmax(self.action_head(x), axis=-1), self.value_head(x)[..., 0]


def episode(model, rng, most=20):
    """Walk until the goal; return the logarithms of the actions' probabilities, the values, and the rewards."""
    place, logs, values, rewards = 0, [], [], []
    while place != GOAL and len(rewards) < most:
        log, value = model(dk.eye(PLACES)[place])
        action = int(rng.random() < np.exp(log[1].item()))
        place = max(0, place + 2 * action - 1)
        logs.append(log[action])
        values.append(value)
        rewards.append(1.0 if place == GOAL else -0.1)
    return dk.stack(logs), dk.stack(values), rewards


def train(episodes=30):
    """Return the losses, and the probabilities of steps towards the goal."""
    rng = np.random.default_rng(0)
    model = Policy()
    with dk.no_grad():
        for p in model.parameters():
            p.copy_(rng.normal(0.0, 0.3, p.shape))
    optimizer = dk.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(episodes):
        logs, values, rewards = episode(model, rng)
        returns, total = [], 0.0
        for reward in reversed(rewards):
            total = reward + DISCOUNT * total
            returns.insert(0, total)
        returns = dk.asarray(returns)
        advantage = returns - values.detach()
        optimizer.zero_grad()
        loss = -dk.sum(logs * advantage) + nn.functional.smooth_l1_loss(values, returns, reduction="sum")
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with dk.no_grad():
        logs, _ = model(dk.eye(PLACES)[:GOAL])
    return losses, dk.exp(logs)[:, 1].tolist()


if __name__ == "__main__":
    losses, towards = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; towards the goal {', '.join(f'{p:.3f}' for p in towards)}")
