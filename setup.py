"""Package metadata of letgraph: the ranges users may choose from; requirements.lock has the exact versions tested."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent


def version() -> str:
    """Read from the source, because importing the package here would need its dependencies."""
    source = (HERE / "letgraph" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    if found is None:
        raise RuntimeError("letgraph/__init__.py has no line __version__ = ...")
    return found.group(1)


def long_description() -> str:
    readme = HERE / "README.md"
    return readme.read_text(encoding="utf-8") if readme.exists() else ""


INSTALL_REQUIRES = [
    # graphs and numbers
    # DGL 1.1.2 and 1.1.3 work with torch 2.13 and 2.14; the 2.x releases fail on any torch after 2.2.
    "dgl>=1.1.2,<2",
    "packaging>=23",  # DGL imports it without declaring it
    "torch>=2.13,<3",
    "numpy>=1.26,<3",
    "scipy>=1.11",
    "networkx>=3.1",
    "scikit-learn>=1.3",
    # models and the training loop
    "transformers>=5,<6",
    "tokenizers>=0.22",
    "huggingface_hub>=1",
    "accelerate>=1.1,<2",
    "safetensors>=0.4.3",
    "tensorboard>=2.14",
    "tqdm>=4.66",
    "PyYAML>=6",
    # corpora and the prepared store
    "datasets>=4,<6",
    "pyarrow>=21",
    "filelock>=3.12",
    # segmenters and the HowNet reader
    "jieba>=0.42.1",
    "thulac>=0.2.2",
    "spacy-pkuseg>=1.0,<2",
    "OpenHowNet>=2.0",
]

PLOTTING = ["matplotlib>=3.8,<4"]

EXTRAS_REQUIRE = {
    "test": [
        "hypothesis>=6.100",
        "mypy>=2",
        "pydot>=3",
        "pytest>=8",
        "pytest-xdist>=3.6",
        "ruff>=0.17",
        "selenium>=4.20",
        "types-PyYAML>=6",
        "types-tqdm>=4.66",
    ],
    "bench": [*PLOTTING, "torch-geometric>=2.6,<3"],
    "viz": PLOTTING,
    "serve": ["fastapi>=0.115,<1", "pydantic>=2,<3", "starlette>=0.40", "uvicorn>=0.30,<1"],
    # The original pkuseg, which is used in place of spacy-pkuseg when it is there. It has no wheel for this Python and
    # compiles against what is already installed:
    #   pip install numpy Cython setuptools wheel && pip install --no-build-isolation 'letgraph[pkuseg]'
    "pkuseg": ["Cython>=3", "pkuseg>=0.0.25"],
}

setup(
    name="letgraph",
    version=version(),
    description="Short Chinese text matching with linguistic knowledge enhanced graph transformers (LET), on DGL",
    long_description=long_description(),
    long_description_content_type="text/markdown",
    author="The letgraph authors",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Intended Audience :: Science/Research",
        "Natural Language :: Chinese (Simplified)",
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    packages=find_packages(include=["letgraph", "letgraph.*"]),
    package_data={"letgraph": ["py.typed", "demo/*.tsv", "demo/*.md", "viewing/web/*", "recipes/*.yaml"]},
    # PyPI has wheels of DGL 1.1 up to Python 3.11; today's numpy, scipy, networkx and pandas need 3.11 or newer.
    python_requires=">=3.11,<3.12",
    install_requires=INSTALL_REQUIRES,
    extras_require=EXTRAS_REQUIRE,
)
