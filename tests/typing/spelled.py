"""A program in PyTorch's spelling that type checkers read, with the lines that they report marked; it is not run."""

import dispatchkit as dk
import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.optim.lr_scheduler import StepLR
from dispatchkit.as_torch.utils.data import DataLoader, TensorDataset

x = torch.zeros(2, 3, dtype=torch.float32)
y: torch.Tensor = torch.sum(x, dim=1, keepdim=True)
z: dk.Tensor = x.view(3, 2).permute(1, 0)
values, indices = x.max(dim=0)
torch.sum(x, dims=1)  # error
x.sum(keepdims=True)  # error
x.size(0)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.softmax(self.layer(x), dim=-1).view(self.layer.weight.size(0), -1)


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scheduler = StepLR(optimizer, 1)
for (batch,) in DataLoader(TensorDataset(x), batch_size=2):
    with torch.no_grad():
        net(batch).size(1)
nn.Linear(3)  # error
