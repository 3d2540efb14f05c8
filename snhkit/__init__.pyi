"""The public names of snhkit, and where each is defined."""

from . import districts as districts
from .builders import (
    DAWA as DAWA,
)
from .builders import (
    HDMM as HDMM,
)
from .builders import (
    HTF as HTF,
)
from .builders import (
    PGM as PGM,
)
from .builders import (
    AdaptiveGrid as AdaptiveGrid,
)
from .builders import (
    HierarchicalGrid as HierarchicalGrid,
)
from .builders import (
    Identity as Identity,
)
from .builders import (
    Privelet as Privelet,
)
from .builders import (
    PrivTree as PrivTree,
)
from .builders import (
    QuadTree as QuadTree,
)
from .builders import (
    Tessellation as Tessellation,
)
from .builders import (
    UniformGrid as UniformGrid,
)
from .data import (
    CITIES as CITIES,
)
from .data import (
    city as city,
)
from .data import (
    read_points as read_points,
)
from .data import (
    scan_points as scan_points,
)
from .data import (
    synthetic_points as synthetic_points,
)
from .dataset import (
    PrivateDataset as PrivateDataset,
)
from .districts import (
    read_boxes as read_boxes,
)
from .errors import (
    BudgetExceeded as BudgetExceeded,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    ReleaseFileError as ReleaseFileError,
)
from .errors import (
    SnhkitError as SnhkitError,
)
from .experiment import (
    compare as compare,
)
from .experiment import (
    compare_sizes as compare_sizes,
)
from .geometry import (
    By as By,
)
from .geometry import (
    Points as Points,
)
from .geometry import (
    RangeQueries as RangeQueries,
)
from .geometry import (
    Region as Region,
)
from .geometry import (
    exact_counts as exact_counts,
)
from .loading import (
    load as load,
)
from .methods import (
    METHODS as METHODS,
)
from .neural import (
    DPSGD as DPSGD,
)
from .neural import (
    MLP as MLP,
)
from .neural import (
    SNH as SNH,
)
from .neural import (
    DenoisedGrid as DenoisedGrid,
)
from .neural import (
    FeatureGrid as FeatureGrid,
)
from .neural import (
    Networks as Networks,
)
from .neural import (
    Prior as Prior,
)
from .planning import (
    epsilon_for as epsilon_for,
)
from .planning import (
    expected_error as expected_error,
)
from .planning import (
    recommend as recommend,
)
from .privacy import (
    Budget as Budget,
)
from .privacy import (
    Ledger as Ledger,
)
from .privacy import (
    NoisyQuantile as NoisyQuantile,
)
from .release import (
    Release as Release,
)
from .select import (
    ParamSelect as ParamSelect,
)
from .viz.maps import (
    compare_map as compare_map,
)
from .viz.maps import (
    district_map as district_map,
)
from .viz.reports.public_page import (
    save_page as save_page,
)
from .widgets import (
    explore as explore,
)

__version__: str
__all__: list[str]
