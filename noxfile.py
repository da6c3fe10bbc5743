"""The one list of checks: a laptop and CI run the same words.

`nox` runs lint, types, layers and tests; `nox -s NAME` one session; `nox -s tests -P 3.12` another Python.
What follows `--` goes to the tool: `nox -s tests -- tests/ops -k add`, `nox -s bench -- --only mlp`. `-R` installs
nothing anew.
"""

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.sessions = ["lint", "types", "layers", "tests"]
nox.options.reuse_existing_virtualenvs = True

# What sessions start imports the package in hundreds of processes, which would each compile it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Of what is installed, most modules are never imported: compiling them all takes as long as installing them.
os.environ.setdefault("PIP_NO_COMPILE", "1")

PYPROJECT = nox.project.load_toml("pyproject.toml")
# The checks that every run makes are installed by uv, in a tenth of pip's time; by pip where uv is not installed.
BY_UV = "uv|virtualenv"
os.environ.setdefault("UV_SYSTEM_CERTS", "1")  # pip trusts what the system trusts, too
# Some folders have far slower tests than others: a process that has run out of tests takes some of another's.
PARALLEL = ("-n", "auto", "--dist", "worksteal")
# A process for each core: further threads of theirs would take turns waiting in loops.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def install(session: nox.Session, *groups: str, package: bool = True) -> None:
    """Install dependency groups, and dispatchkit itself as it stands in the checkout, for what imports it."""
    # Resolved by nox, so that a pip too old for `--group` does as well.
    requirements = [*nox.project.dependency_groups(PYPROJECT, *groups)]
    if package:
        requirements += ["-e", "."]
    session.install(*requirements)


@nox.session(venv_backend=BY_UV)
def lint(session: nox.Session) -> None:
    """Lint, and check the formatting: `ruff check --fix` and `ruff format` mend most of what is found."""
    install(session, "lint", package=False)
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")


@nox.session(venv_backend=BY_UV)
def types(session: nox.Session) -> None:
    """Check that the stubs are up to date, the types of package and tests, strictly, and the docstrings by numpydoc.

    The code on the pages is checked without the plugin, as editors do.
    """
    install(session, "types", "docstrings")
    session.run("python", "-m", "tests.programs.generated", "--check", "stubs")
    session.run("mypy", "--num-workers", "auto", *session.posargs)
    session.run("pytest", *PARALLEL, "tests/typing", "tests/site/test_docstrings.py", env=ONE_THREAD)
    session.run("python", "-m", "tests.typing.pages")


@nox.session
def generated(session: nox.Session) -> None:
    """Write the stubs and the pages that are made from the declarations, or compare them: `-- --check`.

    `-- stubs` writes the stubs alone, `-- numpy-functions.md` one page. Pages of PyTorch and of many libraries together
    are left out unless these are there: `.nox/generated/bin/python -m pip install torch==2.13.0`.
    """
    install(session, "test")
    session.run("python", "-m", "tests.programs.generated", *session.posargs)


@nox.session(venv_backend=BY_UV)
def layers(session: nox.Session) -> None:
    """Check that imports go down only."""
    install(session, "layers", package=False)
    session.run("lint-imports", "--no-logo", *session.posargs)


@nox.session(venv_backend=BY_UV)
def tests(session: nox.Session) -> None:
    """Run the tests and the examples of the docstrings; those of tests/typing run in the session `types`.

    A selection by `-k` runs in one process: each further one would collect all tests for itself first.
    """
    install(session, "test")
    processes = [] if "-k" in session.posargs else PARALLEL
    session.run("pytest", *processes, *(session.posargs or ["--ignore=tests/typing"]), env=ONE_THREAD)


# Those that start threads, and need nothing but NumPy.
THREADED = [
    *(f"tests/protocol/test_{name}.py" for name in ("blocks", "densify", "locks", "mode_isolation", "threads")),
    *(f"tests/graph/test_{name}.py" for name in ("depth", "node_hooks", "recording")),
    "tests/ops/test_generators.py",
    "tests/report/test_trace.py",
]


@nox.session(name="free-threaded", python="3.13t")
def free_threaded(session: nox.Session) -> None:
    """Run the tests of threads in a free-threaded build of Python: `-- tests/data` runs others."""
    session.install("-e", ".", "pytest>=9", "hypothesis>=6.130", "array-api-compat>=1.15", "array-api-strict>=2.6")
    session.run("pytest", *(session.posargs or THREADED))


@nox.session(python=["3.11", "3.12"])  # NumPy 2.0 has no wheels for later ones
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest versions of the two dependencies."""
    install(session, "test")
    session.install("numpy==2.0.*", "typing-extensions==4.12.*")
    session.run("pytest", *PARALLEL, *session.posargs, env=ONE_THREAD)


@nox.session
def accelerated(session: nox.Session) -> None:
    """Build the accelerator, and run the tests and the random programs with its compiled modules.

    It takes a C compiler. References of what goes through the entry point are counted over ten million calls.
    """
    install(session, "test", "peers")
    session.install("--no-deps", "./accelerator")
    session.run("python", "-m", "dispatchkit", "--version")
    session.run("pytest", *([] if "-k" in session.posargs else PARALLEL), *session.posargs, env=ONE_THREAD)
    session.run("pytest", "tests/test_accelerator.py", "-k", "let_go", env={"DISPATCHKIT_CALLS": "10000000"})
    session.run("python", "-m", "tests.programs.faults", "--stride", "10")
    # Program 94220 takes abs of what is 0 in PyTorch and 7e-18 here, as sums are in another order; none does from here.
    session.run("python", "-m", "tests.programs.fuzz", "--programs", "100000", "--seed", "200000")
    session.run("python", "-m", "tests.programs.fuzz.array_types", "--programs", "2000")


# Those of what is written in C.
IN_C = [
    "tests/as_torch/test_calls_through_core.py",
    "tests/declare/compiled",
    *(f"tests/nn/functional/test_{name}_of_core.py" for name in ("rows", "windows")),
    "tests/ops/test_loops_of_core.py",
]


@nox.session
def sanitized(session: nox.Session) -> None:
    """Build the accelerator with GCC's address sanitizer, and run the tests that go through it."""
    install(session, "test")
    session.install("--no-deps", "./accelerator", env={"CFLAGS": "-fsanitize=address -fno-omit-frame-pointer"})
    library = session.run("gcc", "-print-file-name=libasan.so", external=True, silent=True)
    # Python's own allocator would hide what is outside a block, and Python's objects live as long as the process.
    watched = {"PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0", "LD_PRELOAD": str(library).strip()}
    session.run(
        "pytest", "tests/test_accelerator.py", *IN_C, "tests/graph", "tests/tensor", *session.posargs, env=watched
    )


@nox.session
def long(session: nox.Session) -> None:
    """Run the tests with many more Hypothesis examples."""
    install(session, "test")
    session.run("pytest", *PARALLEL, *session.posargs, env={**ONE_THREAD, "HYPOTHESIS_PROFILE": "long"})


@nox.session
def processors(session: nox.Session) -> None:
    """Run the numerical tests by each BLAS kernel that this machine can run, with less of SIMD, and while it is busy.

    What it cannot run is left out, and named with the reason. `-- --list` says what there is and runs nothing;
    `-- --only Nehalem` takes one, and folders or files after it are run in the place of all.
    """
    install(session, "test")
    session.run("python", "-m", "tests.programs.processors", *PARALLEL, *session.posargs)


@nox.session
def clients(session: nox.Session) -> None:
    """Run the tests of libraries that take tensors: SciPy, xarray, einops, Dask and others; and compiled loops."""
    install(session, "clients")
    session.run("pytest", "tests/interop", "tests/nn/functional", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Run the code of the pages, build the site in docs/_build/html, and open each of its pages in a browser.

    Warnings of the build are errors. The browser is Chromium; Debian has it as `chromium` and `chromium-driver`.
    Pages that a program writes are compared with what it would write: `nox -s generated` writes them.
    """
    install(session, "test", "docs")
    session.run("python", "-m", "tests.programs.generated", "--check", "pages")
    session.run("pytest", "tests/test_markdown.py", *session.posargs)
    session.install("--no-deps", "docs/template")  # builds the package of a guide, which tests/test_template.py tests
    session.run("python", "-c", "import diagonal_matrices", silent=True)
    site = Path("docs/_build/html").absolute()
    session.run("sphinx-build", "-W", "--keep-going", "-j", "auto", "-b", "html", "docs", str(site))
    session.run("pytest", "tests/site", env={"DISPATCHKIT_SITE": str(site)})


@nox.session
def peers(session: nox.Session) -> None:
    """Run the tests with PyTorch, JAX, Numba and the specialists, without which many are skipped, and benchmarks."""
    install(session, "test", "bench", "peers", "specialists")
    session.run("python", "-m", "tests.programs.generated", "--check", "pytorch-functions.md", "as-torch-names.md")
    session.run("pytest", *PARALLEL, *session.posargs, env=ONE_THREAD)
    session.run("python", "-m", "tests.programs.benchmarks")


@nox.session
def oracles(session: nox.Session) -> None:
    """Compare the array types with the libraries of their fields: `nox -s oracles -- --pair masked-numpy --seed 7`.

    Each call is made on the type and on its specialist's. Differences that are meant stand in
    tests/programs/oracles/listed.
    """
    install(session, "test", "specialists")
    session.run("python", "-m", "tests.programs.oracles", "--calls", "20000", *session.posargs)


@nox.session(name="peers-suites")
def peers_suites(session: nox.Session) -> None:
    """Run other libraries' own tests over dispatchkit: `nox -s peers-suites -- --at PATH`, a folder of checkouts.

    PATH may hold `autograd` (HIPS) and `pytorch`, whose tests of autograd are of version 2.6; NumPy, Pint, PyTorch's
    samples and linear_operator's tests come with them. What is recorded in tests/programs/peers_suites/expected with a
    reason may fail. `--suite numpy` runs one of them.
    """
    install(session, "test", "peers")
    session.install("pint", "pytest-subtests", "expecttest", "linear_operator")
    session.run("python", "-m", "tests.programs.peers_suites", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Run random programs against PyTorch, and over the array types: `nox -s fuzz -- --programs 100000 --seed 7`."""
    install(session, "test", "peers")
    session.run("python", "-m", "tests.programs.fuzz", *session.posargs)
    session.run("python", "-m", "tests.programs.fuzz.array_types", *session.posargs)
    session.run("python", "-m", "tests.programs.fuzz.array_types", "--derivatives", *session.posargs)
    session.run("python", "-m", "tests.programs.fuzz.predictions")


@nox.session(name="fuzz-as-torch")
def fuzz_as_torch(session: nox.Session) -> None:
    """Make random calls of PyTorch and in its spelling: `nox -s fuzz-as-torch -- --seconds 60 --seed 7`."""
    install(session, "test", "peers")
    session.install("expecttest")
    session.run("python", "-m", "tests.programs.fuzz.as_torch", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Raise errors at each line of modes, graphs, registrations and files: `nox -s faults -- --stride 10`."""
    install(session, "test")
    session.run("python", "-m", "tests.programs.faults", *session.posargs)


# Parts of the package that mutants are made of, each with the tests that are to find them.
MUTATED = {
    "declare": ("tests/ops", "tests/graph"),
    "graph": ("tests/graph", "tests/autograd"),
    "report": ("tests/report",),
    "testing": ("tests/testing",),
}
MUTATION = """\
[cosmic-ray]
module-path = "{module}"
timeout = 600.0
excluded-modules = []
test-command = "python -m pytest -q -x -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
exclude-operators = ["core/ReplaceBinaryOperator_BitOr_.*"] # most are those of annotations
"""


@nox.session
def mutation(session: nox.Session) -> None:
    """List the changes of the code that no test finds: `nox -s mutation -- graph/node.py tests/autograd`.

    Without arguments it takes days; without tests, those of the whole part.
    """
    install(session, "mutation")
    module, *tests = session.posargs or ("",)
    work = Path(session.create_tmp()).absolute()
    for folder in ("dispatchkit", "tests"):  # a copy, so that the checkout is never a mutant
        shutil.copytree(folder, work / folder, dirs_exist_ok=True)
    shutil.copy("pyproject.toml", work)
    session.env["PYTHONDONTWRITEBYTECODE"] = "1"  # two mutants may have the size and time of one file
    with session.chdir(work):
        for part in [module] if module else MUTATED:
            chosen = tests or MUTATED[Path(part).parts[0]]
            session.run("python", "-m", "pytest", "-q", "-x", *chosen)
            Path("mutants.toml").write_text(MUTATION.format(module=f"dispatchkit/{part}", tests=" ".join(chosen)))
            session.run("cosmic-ray", "init", "--force", "mutants.toml", "mutants.sqlite")
            session.run("cr-filter-operators", "mutants.sqlite", "mutants.toml")
            session.run("cosmic-ray", "exec", "mutants.toml", "mutants.sqlite")
            session.run("cr-report", "--surviving-only", "--show-diff", "mutants.sqlite")


GET_CONFORMANCE_SUITE = """\
the array API standard's conformance suite is not in {found}. Get it, with the standard's own repository inside it:
  git clone https://github.com/data-apis/array-api-tests
  git clone https://github.com/data-apis/array-api array-api-tests/array-api
  ARRAY_API_TESTS_DIR=$PWD/array-api-tests nox -s conformance"""


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the array API standard's conformance suite, whose checkout ARRAY_API_TESTS_DIR names.

    `-- --arrays torch`, `jax` or `dask` runs it over that library and over tensors that hold its arrays, and lists what
    fails over the tensors alone.
    """
    named = os.environ.get("ARRAY_API_TESTS_DIR", "")
    suite = Path(named).absolute()
    needed = (suite / "array_api_tests", suite / "requirements.txt", suite / "array-api" / "src" / "array_api_stubs")
    if not named or not all(path.exists() for path in needed):
        session.error(GET_CONFORMANCE_SUITE.format(found=named or "ARRAY_API_TESTS_DIR, which is not set"))
    if "--arrays" in session.posargs:
        install(session, "test", "peers")
        session.install("dask[array]", "-r", str(suite / "requirements.txt"))
        session.run("python", "-m", "tests.programs.conformance", str(suite), *PARALLEL, *session.posargs)
        return
    install(session, "test")
    session.install("-r", str(suite / "requirements.txt"))
    environment = {"ARRAY_API_TESTS_MODULE": "dispatchkit", "ARRAY_API_TESTS_VERSION": "2025.12"}
    with session.chdir(suite):
        session.run("pytest", "array_api_tests", *PARALLEL, *session.posargs, env={**ONE_THREAD, **environment})


@nox.session
def release(session: nox.Session) -> None:
    """Prepare a version, `nox -s release -- prepare 0.2.0`, or build what is uploaded: `nox -s release -- build`.

    `build` takes a C compiler. It builds both packages from the last commit, checks their metadata, and runs the wheels
    where nothing else is installed. `--repository` and `--site` are the addresses of who publishes.
    """
    session.install("build>=1.3", "towncrier>=25", "twine>=6")
    session.run("python", "-m", "tests.programs.release", *(session.posargs or ("build",)))


@nox.session(python=["3.11", "3.12", "3.13", "3.14", "3.15"])
def wheels(session: nox.Session) -> None:
    """Build the wheel of the accelerator for each Python that is there, and run its tests with it.

    The wheels in `dist/wheels` are for this machine; those for other people's are built by cibuildwheel at a release.
    """
    install(session, "test")
    session.install("build>=1.3")
    out = Path("dist", "wheels")
    made = Path(session.create_tmp()).absolute()
    shutil.rmtree(made)
    session.run("python", "-m", "build", "--wheel", "--outdir", str(made), "accelerator")
    (wheel,) = made.iterdir()
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(wheel, out)
    session.install("--no-deps", "--force-reinstall", str(wheel))
    session.run("python", "-m", "dispatchkit", "--version")
    session.run("pytest", "tests/test_accelerator.py", "tests/graph", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Print the benchmark table; PyTorch's rows need `.nox/bench/bin/python -m pip install torch==2.13.0`."""
    install(session, "bench")
    session.run("python", "-m", "tests.programs.benchmarks", *session.posargs)
