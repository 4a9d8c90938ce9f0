"""A registry that is a folder of manifests, looked at again and again.

Each look asks for the size, time and number of every file behind its name, through whatever links lead there. A file
that is another than the one read last is read when it has stayed the same for a moment, so that one that is being
written is not taken for a shorter manifest; one that is gone must stay away as long, because some editors write by
taking away. Why the folder is looked at instead of being watched stands in the decision record 0007.

Hidden files and folders inside are left alone. Revisions count within this process.

What a configuration declares can lie in the same registry. It was there first: a manifest that declares one of its
event types again, or wants one of its topic bases, is reported and changes nothing.
"""

from __future__ import annotations

import asyncio
import stat
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_core.alongside import alongside
from aviso_core.errors import Unavailable
from aviso_core.registry.base import Published, Unreadable, Version, Withdrawn
from aviso_core.registry.manifests import (
    LARGEST_FILE,
    Declared,
    FileReading,
    Wanted,
    is_of_manifests,
    read_file,
    remembered,
    shown,
    wanted_of,
)
from aviso_core.registry.memory import MemoryRegistry, publication

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from aviso_core.clock import Clock
    from aviso_core.registry.base import OnChange
    from aviso_core.registry.follower import Follower
    from aviso_core.schema.model import Schema

INTERVAL_SECONDS: Final = 0.5
SETTLE_SECONDS: Final = 0.5

# Where a configuration declares event types. No manifest lies in a file of such a name.
_CONFIGURATION: Final = "notification_schema"


class Stamp(NamedTuple):
    """What tells one state of a file from another without reading it."""

    modified_ns: int
    # Permissions and renaming change only this one.
    changed_ns: int
    size: int
    inode: int
    device: int


# Of a file that is there and cannot even be asked.
_UNKNOWN: Final = Stamp(0, 0, 0, 0, 0)


class FolderRegistry:
    """A `Registry` over a folder. Made by `open_folder_registry`."""

    def __init__(
        self, folder: Path, clock: Clock, *, settle_seconds: float, configured: Iterable[Schema]
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._settle_seconds = settle_seconds
        self._memory = MemoryRegistry()
        self._readings = {_CONFIGURATION: _reading_of(configured)}
        self._declared: dict[str, frozenset[str]] = {}
        # File → the state that was read last; and another state that was seen since, and when first.
        self._read: dict[str, Stamp] = {}
        self._seen: dict[str, tuple[Stamp | None, float]] = {}
        self._wanted = wanted_of(self._readings, self._declared)
        self._commit(self._wanted)

    async def get(self, event_type: str) -> Version | None:
        """Return the latest version, or None."""
        return await self._memory.get(event_type)

    async def all(self) -> Mapping[str, Version]:
        """Return the latest version of each event type."""
        return await self._memory.all()

    async def history(self, event_type: str) -> Sequence[Version]:
        """Return the versions that were read and are kept."""
        return await self._memory.history(event_type)

    def follow(
        self, on_change: OnChange, *, strict: bool | None = None
    ) -> AbstractAsyncContextManager[Follower]:
        """Follow for as long as the block runs; the follower is loaded from the beginning."""
        return self._memory.follow(on_change, strict=strict)

    # --- looking -----------------------------------------------------------------------------------------

    async def read_everything(self) -> None:
        """Read every file as it is, or raise `Unavailable`: the first look has nothing to keep."""
        try:
            stamps = await asyncio.to_thread(stamps_of, self._folder)
        except OSError as error:
            raise Unavailable(self._unreadable(error)) from error
        await self._take(stamps, stamps.keys())

    async def look(self) -> None:
        """Look once, and take in what has changed and settled."""
        try:
            stamps = await asyncio.to_thread(stamps_of, self._folder)
        except OSError as error:
            # A folder that is gone for a moment, with what it is mounted from, withdraws nothing.
            self._commit({**self._wanted, self._folder.name: self._unreadable(error)})
            return
        await self._take(stamps, self._settled(stamps))

    async def look_for_ever(self, interval_seconds: float) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(interval_seconds)
            await self.look()

    def _settled(self, stamps: Mapping[str, Stamp]) -> AbstractSet[str]:
        """Return the files that are not as they were read, and have been as they are for long enough."""
        now = self._clock.monotonic()
        changed = {
            name: stamps.get(name)
            for name in stamps.keys() | self._read.keys()
            if stamps.get(name) != self._read.get(name)
        }
        before, self._seen = self._seen, {}
        for name, stamp in changed.items():
            seen, since = before.get(name, (stamp, now))
            self._seen[name] = (stamp, since if seen == stamp else now)
        return {name for name, (_, since) in self._seen.items() if now - since >= self._settle_seconds}

    async def _take(self, stamps: Mapping[str, Stamp], names: AbstractSet[str]) -> None:
        if names:
            await self._read_again(stamps, names)
            self._wanted = wanted_of(self._readings, self._declared)
        self._commit(self._wanted)

    async def _read_again(self, stamps: Mapping[str, Stamp], names: AbstractSet[str]) -> None:
        for name in names - stamps.keys():
            del self._read[name], self._readings[name], self._declared[name]
        present = [name for name in names if name in stamps]
        for name, reading in (await asyncio.to_thread(read_files, self._folder, present)).items():
            self._read[name] = stamps[name]
            self._readings[name] = reading
            self._declared[name] = remembered(reading, self._declared.get(name, frozenset()))

    def _commit(self, wanted: Wanted) -> None:
        """Write what differs from what was written, as one change."""
        latest = self._memory.latest_of_all()
        writings = [
            _writing(name, what) for name, what in sorted(wanted.items()) if not _says(latest.get(name), what)
        ]
        writings += [
            _withdrawal(name)
            for name, version in sorted(latest.items())
            if name not in wanted and not isinstance(version, Withdrawn)
        ]
        if writings:
            self._memory.write(writings)

    def _unreadable(self, error: OSError) -> str:
        return f"the folder {self._folder} cannot be read: {error.strerror}"


def _says(version: Version | None, what: Schema | str) -> bool:
    """Tell whether a version says just this."""
    if isinstance(what, str):
        return isinstance(version, Unreadable) and version.reason == what
    return isinstance(version, Published) and version.schema == what


def _writing(name: str, what: Schema | str) -> Callable[[int], Version]:
    if isinstance(what, str):
        return lambda revision: Unreadable(event_type=name, revision=revision, reason=what)
    return publication(what)


def _reading_of(configured: Iterable[Schema]) -> FileReading:
    return FileReading(
        declared=tuple(Declared(schema.event_type, _CONFIGURATION, schema) for schema in configured)
    )


def _withdrawal(name: str) -> Callable[[int], Version]:
    return lambda revision: Withdrawn(event_type=name, revision=revision)


# --- the file system -------------------------------------------------------------------------------------


def stamps_of(folder: Path) -> dict[str, Stamp]:
    """Return the manifests of a folder, links followed."""
    stamps = {}
    for path in folder.iterdir():
        if is_of_manifests(path.name):
            stamp = _stamp_of(path)
            if stamp is not None:
                stamps[path.name] = stamp
    return stamps


def _stamp_of(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        # A link to nothing, or gone since the folder was listed.
        return None
    except OSError:
        return _UNKNOWN
    if not stat.S_ISREG(status.st_mode):
        return None
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def read_files(folder: Path, names: Iterable[str]) -> dict[str, FileReading]:
    """Read some files of a folder; those that are gone meanwhile are left for the next look."""
    readings = {}
    for name in names:
        try:
            with (folder / name).open("rb") as file:
                readings[name] = read_file(name, file.read(LARGEST_FILE + 1))
        except FileNotFoundError:
            continue
        except OSError as error:
            readings[name] = FileReading(fault=f"{shown(name)} cannot be read: {error.strerror}")
        except Exception as error:  # noqa: BLE001 (whatever stands in a file, the process lives)
            readings[name] = FileReading(fault=f"{shown(name)} cannot be read by this build: {error!r}")
    return readings


@asynccontextmanager
async def open_folder_registry(
    folder: Path,
    *,
    clock: Clock,
    interval_seconds: float = INTERVAL_SECONDS,
    settle_seconds: float = SETTLE_SECONDS,
    configured: Iterable[Schema] = (),
) -> AsyncIterator[FolderRegistry]:
    """Serve the manifests of a folder and follow its changes, or raise `Unavailable` where there is no folder.

    What the configuration itself declares is served beside them and stays as it is.
    """
    registry = FolderRegistry(folder, clock, settle_seconds=settle_seconds, configured=configured)
    await registry.read_everything()
    async with alongside(registry.look_for_ever(interval_seconds)):
        yield registry
