"""Files at places that Spark names: on this machine, or in an object store, as far as Arrow can reach it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark_aviso.options import OptionError


def file_system(place: str) -> tuple[Any, str]:
    """Return the file system of a place, and the path in it."""
    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyarrow import fs

    scheme, separator, rest = place.partition(":")
    if not separator or "/" in scheme:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    if scheme == "file":
        return fs.LocalFileSystem(), "/" + rest.lstrip("/")
    # Hadoop's names of S3; they are one store.
    uri = f"s3:{rest}" if scheme in ("s3a", "s3n") else place
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, OSError) as error:
        raise OptionError(
            f"'{place}' cannot be reached from Python: {error}. Use a place that Arrow knows (a folder, s3, gs, abfs, "
            "hdfs); for a checkpoint elsewhere set option 'acceptRepeats' to true"
        ) from error
    return found


def check_writable(place: str) -> None:
    """Raise `OSError` if no file can be written at a place, by one beside it that is removed again."""
    from pyarrow import fs

    files, path = file_system(place)
    if files.get_file_info(path).type == fs.FileType.Directory:
        raise IsADirectoryError("it is a folder")
    probe = f".writable-{uuid4().hex}"
    write_text(f"{place.rpartition('/')[0]}/{probe}" if "/" in place else probe, "")
    files.delete_file(f"{path.rpartition('/')[0]}/{probe}")


def write_text(place: str, text: str) -> None:
    """Write a file whole, and its folder if need be."""
    files, path = file_system(place)
    folder = path.rpartition("/")[0]
    if folder:
        files.create_dir(folder, recursive=True)
    with files.open_output_stream(path) as stream:
        stream.write(text.encode("utf-8"))
