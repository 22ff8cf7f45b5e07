"""erf: an odd polynomial near 0, and 1 - erfc beyond, where erfc is small enough to be forgiving.

f32 takes erfc(t) = exp(-q(t)) with a polynomial q; f64 takes exp(-t²) c(t) / (1 + 2t), where c is smooth in
(t - 2) / (t + 2). Largest errors found, in units of the last place: f32 1.2, f64 0.9.
"""

from __future__ import annotations

from burn.cube.ir import Value
from burn.cube.math.exponential import exp, reduce, remainder_expm1
from burn.cube.math.writer import Writer
from burn.dtype import f32

SINGLE_NEAR = (
    8.33471859e-05, -0.000813470921, 0.00520036882, -0.0268591512, 0.112836912, -0.376126349, 0.128379166,
)  # fmt: skip
DOUBLE_NEAR = (
    5.957176147748911e-11, -1.1372848856791674e-09, 1.4659775274047436e-08, -1.6350312701054695e-07,
    1.6461000484121368e-06, -1.4925595266831182e-05, 0.0001205533111164271, -0.000854832698083379,
    0.0052239776248180145, -0.026866170645076792, 0.11283791670954879, -0.3761263890318375, 0.1283791670955126,
)  # fmt: skip
"""erf(x) / x - 1 in powers of x², highest first, up to |x| = 0.93 (f32) and 1 (f64)."""

SINGLE_FAR = (
    -1.64306368e-06, 4.61638592e-05, -0.000597585749, 0.00476262579, -0.0264276378, 0.110087164, 0.631823897,
    1.13023102, -0.000318539649,
)  # fmt: skip
"""-log(erfc(t)) from 0.9 to 4, highest power first."""
DOUBLE_FAR = (
    -7.321824212020539e-07, 5.401611216106129e-06, 4.874434631626951e-06, -1.376106291644865e-05,
    -3.6695696813590884e-05, -1.4305842330551708e-06, 0.00015107403181836376, 0.00020635617364869995,
    -0.0004543434349360294, -0.001456813122177347, 0.001271339079973052, 0.008722653842698942,
    -0.008034015085202727, -0.054220000991394075, 0.16405128003347452, -0.16603039761529412,
    -0.09276382658574613, 1.2769783815525286,
)  # fmt: skip
"""exp(t²) erfc(t) (1 + 2t) in powers of (t - 2) / (t + 2), for t from 0.9 to 6.2."""


def erf(w: Writer, x: Value) -> Value:
    """The error function."""
    b = w.b
    single = x.dtype is f32
    a = w.at_most(abs(x), 4.0 if single else 6.2)
    near = w.multiply_add(x, w.polynomial(x * x, SINGLE_NEAR if single else DOUBLE_NEAR), x)
    if single:
        r, _, bits = reduce(w, -w.polynomial(a, SINGLE_FAR))
        rest = w.power_of_two(bits, x.dtype) * (remainder_expm1(w, r) + 1.0)
    else:
        rest = exp(w, -(a * a)) * w.polynomial((a - 2.0) / (a + 2.0), DOUBLE_FAR) / (a * 2.0 + 1.0)
    far = b.copysign(1.0 - rest, x)
    return b.select(a < (0.927734375 if single else 0.95), near, far)
