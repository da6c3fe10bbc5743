"""Public objects name their public home, `dir` shows them and no more, and what was pickled before still loads."""

import base64
import doctest
import pickle
import subprocess
import sys
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.conftest  # what is tested: examples are found by it
import dispatchkit.report
import dispatchkit.testing
from dispatchkit.declare.namespace import defining_module
from dispatchkit.former_modules import FORMER

HOMES = [
    "dispatchkit",
    *(
        f"dispatchkit.{name}"
        for name in (
            *("autograd", "data", "fft", "func", "linalg", "nn", "nn.functional", "nn.init", "nn.utils", "optim"),
            *("optim.lr_scheduler", "random", "report", "special", "testing", "types"),
        )
    ),
]

# Pickled by the first version, when functions and classes named the files that define them; base 85.
FUNCTIONS = (
    b"fCQEN000000000ej3s1gb8umFV`yt>bS`gjb1r3UWo>0{ba!cUWnX4>Zew(5Z*Fsxj00tOaFmmjj22{Rb8umFV`yt>bS`gjb1rOY"
    b"ZeeU^l#ByuZg!NDl#Cu^X>)L4bYp01X>=}caC0tZW^`Y4a$#<BW^ZzBbCiq&W@dDhla!1iWNCA7VRU0?YiV>YZ*X%iWo%__Wo~qL"
    b"X>(;?VsCYBWOI~^1af6;b(E8oj2&cYb8umFV`yt>bS`gjb1r3gbaG*HUu9`-b9HT$j0R<CZgX{Ql#`T<7i4L3aA9;~XlrS7E^lyi"
    b"E^2RSZfS03l#B*rZ*F5@bd-~nbd)X"
)
TENSOR = (
    b"fCQD-000000001t8Dwd5aA9;~XlrS7E_7vXb8m7kbY*UHZ*r832w!q#Vs&Y3bd-~nC};qT22^Ekb8m8#la!1WZgp*Nc`jdLZ*pZW"
    b"ZFOvPX<>45VR@8{3}13(V{dMAbaHiLbd-~nj0J9WZE$&%j0bLHVRCX|d6bisO8|wGLjhuxhm=y3C`$oL0)>=l2#f_}ba`-Pl#`T<"
    b"0%kariHL`kQj{o51B?MYluk}gO8@`=|4RS=|Nlz>bd+L=Ll6J}00000@IL?m0000006>&<lwyc|lysC*lr8"
)
PARAMETER = (
    b"fCQE6000000001t8Dwd5aA9;~XlrS7E_7vXb8m7kbY*UHZ*r832w!q#Vs&Y3bd-~nD2y0nX>)L4bYp01X>=}bZZ2?Pa$#*{bY*gs"
    b"j0sR-a$#*{bY*gsla!1WZgp*Nc`jdLZ*pZWZFOvPX<>45VR@8{3}13(V{dMAbaHiLbd-~nj0J9WZE$&%j0bLHVRCX|d6bisO8|wG"
    b"Ljhuxhm=y3C`$oL0fm%k35*3~ba`-Pl#`T<0%kariHL`kQj{o51B?MYluk}gO8@`=|4RS=|Nlz>bd+L=LkIu>00000@IRDvlwyc|"
    b"lysC*lr8"
)
MODULE = (
    b"fCQC20{{R30001t8Dwd5aA9;~XlrS7E^clvV{dMBVQFq<a&wf73R7iqb!BdJX<=-Xlawielzo&aj0kjcVQFq@ZfBH;j1XUNVRB(@"
    b"Wprh7Uv6P-Wpk8$l#C5uVs&O_WpZC`VQpn|lzo(p4PR|<WOZz1Uv6P-Wpk8$lqie=FqBS=0Wp+Lb&L;Rb76L6UvP3|UubV{Yjc#0"
    b"3uA9=Y-M9~X>V?Gl#B~ca%5$4Wn@HYV|0|0lqph_j1XUQVRmI-aBp*TUubV{Yjc!n5h+rXj1OOIZ((F#aB^i|Xm4+8bChTiDN>Y-"
    b"5MOL>VPs!$Z*z2CXm4+8bChTiDN>Y-3twYlY;0d>Z*OaJlxPttQj};6j1^>Qb8umFV`yt>bS`dgE^KLTWnprZj0Q|;Ze?L|l#`Sx"
    b"fs}oeC};(UXa;?hD2xVoWoc(<bd*kv1Y&7nbCgbXXb63jXbOFlXbxx*DN>YZ6KD}BQj};FXb~w=lxP=d5h+rXXc=e`DN>Y-3u$g&"
    b"W@TY?b#i5MluH7P3~zOGUuI=tbairNbCgQ~Xd#RlWNCA7VRU0?YiV>YbY*UHZ*nelWo~nCa+Hh+Uvgz)b!lvLl#`Swj2L8Tb8umF"
    b"V`yt>bS`dgE^uLTVQpn}Wpb2^2~c5jVQpn}Wpb30l#CW`b!~8YE?;ABa%C=Ub!>ELVRCX|d6bL{Uvgz*Z*FsRa&=>Ll#`T<1#We1"
    b"aCwxB2X16xa&lpLl#`T80ELu80b-Pglv0!^O94v(O9F<JXf=!lWOR9OWt5YYi~?pjl!=Iklv0!^O9PAnJd{pOPD=m(|Nlz=|Ns9>"
    b"0CbdMi9-+o000000PsHm00000002Ogbd+L<eUx;RQj};SXf7ydF=#YsH%kD8lxR7Jlv0!^O94v(g_LMPi9-kg0000000=;obd+L<"
    b"eUx;RQj~RKXbp@SWNCA7VRU0?YiV>YZf-7NV{~bDVRUJ4ZgZ531X5*8Rg{yIDS?!IlqhHgh-e0VlxPTjlxPZllxPlU5h+rXXcK4="
    b"DN>YZ6=)GDQj};HXb~w=lxP`f5h+rXj0b6MaBN{?Wt53^Vs&CJ"
)
SCALAR = (
    b"fCQCH000000001t7-VU4aA9;~XlrS7E_8WtWpgfbV_|Gza+Hh=Q)6LlVRBSuZgX#Pl#`Sxfs}oeD2xGaluHAQ1$JR<b!C)CKmY&$00000bz&|"
)


def test_functions_and_classes_name_the_module_that_users_import_them_from() -> None:
    values: list[Any] = [
        dk.add,
        dk.Tensor,
        dk.linalg.inv,
        dk.nn.Linear,
        dk.nn.functional.gelu,
        dk.errors.RegistrationError,
    ]
    assert [value.__module__ for value in values] == [
        "dispatchkit",
        "dispatchkit",
        "dispatchkit.linalg",
        "dispatchkit.nn",
        "dispatchkit.nn.functional",
        "dispatchkit.errors",
    ]
    assert repr(dk.Tensor) == "<class 'dispatchkit.Tensor'>"


def test_what_several_modules_show_belongs_to_the_outermost() -> None:
    assert dk.matmul is dk.linalg.matmul
    assert (dk.matmul.__module__, dk.no_grad.__module__) == ("dispatchkit", "dispatchkit")


@pytest.mark.parametrize("home", HOMES)
def test_every_public_function_and_class_is_pickled_by_a_public_name(home: str) -> None:
    module = import_module(home)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, (type, FunctionType)) and value.__module__.startswith("dispatchkit"):
            assert value.__module__ in (*HOMES, "dispatchkit.errors"), name
            assert pickle.loads(pickle.dumps(value)) is value, name


@pytest.mark.parametrize("home", HOMES)
def test_dir_shows_the_public_names_and_no_more(home: str) -> None:
    module = import_module(home)
    shown = [name for name in dir(module) if not (name.startswith("__") and name.endswith("__"))]
    assert shown == sorted(name for name in module.__all__ if not name.startswith("__"))


def test_a_pickle_names_the_public_home() -> None:
    assert b"cdispatchkit\nexp\n" in pickle.dumps(dk.exp, 0)
    assert b"cdispatchkit\nTensor\n" in pickle.dumps(dk.Tensor, 0)


def unpickled(text: bytes) -> Any:
    return pickle.loads(base64.b85decode(text))


def test_functions_pickled_by_the_file_that_defined_them_load() -> None:
    assert unpickled(FUNCTIONS) == (dk.exp, dk.linalg.inv, dk.fft.fft, dk.nn.functional.relu, dk.einsum, dk.concat)


def test_tensors_parameters_and_types_pickled_before_load() -> None:
    tensor, parameter, scalar = unpickled(TENSOR), unpickled(PARAMETER), unpickled(SCALAR)
    assert (type(tensor), tensor.tolist(), tensor.requires_grad) == (dk.Tensor, [1.0, 2.0], True)
    assert (type(parameter), parameter.tolist()) == (dk.nn.Parameter, [1.0])
    assert (type(scalar), repr(scalar)) == (dk.types.ScalarTensor, "ScalarTensor(n=3, value=2.0)")


def test_modules_pickled_before_load() -> None:
    module = unpickled(MODULE)
    np.testing.assert_array_equal(module(dk.asarray([[1.0, 2.0]])).detach().numpy(), [[8.0]])


@pytest.mark.parametrize("name", sorted(FORMER))
def test_a_former_module_gives_what_stands_in_its_place(name: str) -> None:
    now = import_module(f"dispatchkit.{FORMER[name]}")
    former = import_module(f"dispatchkit.{name}")
    for public in now.__all__:
        assert getattr(former, public) is getattr(now, public)


def test_former_modules_are_found_in_a_new_process() -> None:
    program = "import sys, importlib; print(*[len(importlib.import_module(name).__all__) for name in sys.argv[1:]])"
    names = [f"dispatchkit.{name}" for name in FORMER]
    done = subprocess.run([sys.executable, "-c", program, *names], check=True, capture_output=True, text=True)
    assert min(map(int, done.stdout.split())) > 0


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'dispatchkit\.ops\.nosuch'"):
        import_module("dispatchkit.ops.nosuch")


def test_examples_are_found_in_the_module_that_defines_a_function() -> None:
    place = defining_module(dk.exp)
    assert place == "dispatchkit.ops.elementwise.exponential"
    found: dict[str, ModuleType] = {name: import_module(name) for name in (place, "dispatchkit")}
    names = {name: [test.name for test in doctest.DocTestFinder().find(module)] for name, module in found.items()}
    assert f"{place}.exp" in names[place]
    assert "dispatchkit.exp" not in names["dispatchkit"]
