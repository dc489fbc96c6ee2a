"""Format numbers, weights and shares, identically on pages, in figures and in files."""
import math
from collections.abc import Callable, Iterable


def true_minus(written: str) -> str:
    """Return a formatted number with a true minus sign (−) if it is negative. Files for programs keep the hyphen."""
    return f"−{written[1:]}" if written.startswith("-") else written


def format_weight(weight: float) -> str:
    """Format a weight with three decimals, but a nonzero weight never as 0.000."""
    return true_minus(f"{weight:z.3f}" if abs(weight) >= 0.0005 or weight == 0 else f"{weight:.1e}")


def format_change(number: float) -> str:
    """Format a change with its sign, a true minus sign, and the decimals of a weight."""
    return ("+" if number > 0 else "−" if number < 0 else "") + format_weight(abs(number))


def format_number(number: float, digits: int = 3) -> str:
    """Format a number with `digits` significant digits. An exponent is used only below 0.001 and from a million
    upwards."""
    rounded = float(f"{number:.{digits}g}")
    plain = rounded == 0 or 1e-3 <= abs(rounded) < 1e6
    return true_minus(f"{rounded:.15g}" if plain else f"{rounded:.{digits - 1}e}")


def format_difference(difference: float) -> str:
    """Format the difference between two answers that should be equal, as an order of magnitude with one digit."""
    return f"{difference:.0e}"


def format_share(share: float, decimals: int = 1) -> str:
    """Format a share between 0 and 1 as a percentage."""
    return f"{share:z.{decimals}%}"


def format_signed(number: float, form: str) -> str:
    """Format a number with `form` and a true minus sign; NaN becomes "", and a number that rounds to 0 has no sign."""
    sign = form[:1] if form[:1] == "+" else ""
    return f"{number:{sign}z{form.removeprefix(sign)}}".replace("-", "−") if math.isfinite(number) else ""


def rank(number: float, numbers: Iterable[float], write: Callable[[float], str] = format_weight) -> tuple[int, int]:
    """Return a number's rank among `numbers` (which include it, largest first) and the number of other values tied with
    it. Values tie if `write` formats them identically."""
    numbers = list(numbers)
    tied = [other for other in numbers if write(other) == write(number)]
    return 1 + sum(other > max(tied) for other in numbers), len(tied) - 1
