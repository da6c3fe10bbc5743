"""A fit of the law of Michaelis and Menten to a table with units, gaps and errors.

Run it with ``python docs/enzyme_kinetics.py``; docs/tutorials/enzyme-kinetics.md tells of it. It needs matplotlib,
which draws the result into docs/enzyme-kinetics.svg.
"""

from __future__ import annotations

import csv
import io

import matplotlib.pyplot as plt
import numpy as np

import dispatchkit as dk
from dispatchkit.interop.plotting import errorbar
from dispatchkit.types import MaskedTensor, QuantityTensor, UncertainTensor

TABLE = """\
substrate (µmol/L),rate (nmol/min),error (nmol/min)
5,3.64,0.50
10,,
20,11.26,0.50
40,18.50,0.70
60,22.75,0.90
80,27.10,1.00
120,33.12,1.10
160,,
240,37.35,1.30
320,40.88,1.40
500,43.21,1.40
"""

# 1. Reading.

titles, *rows = csv.reader(io.StringIO(TABLE))
numbers = np.array([[float(cell or "nan") for cell in row] for row in rows])


def column(place):
    """Return a column with its unit and its gaps."""
    _, unit = titles[place].rstrip(")").split(" (")
    return QuantityTensor(MaskedTensor(numbers[:, place], ~np.isnan(numbers[:, place])), unit)


substrate, rate, error = column(0), column(1), column(2)
measured = UncertainTensor(rate, error)


# 2. The law.


def law(constants, substrate):
    """Return the rate of Michaelis and Menten."""
    vmax, km = QuantityTensor(constants[0], "nmol/min"), QuantityTensor(constants[1], "µmol/L")
    return (vmax * substrate / (km + substrate)).to("nmol/min")


# 3. The fit.


def residuals(constants):
    """Return how far the measurements are from the law, in standard deviations."""
    return ((rate - law(constants, substrate)) / error).filled(0.0).magnitude


constants = dk.asarray([43.0, 80.0])
for _ in range(10):
    jacobian = dk.func.jacfwd(residuals)(constants)
    constants = constants - dk.linalg.solve(jacobian.T @ jacobian, jacobian.T @ residuals(constants))


# 4. Uncertainties of the constants.

jacobian = dk.func.jacfwd(residuals)(constants)
covariance = dk.linalg.inv(jacobian.T @ jacobian)
fitted = UncertainTensor.from_covariance(constants, covariance)
vmax, km = QuantityTensor(fitted[0], "nmol/min"), QuantityTensor(fitted[1], "µmol/L")

# 5. The picture.

line = QuantityTensor(np.linspace(0.0, 0.52, 200), "mmol/L")
curve = law(fitted, line)
spread = QuantityTensor(curve.magnitude.std, "nmol/min")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
errorbar(axes, substrate, measured, fmt="o", markersize=4, capsize=3, label="measured")
axes.plot(line, curve, label="fitted")
axes.fill_between(line, curve - spread, curve + spread, color="C1", alpha=0.3)
axes.set(xlabel=titles[0], ylabel=titles[1])
axes.legend()

# 6. The whole.

if __name__ == "__main__":
    print(f"{int(measured.magnitude.valid.sum())} of {rate.size} measurements")
    print(f"vmax {vmax}, km {km}, vmax / km {(vmax / km).to('mL/min')}")
    print(f"sum of squares {dk.sum(residuals(constants) ** 2).item():.1f}")
    with plt.rc_context({"svg.hashsalt": "enzyme", "svg.fonttype": "none"}):
        figure.savefig(__file__.replace("enzyme_kinetics.py", "enzyme-kinetics.svg"), metadata={"Date": None})
