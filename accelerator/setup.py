"""Compile modules of dispatchkit as they stand; nothing else says what they do."""

import re
import shutil
import sys
import sysconfig
import zlib
from contextlib import chdir
from pathlib import Path

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit("dispatchkit-accelerator is not for free-threaded builds of Python: dispatchkit runs without it")

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent.resolve()
# Beside this folder in a checkout, inside it in a source distribution.
ROOT = HERE if (HERE / "dispatchkit").is_dir() else HERE.parent
# Those that gain. None has functions that users see, which are to be Python's, or declares operations, whose bodies are
# read as such; none counts frames, which compiled functions have none of, or removes them from an error that it raises
# again, which compiled code does with those it caught; no generator has a function inside, since compiled generators
# hold their names in a closure, which would keep what it has seen until the garbage collector comes.
MODULES = [
    *(f"dispatchkit.declare.{name}" for name in ("derivative", "kernels", "outputs", "rules", "wrapping")),
    "dispatchkit.declare.compiled.default_implementations",
    *(f"dispatchkit.backends.{name}" for name in ("arrays", "numpy", "numpy_choices", "numpy_sums")),
    *(f"dispatchkit.graph.{name}" for name in ("node", "recording", "storage", "sweep")),
    *(f"dispatchkit.autograd.function_{name}" for name in ("context", "intermediates", "node", "record")),
    *(f"dispatchkit.nn.functional.{name}_numpy" for name in ("channels", "normalization", "pooling", "smooth")),
    *(f"dispatchkit.nn.functional.{name}" for name in ("norms_of_core", "shared", "windows")),
    "dispatchkit.nn.hooks",
    "dispatchkit.ops.shared",
    *(f"dispatchkit.protocol.{name}" for name in ("blocks", "parameters")),
    *(f"dispatchkit.as_torch.attributes.{name}" for name in ("dtypes", "shapes")),
    "dispatchkit.as_torch.table",
    *(f"dispatchkit.types.{name}" for name in ("rules", "uncertain_parts", "uncertain_sources", "uncertain_sums")),
]
# Those whose functions the entry point in C takes the place of.
FOLLOWED = [
    *(f"dispatchkit.declare.compiled.{name}" for name in ("entry_points", "template")),
    "dispatchkit.ops.indexing.indexing",
]
VERSION = re.search(r'^__version__ = "(.*)"', (ROOT / "dispatchkit" / "__init__.py").read_text(), re.MULTILINE)[1]
DIRECTIVES = {
    "annotation_typing": False,  # annotations are for readers, and change nothing
    "binding": True,  # functions have signatures, and are methods of their classes
    "language_level": 3,
}
# Without names for debuggers, which take nine tenths of the size. What is compiled calls Python throughout,
# and takes as long with more optimization.
FLAGS = [] if sys.platform == "win32" else ["-g0", "-O2"]
LINKED = ["-Wl,-s"] if sys.platform == "linux" else []
# Loops over numbers gain from more of it.
LOOPS = [] if sys.platform == "win32" else ["-O3"]
# Each of their steps rounds as NumPy's does, so that no two are joined.
APART = [] if sys.platform == "win32" else ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# What is written in C, further files of it, what they include, and flags.
IN_C = [
    ("_entry", [], ["_backward.h", "_indexing.h", "_nodes.h", "_reductions.h", "_spelled.h", "_ufuncs.h"], []),
    ("_rows", [], ["_passes.h", "_rows_of.h", "_ufuncs.h"], LOOPS),
    (
        "_loops",
        ["_activations.c", "_normal.c", "_ranks.c", "_sums.c", "_windows.c"],
        ["_activations.h", "_loops.h", "_passes.h", "_ranks.h", "_sums.h", "_ufuncs.h", "_windows.h"],
        [*LOOPS, *APART],
    ),
]


def source_of(module: str) -> Path:
    """Return the file of a module, from the root."""
    return Path(*module.split(".")).with_suffix(".py")


class BuildModules(build_ext):
    """Builds each module under its name in dispatchkit, and lays it into the folder of the accelerator."""

    def get_ext_fullpath(self, ext_name: str) -> str:
        """Return where a module is to be."""
        file = ext_name.removeprefix("dispatchkit_accelerator.") + sysconfig.get_config_var("EXT_SUFFIX")
        return str(Path(self.build_lib, "dispatchkit_accelerator", file))

    def build_extensions(self) -> None:
        """Translate the modules to C, and compile that."""
        extensions = [extension for extension in self.extensions if extension.name in MODULES]
        with chdir(ROOT):  # tracebacks name files from there
            translated = cythonize(
                extensions, build_dir=str(HERE / "build" / "c"), compiler_directives=DIRECTIVES, quiet=True
            )
        for extension, result in zip(extensions, translated, strict=True):
            extension.sources = result.sources
        super().build_extensions()

    def run(self) -> None:
        """Build all, and note what of."""
        super().run()
        sums = {module: zlib.crc32((ROOT / source_of(module)).read_bytes()) for module in (*MODULES, *FOLLOWED)}
        text = f"VERSION = {VERSION!r}\nMODULES = {MODULES!r}\nFOLLOWED = {sums!r}\n"
        built = Path(self.build_lib, "dispatchkit_accelerator", "built.py")
        built.write_text(f'"""Written by the build."""\n\n{text}')


class WithSources(sdist):
    """Puts the sources of the modules into the source distribution."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the files."""
        super().make_release_tree(base_dir, files)
        for source in (Path("dispatchkit", "__init__.py"), *map(source_of, (*MODULES, *FOLLOWED))):
            Path(base_dir, source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / source, Path(base_dir, source))


setup(
    version=VERSION,
    install_requires=[f"dispatchkit=={VERSION}"],
    ext_modules=[
        *(
            Extension(module, [str(source_of(module))], extra_compile_args=FLAGS, extra_link_args=LINKED)
            for module in MODULES
        ),
        *(
            Extension(
                f"dispatchkit_accelerator.{name}",
                [f"dispatchkit_accelerator/{file}" for file in (f"{name}.c", *files)],
                include_dirs=[np.get_include()],
                depends=[f"dispatchkit_accelerator/{header}" for header in headers],
                extra_compile_args=[*FLAGS, *flags],
                extra_link_args=LINKED,
            )
            for name, files, headers, flags in IN_C
        ),
    ],
    cmdclass={"build_ext": BuildModules, "sdist": WithSources},
)
