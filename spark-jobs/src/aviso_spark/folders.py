"""Files of a folder wherever Spark can reach it: on this machine, in HDFS, in an object store.

Spark writes and reads rows, and has no words for moving and deleting. The file systems that it uses itself do, and they
have its credentials; they are found in its virtual machine. A session on a server does not let anybody near that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from aviso_spark.common.problems import NotUnderstood
from pyspark_aviso.places import file_system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


_PATTERN: Final = re.compile(r"[\\{}\[\]*?]")


class File(NamedTuple):
    """A file, by its path below the folder."""

    path: str
    size: int


class ReadsFiles(Protocol):
    """A folder that can be looked into."""

    def is_file(self) -> bool:
        """Tell whether it is none, but a file."""
        ...

    def names(self, path: str = "") -> list[str]:
        """Return the names of what is right below a path; none where there is nothing."""
        ...

    def read_text(self, path: str) -> str:
        """Return what is in a small file."""
        ...


def open_folder(session: SparkSession, place: str) -> ReadsFiles:
    """Return a folder as Spark finds it; through a session on a server, as far as this machine reaches it."""
    return Folder(session, place) if has_files(session) else ReachedFolder(place)


def literal(place: str) -> str:
    """Return a folder or file as Spark reads just that one: in what it is told to read it looks for patterns."""
    return _PATTERN.sub(r"\\\g<0>", place)


def is_below(place: str, folder: str) -> bool:
    """Tell whether a place is a folder or below it, as far as their names tell."""
    one, other = _whole_name(place), _whole_name(folder)
    return one == other or one.startswith(f"{other.rstrip('/')}/")


def _whole_name(place: str) -> str:
    scheme, separator, rest = place.partition(":")
    if not separator or "/" in scheme:
        return os.path.abspath(place)
    return os.path.normpath(f"/{rest.lstrip('/')}") if scheme == "file" else place.rstrip("/")


def has_files(session: SparkSession) -> bool:
    """Tell whether files can be moved here."""
    return hasattr(session, "_jsparkSession")


def write_page(session: SparkSession, place: str, name: str, text: str) -> None:
    """Write a file for people into a folder; through a session on a server, into one of this machine."""
    if has_files(session):
        Folder(session, place).write_text(name, text)
        return
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


class Folder:
    """A folder and what is below it; paths are relative to it."""

    def __init__(self, session: SparkSession, place: str) -> None:
        if not has_files(session):
            raise NotUnderstood(
                "files cannot be moved through a session on a server: run this job without SPARK_REMOTE"
            )
        # The types know nothing of the virtual machine.
        virtual_machine: Any = session._jvm
        state: Any = session._jsparkSession.sessionState()
        self._path_of: Any = virtual_machine.org.apache.hadoop.fs.Path
        root = self._path_of(place)
        self._system: Any = root.getFileSystem(state.newHadoopConf())
        self._root: Any = self._system.makeQualified(root)
        self._streams: Any = virtual_machine.org.apache.commons.io.IOUtils

    @property
    def place(self) -> str:
        """Return its whole name."""
        return str(self._root.toString())

    def has(self, path: str) -> bool:
        """Tell whether there is something."""
        return bool(self._system.exists(self._at(path)))

    def is_file(self) -> bool:
        """Tell whether it is none, but a file."""
        return bool(self.has("") and self._system.getFileStatus(self._root).isFile())

    def names(self, path: str = "") -> list[str]:
        """Return the names of what is right below a path; none where there is nothing."""
        if not self.has(path):
            return []
        return [str(one.getPath().getName()) for one in self._system.listStatus(self._at(path))]

    def files(self, path: str = "") -> Iterator[File]:
        """Yield the files of data below a path: none whose name, or whose folder's name, begins with _ or a dot."""
        if not self.has(path):
            return
        found = self._system.listFiles(self._at(path), True)
        below = len(self.place.rstrip("/")) + 1
        while found.hasNext():
            one = found.next()
            name = str(one.getPath().toString())[below:]
            inner = name[len(path) :]
            if not any(part.startswith(("_", ".")) for part in inner.split("/")):
                yield File(name, int(one.getLen()))

    def folders(self, path: str) -> list[str]:
        """Return the names of the folders right below a path."""
        if not self.has(path):
            return []
        return sorted(
            str(one.getPath().getName())
            for one in self._system.listStatus(self._at(path))
            if one.isDirectory()
        )

    def move(self, path: str, to: str) -> None:
        """Move a file to where there is none; one that was copied by a move that broke off is replaced."""
        target = self._at(to)
        self._system.mkdirs(target.getParent())
        self._system.delete(target, False)
        if not self._system.rename(self._at(path), target):
            raise OSError(f"{self.place}/{path} could not be moved to {to}")

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with everything in it; what is not there is fine."""
        self._system.delete(self._at(path), True)

    def read_text(self, path: str) -> str:
        """Return what is in a small file."""
        stream = self._system.open(self._at(path))
        try:
            return str(self._streams.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_text(self, path: str, text: str) -> None:
        """Write a small file; it is there with all that is in it, or not at all."""
        unfinished = f"{path}._unfinished"
        # A file system of one machine would put a file with a checksum beside it, which people stumble over.
        self._system.setWriteChecksum(False)
        self._system.mkdirs(self._at(path).getParent())
        stream = self._system.create(self._at(unfinished), True)
        try:
            self._streams.write(text, stream, "UTF-8")
        finally:
            stream.close()
            self._system.setWriteChecksum(True)
        self.move(unfinished, path)

    def _at(self, path: str) -> Any:
        return self._path_of(self._root, path) if path else self._root


class ReachedFolder:
    """A folder that this machine reaches by itself: one of its own, or one of a store that Arrow knows."""

    def __init__(self, place: str) -> None:
        self._files, self._root = file_system(place)

    def is_file(self) -> bool:
        """Tell whether it is none, but a file."""
        return bool(self._files.get_file_info(self._root).is_file)

    def names(self, path: str = "") -> list[str]:
        """Return the names of what is right below a path; none where there is nothing."""
        from pyarrow import fs  # type: ignore[import-untyped]  # it brings no types

        selector = fs.FileSelector(f"{self._root}/{path}", allow_not_found=True)
        return [str(entry.base_name) for entry in self._files.get_file_info(selector)]

    def read_text(self, path: str) -> str:
        """Return what is in a small file."""
        with self._files.open_input_file(f"{self._root}/{path}") as file:
            return str(file.read().decode())
