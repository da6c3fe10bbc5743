"""What will come of a call, found without making it: the one answer that explanations, audits and coverage read.

`predict` binds a call to the signature, asks who answers, and follows those who answer by further calls (a fallback, a
body) through each of them, on stand-ins that know type, shape and dtype. It ends in a `Prediction`: how the call is
answered or fails, who is responsible, and whether that depends on values. No function of a user is called.

>>> import dispatchkit as dk
>>> found = predict(dk.tensor_protocol.operation(dk.flip), (dk.types.ScalarTensor(3, 2.0),), {})
>>> found.outcome.name, found.depends_on_values
('dense', '')

For calls by types alone, as in an audit, give a `StandIn` in the place of each array: ``make_stand_in(protocol, (cls,),
Layout(shape, dtype))``.
"""

from dispatchkit.protocol.parameters import Layout
from dispatchkit.protocol.prediction.follow import predict, predict_result
from dispatchkit.protocol.prediction.stand_in import PredictionCache, StandIn, make_stand_in
from dispatchkit.protocol.prediction.tree import Asked, Prediction

__all__ = ["Asked", "Layout", "Prediction", "PredictionCache", "StandIn", "make_stand_in", "predict", "predict_result"]
