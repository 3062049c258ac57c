"""What the paper leaves open is chosen here, by name; each choice says why.

Every field of :class:`Choices` is one thing that a text on serving can leave unsaid and
a bill cannot. The defaults follow the paper where it is definite and DeepSeek's own
reports where it is not; ``page.stills.tornado`` shows what each
of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from llmserve_lab.catalog import PRECISIONS, Accelerator
from llmserve_lab.catalog.data.hopper import GH100
from llmserve_lab.catalog.evidence.kernels import LENT_SMS
from llmserve_lab.checks import is_whole
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    PAPER,
    Generations,
    Shares,
    alike,
    generation,
    measured_shares,
)

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

Form = Literal["absorbed", "vanilla"]
Experts = Literal["expected", "busiest", "all"]
Overlap = Literal["none", "hidden", "halves"]
Ridge = Literal["round", "sharp"]
Ports = Literal["near", "far"]
FORMATS = tuple(PRECISIONS)
OPTIONS: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "form": get_args(Form),
        "experts": get_args(Experts),
        "overlap": get_args(Overlap),
        "ridge": get_args(Ridge),
        "near_copies": get_args(Ports),
        **dict.fromkeys(
            ("dispatch", "combine", "products", "attention", "cache"), FORMATS
        ),
        **dict.fromkeys(
            ("shared_travels", "dense_layers_send", "table_is_read", "passes"),
            (False, True),
        ),
    }
)
COUNTS = ("n_redundant", "n_draft")
GENERATIONS = {"hopper", "blackwell"}


def _balance() -> float:
    """Late, because the twin that finds it is made of choices itself."""
    from llmserve_lab.deepseek.calibration.routing_balance import balance_reached

    return balance_reached()


@dataclass(frozen=True, kw_only=True)
class Choices:
    """One way to read the model, every ambiguity settled.

    - ``form``: decode absorbs (each figure of the paper does); prefill never should.
    - ``experts``: the touched experts of a GPU, expected, since the exact mean is
      known; the paper's balls in bins, or all of them.
    - ``overlap``: two halves of the batch, which is what (49) and both systems run; one
      batch ``hidden`` is the form of section 3, which reads all weights once.
    - ``n_redundant``: copies of experts, 32 in both published deployments.
    - ``balancedness``: at which a published pair of runs differs as it does.
    - ``shared_travels``: the paper sends to the shared expert like to a routed one;
      both published deployments keep it on every GPU, which costs no copy.
    - ``dense_layers_send``: only layers with experts send; the paper counts all 61.
    - ``dispatch``, ``combine``, ``products``, ``attention``, ``cache``: FP8 there, BF16
      back, FP8 in weight products (and so a byte a weight) and BF16 in attention and
      cache, as DeepSeek's overview says.
    - ``table_is_read``: a look-up reads rows of the embedding; the paper reads it all.
    - ``shares``: of every peak, reached by published kernels, for each generation.
    - ``ridge``: kernels near their ridge reach neither peak (round), as their
      published times show; the paper lets the longer of two times hide the other.
    - ``passes``: what lies between the products takes time; the paper leaves it out.
    - ``near_copies``: copies for the own node go through the links inside it; until
      June 2025 the library's kernels for decode sent them to the far port as well.
    - ``lent_share``: of the multiprocessors, what prefill lends to the communication
      while the two overlap.
    - ``usable_memory``: the usual share that a serving engine takes for itself.
    - ``n_draft``, ``accepted``: rows of a draft that are checked along (multi-token
      prediction), and tokens that a step leaves on average; none, as in the paper. The
      layer that drafts them is not charged.

    Raises:
        ValueError: an option is unknown, a share or a count is out of range, or shares
            are missing for a generation of GPUs.
    """

    form: Form = "absorbed"
    experts: Experts = "expected"
    overlap: Overlap = "halves"
    n_redundant: int = 32
    balancedness: float = field(default_factory=_balance)
    shared_travels: bool = False
    dense_layers_send: bool = False
    dispatch: str = "fp8"
    combine: str = "bf16"
    products: str = "fp8"
    attention: str = "bf16"
    cache: str = "bf16"
    table_is_read: bool = False
    shares: Generations = field(default_factory=measured_shares)
    ridge: Ridge = "round"
    passes: bool = True
    near_copies: Ports = "near"
    lent_share: float = float(LENT_SMS) / float(GH100.num_sms)
    usable_memory: float = 0.9
    n_draft: int = 0
    accepted: float = 1.0

    def __post_init__(self) -> None:
        for name, known in OPTIONS.items():
            if (made := getattr(self, name)) not in known:
                among = ", ".join(map(str, known))
                raise ValueError(f"{name} must be one of {among}, got {made!r}")
        for name in ("balancedness", "usable_memory"):
            if not 0 < (share := getattr(self, name)) <= 1:
                raise ValueError(f"{name} must be a share in (0, 1], got {share}")
        if not 0 <= self.lent_share < 1:
            raise ValueError(
                f"lent_share must be a share in [0, 1), got {self.lent_share}"
            )
        self._check_counts()
        if set(self.shares) != GENERATIONS:
            raise ValueError(
                f"shares must be those of {', '.join(sorted(GENERATIONS))}, got "
                f"{', '.join(self.shares) or 'none'}"
            )

    def _check_counts(self) -> None:
        for name in COUNTS:
            count = getattr(self, name)
            if not is_whole(count) or count < 0:
                raise ValueError(
                    f"{name} must be a whole number, 0 or more, got {count}"
                )
        most = 1 + self.n_draft
        if not 1 <= self.accepted <= most:
            raise ValueError(
                f"accepted must be 1 to {most} tokens with n_draft = "
                f"{self.n_draft}, got {self.accepted}"
            )

    def shares_on(self, device: Accelerator) -> Shares:
        """What is reached on a GPU of this generation."""
        return self.shares[generation(device)]

    def table(self) -> Table:
        """Table of every choice as it was made."""
        from llmserve_lab.page.table import Table

        rows = [(each.name, _shown(getattr(self, each.name))) for each in fields(self)]
        return Table("What the text leaves open", ("choice", "made"), rows)


def as_printed() -> Choices:
    """The choices that the paper's text makes, where it makes one."""
    return Choices(
        experts="busiest",
        shares=alike(PAPER),
        ridge="sharp",
        passes=False,
        shared_travels=True,
        balancedness=1.0,
        dense_layers_send=True,
        table_is_read=True,
        lent_share=0.0,
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {share.name}" for key, share in value.items())
    return str(
        getattr(value, "name", f"{value:.3g}" if isinstance(value, float) else value)
    )
