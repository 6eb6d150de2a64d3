"""Stands in for what chromadb imports and these folders never use: servers, telemetry, default embedders.

A file of each environment imports it when Python starts. The parts that write folders are the real ones; what stands
here spares hundreds of megabytes of packages, and sees to it that nothing is ever sent anywhere.
"""

import importlib.abc
import importlib.machinery
import sys
import types

UNUSED = {
    "bcrypt",
    "dotenv",
    "fastapi",
    "grpc",
    "httpx",
    "jsonschema",
    "kubernetes",
    "onnxruntime",
    "opentelemetry",
    "orjson",
    "posthog",
    "pulsar",
    "requests",
    "rich",
    "tokenizers",
    "tqdm",
    "typer",
    "uvicorn",
}


def absent(name):
    """Python asks for such names of everything; here they must be missing."""
    return name.startswith("__")


class Anything(type):
    """The type of a class of which every attribute is that class."""

    def __getattr__(cls, name):
        if absent(name):
            raise AttributeError(name)
        return cls


class Empty(metaclass=Anything):
    """Can be made, called and asked for any attribute, and does nothing."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if absent(name):
            raise AttributeError(name)
        return Empty

    def __call__(self, *args, **kwargs):
        return self


class Nothing(types.ModuleType):
    """A module in which every name is such a class."""

    __path__ = []

    def __getattr__(self, name):
        if absent(name):
            raise AttributeError(name)
        return Empty


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what is unused, but only where nobody else finds it."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in UNUSED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Nothing(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(Finder())
