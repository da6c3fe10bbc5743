"""The methods by which the shipped types become arrays of other libraries, the same for every nesting."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.types.exchange.labels import make_xarray
from dispatchkit.types.exchange.libraries import library
from dispatchkit.types.exchange.parts import Parts, parts_of
from dispatchkit.types.exchange.quantities import make_astropy, make_pint
from dispatchkit.types.exchange.tables import make_pandas, make_polars


class Exchanged:
    """An array that has a method for each library that holds what it holds."""

    data: Any

    def __parts__(self) -> Parts:
        return self._parts(parts_of(self.data))

    def _parts(self, inner: Parts) -> Parts:
        """Return what this array holds around what is inside.

        Raises
        ------
        TypeError : of a type that other libraries do not know
        """
        name = type(self).__name__
        raise TypeError(f"{name}: other libraries hold nothing of what a {name} has; take .data first")

    def to_numpy_ma(self) -> Any:
        """Return a masked array of `numpy.ma`: a copy, of the same dtype.

        Raises
        ------
        TypeError : for names, units, standard deviations and metadata, which it does not hold
        AutogradError : if the array requires a gradient; detach it

        Examples
        --------
        >>> import dispatchkit as dk
        >>> dk.types.MaskedTensor([1.0, 2.0], [True, False]).to_numpy_ma().tolist()
        [1.0, None]
        """
        parts = parts_of(self)
        parts.require(self._caller("to_numpy_ma"), "an array of numpy.ma", ("mask",))
        return np.ma.array(parts.values(), mask=parts.missing())

    def to_pandas(self, **options: Any) -> Any:
        """Return a Series of pandas, or a DataFrame of two axes: a copy.

        Masked arrays become nullable columns such as ``Int64``. Uncertain numbers become objects of the library
        uncertainties, with their correlations. The unit is in ``attrs["units"]``, which pandas does not compute with.
        Names of axes are those of index and columns; metadata are attributes, but for labels that came from pandas.

        Parameters
        ----------
        **options : of `pandas.Series` or `pandas.DataFrame`, such as ``index=table.index``, without which the elements
            are numbered from 0, and a table with another index takes them for other rows

        Raises
        ------
        ValueError : if there are more than two axes, or none
        TypeError : for complex numbers and half precision with a mask, of which pandas has no column
        ImportError : without pandas
        """
        return make_pandas(parts_of(self), self._caller("to_pandas"), options)

    def to_polars(self, **options: Any) -> Any:
        """Return a Series of polars, or a DataFrame of two axes: a copy, with nulls for missing elements.

        Parameters
        ----------
        **options : of `polars.Series` or `polars.DataFrame`, such as ``name="speed"`` or ``schema=["a", "b"]``

        Raises
        ------
        ValueError : if there are more than two axes, or none
        TypeError : for names of axes, units, standard deviations, complex numbers, and metadata but the labels that
            came from polars
        ImportError : without polars
        """
        return make_polars(parts_of(self), self._caller("to_polars"), options)

    def to_xarray(self) -> Any:
        """Return a `DataArray` of xarray with the names as dimensions, which shares the memory of a plain array inside.

        Other types inside, such as quantities, become its `data` as they are. Metadata are its attributes; coordinates
        and name that came from xarray go back to their places.

        Raises
        ------
        AutogradError : if the array inside requires a gradient; detach it
        ImportError : without xarray
        """
        array, names, metadata = self._labelled()
        return make_xarray(array, names, metadata, self._caller("to_xarray"))

    def _labelled(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return the array inside of names and metadata, the names of its axes, None without some, and the metadata."""
        return self, None, {}

    def to_uncertainties(self) -> Any:
        """Return an array of numbers of the library uncertainties, correlated as these are; exact ones are floats.

        Raises
        ------
        TypeError : for names, units, masks and metadata, which it does not hold
        ImportError : if uncertainties is not installed
        """
        parts = parts_of(self)
        caller = self._caller("to_uncertainties")
        parts.require(caller, "an array of uncertainties", ("uncertainty",))
        library("uncertainties", caller)
        return parts.elements(caller)

    def to_pint(self, registry: Any = None) -> Any:
        """Return a quantity of Pint, of a copy of the numbers.

        Masked arrays are arrays of `numpy.ma` in it, uncertain numbers those of the library uncertainties, with their
        correlations; a single uncertain number is a `Measurement`. What has no unit is dimensionless.

        Parameters
        ----------
        registry : of Pint; its application registry by default

        Raises
        ------
        UnitError : if the registry does not know the unit
        TypeError : for names and metadata, which it does not hold
        ImportError : without Pint, or of uncertain numbers without uncertainties
        """
        return make_pint(parts_of(self), self._caller("to_pint"), registry)

    def to_astropy(self) -> Any:
        """Return a `Quantity` of astropy, `Masked` where it has a mask; `NDData` of uncertain numbers and of metadata.

        Raises
        ------
        UnitError : if astropy does not know the unit; differences of temperatures go as K
        TypeError : for names, which it does not hold, and correlated numbers
        ImportError : without astropy
        """
        return make_astropy(parts_of(self), self._caller("to_astropy"))

    def _caller(self, method: str) -> str:
        return f"{type(self).__name__}.{method}"
