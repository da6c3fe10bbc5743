"""Layers, losses and recurrent layers that only PyTorch's spelling has."""
