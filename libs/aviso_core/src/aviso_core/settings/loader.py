"""From files and environment to settings. What the values mean is not judged here: see `startup`.

Later wins: `./configuration/config.yaml`, `/etc/aviso_server/config.yaml`, `$HOME/.aviso_server/config.yaml`, then
the environment. `AVISOSERVER_CONFIG_FILE` names one file instead of the three, and that one must be there. Blocks are
merged key by key; anything else, a list or a null included, replaces what an earlier source said.

A command adds three sources of its own: a file named among its arguments, which replaces all of these files and must
be there too; values for where there is no file at all, which the environment still overrides; and values from its
flags, which win over everything.

The environment and the reading of files are passed in, so loading is a function of them, and it fails in one way:
`SettingsError`, with every fault of all files, or else with every fault of all values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec.structs import replace

from aviso_core.errors import Fault, SettingsError
from aviso_core.plain.decode import decode
from aviso_core.plain.secret import Secret
from aviso_core.plain.yaml_mapping import read_mapping
from aviso_core.settings.environment import lookup, overrides
from aviso_core.settings.log_level import effective_level
from aviso_core.settings.model import Settings

CONFIG_FILE: Final = "AVISOSERVER_CONFIG_FILE"

# Returns the bytes of a file, or raises OSError as reading a real file does.
ReadFile: TypeAlias = Callable[[Path], bytes]
# What a file says, None where there is no such file; or what is wrong with it.
_Read: TypeAlias = tuple[dict[str, object] | None, Fault | None]
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def read_existing(path: Path) -> bytes:
    """Return the bytes of a file; one in a folder that this user may not even enter is not there.

    A container that runs without privileges often still has the superuser's home as its own.
    """
    try:
        path.stat()
    except OSError as error:
        raise FileNotFoundError(str(path)) from error
    return path.read_bytes()


def load(
    environ: Mapping[str, str],
    *,
    read_file: ReadFile = read_existing,
    config_file: str | None = None,
    without_files: Mapping[str, object] = _NOTHING,
    overriding: Mapping[str, object] = _NOTHING,
) -> Settings:
    """Return the settings that files, environment and arguments describe, or raise `SettingsError`."""
    layers = _read_files(environ, config_file, read_file) or [without_files]
    from_environment, wrong_names = overrides(Settings, environ)
    settings, wrong_values = decode(Settings, merge([*layers, from_environment, overriding]))
    if settings is None or wrong_names:
        raise SettingsError([*wrong_names, *wrong_values])
    return _with_fallbacks(settings, environ)


def merge(layers: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Return one mapping of several, in which later ones win key by key, at any depth."""
    merged: dict[str, object] = {}
    for layer in layers:
        for key, value in layer.items():
            earlier = merged.get(key)
            if isinstance(earlier, Mapping) and isinstance(value, Mapping):
                merged[key] = merge([earlier, value])
            else:
                merged[key] = value
    return merged


def _read_files(
    environ: Mapping[str, str], config_file: str | None, read_file: ReadFile
) -> list[Mapping[str, object]]:
    """Return what each file that is there says."""
    named = lookup(environ, CONFIG_FILE)
    if config_file is not None:
        read = [_read(Path(config_file), read_file, absent=_not_there(config_file))]
    elif named is not None:
        read = [_read_named(named.strip(), read_file)]
    else:
        read = [_read(path, read_file) for path in _default_paths(environ)]
    faults = [fault for _, fault in read if fault is not None]
    if faults:
        raise SettingsError(faults)
    return [values for values, _ in read if values is not None]


def _default_paths(environ: Mapping[str, str]) -> list[Path]:
    paths = [Path("configuration/config.yaml"), Path("/etc/aviso_server/config.yaml")]
    home = environ.get("HOME")
    return [*paths, Path(home, ".aviso_server/config.yaml")] if home else paths


def _read_named(path: str, read_file: ReadFile) -> _Read:
    if not path:
        return None, Fault(path=CONFIG_FILE, message="is set but empty", remedy="name a file, or unset it")
    return _read(Path(path), read_file, absent=_absent(path))


def _read(path: Path, read_file: ReadFile, absent: Fault | None = None) -> _Read:
    """Return what the file says; one that is not there says nothing, and that is at fault if so given."""
    try:
        content = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None, absent
    except (OSError, ValueError) as error:
        # ValueError is how Python refuses a path that no file can have, one with a NUL in it.
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return None, Fault(
            path=str(path), message=f"cannot be read: {reason}", remedy="make it a readable file"
        )
    return read_mapping(content, name=str(path))


def _absent(path: str) -> Fault:
    message = f"names a file that is not there: {path}"
    return Fault(path=CONFIG_FILE, message=message, remedy="correct the path, or unset it")


def _not_there(path: str) -> Fault:
    return Fault(path=path, message="is not there", remedy="correct the path")


def _with_fallbacks(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Return the settings with what other programs' variables say: `RUST_LOG` and `NATS_TOKEN`."""
    level = effective_level(settings.logging.level, environ.get("RUST_LOG", ""))
    backend = settings.notification_backend
    token = environ.get("NATS_TOKEN")
    if backend.jetstream.token is None and token:
        backend = replace(backend, jetstream=replace(backend.jetstream, token=Secret(token)))
    return replace(settings, logging=replace(settings.logging, level=level), notification_backend=backend)
