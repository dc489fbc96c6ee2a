"""A picture as a sentence (Dosovitskiy et al. 2021, section 3.1): cut into square patches, each flattened and mapped by
one linear map; before them [CLS], and to each one learned vector of its place."""
import torch
from torch import Tensor, nn

from model.scratch import positions
from model.scratch.probe import Probe


def cut(pictures: Tensor, side: int) -> Tensor:
    """Square patches of `side` pixels, row by row: (b, height, width) -> (b, patch, side²)."""
    return nn.functional.unfold(pictures[:, None], side, stride=side).transpose(1, 2)


class PatchEmbedding(nn.Module):
    """z_0 = [x_class; x_1 E; …; x_n E] + E_pos, equation (1) of Dosovitskiy et al. 2021. Pixels are ink, from 0 (paper)
    to 1."""

    def __init__(self, side: int, width: int, length: int, scheme: type[positions.Unplaced]) -> None:
        super().__init__()
        self.side = side
        self.linear = nn.Linear(side**2, width)
        self.start = nn.Parameter(torch.randn(1, width) * width**-0.5)   # [CLS]
        self.positions = scheme(width, length)
        self.embedded = Probe()

    def widen(self) -> None:
        """Begins with about unit variance, of inked patches (whose pixels' squares add up to some side² / 4) and of
        places alike: a model to which places are faint takes long to find out what they are good for."""
        nn.init.normal_(self.linear.weight, std=2 / self.side)
        for table in self.positions.parameters():
            nn.init.normal_(table)

    def tokens(self, pictures: Tensor) -> Tensor:
        """[CLS] and patches without their places: (b, height, width) -> (b, 1 + patch, d_model)."""
        patches = self.linear(cut(pictures, self.side))
        return torch.cat([self.start.expand(len(patches), -1, -1), patches], 1)

    def forward(self, pictures: Tensor) -> Tensor:
        """(b, height, width) -> (b, 1 + patch, d_model)."""
        return self.embedded(self.positions(self.tokens(pictures)))
