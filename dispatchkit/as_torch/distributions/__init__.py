"""`torch.distributions` of PyTorch: draws, densities, and what is known of distributions in closed form."""

from dispatchkit.as_torch.distributions import constraints as constraints
from dispatchkit.as_torch.distributions import transforms as transforms
from dispatchkit.as_torch.distributions.by_functions import InverseGamma as InverseGamma
from dispatchkit.as_torch.distributions.by_functions import Kumaraswamy as Kumaraswamy
from dispatchkit.as_torch.distributions.by_functions import LogisticNormal as LogisticNormal
from dispatchkit.as_torch.distributions.by_functions import Pareto as Pareto
from dispatchkit.as_torch.distributions.by_functions import RelaxedBernoulli as RelaxedBernoulli
from dispatchkit.as_torch.distributions.by_functions import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from dispatchkit.as_torch.distributions.by_functions import Weibull as Weibull
from dispatchkit.as_torch.distributions.compound import Independent as Independent
from dispatchkit.as_torch.distributions.compound import LogNormal as LogNormal
from dispatchkit.as_torch.distributions.compound import MixtureSameFamily as MixtureSameFamily
from dispatchkit.as_torch.distributions.compound import TransformedDistribution as TransformedDistribution
from dispatchkit.as_torch.distributions.continuous import Cauchy as Cauchy
from dispatchkit.as_torch.distributions.continuous import Gumbel as Gumbel
from dispatchkit.as_torch.distributions.continuous import Laplace as Laplace
from dispatchkit.as_torch.distributions.continuous import Normal as Normal
from dispatchkit.as_torch.distributions.continuous import StudentT as StudentT
from dispatchkit.as_torch.distributions.continuous import Uniform as Uniform
from dispatchkit.as_torch.distributions.cross_divergences import kl_divergence as kl_divergence
from dispatchkit.as_torch.distributions.discrete import Bernoulli as Bernoulli
from dispatchkit.as_torch.distributions.discrete import Binomial as Binomial
from dispatchkit.as_torch.distributions.discrete import Categorical as Categorical
from dispatchkit.as_torch.distributions.discrete import Geometric as Geometric
from dispatchkit.as_torch.distributions.discrete import Multinomial as Multinomial
from dispatchkit.as_torch.distributions.discrete import NegativeBinomial as NegativeBinomial
from dispatchkit.as_torch.distributions.discrete import OneHotCategorical as OneHotCategorical
from dispatchkit.as_torch.distributions.discrete import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from dispatchkit.as_torch.distributions.discrete import Poisson as Poisson
from dispatchkit.as_torch.distributions.distribution import Distribution as Distribution
from dispatchkit.as_torch.distributions.distribution import ExponentialFamily as ExponentialFamily
from dispatchkit.as_torch.distributions.divergences import register_kl as register_kl
from dispatchkit.as_torch.distributions.further import ContinuousBernoulli as ContinuousBernoulli
from dispatchkit.as_torch.distributions.further import FisherSnedecor as FisherSnedecor
from dispatchkit.as_torch.distributions.further import GeneralizedPareto as GeneralizedPareto
from dispatchkit.as_torch.distributions.further import VonMises as VonMises
from dispatchkit.as_torch.distributions.further_transforms import CatTransform as CatTransform
from dispatchkit.as_torch.distributions.further_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from dispatchkit.as_torch.distributions.further_transforms import ReshapeTransform as ReshapeTransform
from dispatchkit.as_torch.distributions.further_transforms import StackTransform as StackTransform
from dispatchkit.as_torch.distributions.matrices import Wishart as Wishart
from dispatchkit.as_torch.distributions.multivariate import LKJCholesky as LKJCholesky
from dispatchkit.as_torch.distributions.multivariate import LowRankMultivariateNormal as LowRankMultivariateNormal
from dispatchkit.as_torch.distributions.multivariate import MultivariateNormal as MultivariateNormal
from dispatchkit.as_torch.distributions.positive import Beta as Beta
from dispatchkit.as_torch.distributions.positive import Chi2 as Chi2
from dispatchkit.as_torch.distributions.positive import Dirichlet as Dirichlet
from dispatchkit.as_torch.distributions.positive import Exponential as Exponential
from dispatchkit.as_torch.distributions.positive import Gamma as Gamma
from dispatchkit.as_torch.distributions.positive import HalfCauchy as HalfCauchy
from dispatchkit.as_torch.distributions.positive import HalfNormal as HalfNormal
from dispatchkit.as_torch.distributions.registry import biject_to as biject_to
from dispatchkit.as_torch.distributions.registry import transform_to as transform_to
from dispatchkit.as_torch.distributions.transforms import AbsTransform as AbsTransform
from dispatchkit.as_torch.distributions.transforms import AffineTransform as AffineTransform
from dispatchkit.as_torch.distributions.transforms import ComposeTransform as ComposeTransform
from dispatchkit.as_torch.distributions.transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from dispatchkit.as_torch.distributions.transforms import ExpTransform as ExpTransform
from dispatchkit.as_torch.distributions.transforms import IndependentTransform as IndependentTransform
from dispatchkit.as_torch.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from dispatchkit.as_torch.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from dispatchkit.as_torch.distributions.transforms import PowerTransform as PowerTransform
from dispatchkit.as_torch.distributions.transforms import SigmoidTransform as SigmoidTransform
from dispatchkit.as_torch.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from dispatchkit.as_torch.distributions.transforms import SoftplusTransform as SoftplusTransform
from dispatchkit.as_torch.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from dispatchkit.as_torch.distributions.transforms import TanhTransform as TanhTransform
from dispatchkit.as_torch.distributions.transforms import Transform as Transform
from dispatchkit.as_torch.distributions.transforms import identity_transform as identity_transform
