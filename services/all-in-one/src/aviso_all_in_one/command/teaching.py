"""The prose of `--help`: what each command is for, examples that can be pasted, variables, exit codes.

Lines that begin with `$` are examples. Tests run each of them, and the reference page shows these texts, so that what
is written here is true.
"""

from __future__ import annotations

from typing import Final

AVISOD: Final = "A notification service in one process: producers publish, consumers follow."

AVISOD_MORE: Final = """\
examples:
  a service to try, with three sample event types, on http://127.0.0.1:8000:
    $ avisod serve --samples
  the configuration file of an existing server, as it is:
    $ avisod serve --config config.yaml
  every fault of a configuration and of a folder of event types, before a start:
    $ avisod check config.yaml schemas
  whether a changed event type breaks those who use it:
    $ avisod schema diff old.yaml new.yaml

'avisod COMMAND --help' tells more about each command.
"""

SERVE: Final = (
    "Run the service until it is told to stop by Ctrl-C or SIGTERM; accepted requests are answered first."
)

SERVE_MORE: Final = """\
examples:
  $ avisod serve --samples
  $ avisod serve --config config.yaml
  $ avisod serve --schemas schemas --port 9000 --log-level debug
  $ avisod serve --config config.yaml --log nats://localhost:4222 --metrics-port 9100

where settings come from; later wins:
  1. ./configuration/config.yaml, then /etc/aviso_server/config.yaml, then $HOME/.aviso_server/config.yaml;
     or, instead of these three, the one file that --config or AVISOSERVER_CONFIG_FILE names
  2. the environment
  3. the flags above
  If there is no file at all, the service listens on 127.0.0.1:8000 and keeps the newest 10000 events of each
  topic in memory. That is for trying out: what is in memory is gone when the service stops.

where event types come from:
  notification_schema in the configuration, as it is at the start
  --schemas   a folder of EventSchema manifests, .yaml, .yml or .json; changes take effect within seconds
  --samples   the folder that comes along: weather_alert, model_output and moving_storm
  If there is none of these, any event type is taken and its fields are not checked.

environment variables:
  AVISOSERVER_CONFIG_FILE      the configuration file
  AVISOSERVER_<BLOCK>__<KEY>   one setting, such as AVISOSERVER_APPLICATION__PORT=9000
  NATS_TOKEN                   the broker's token, where no setting gives one
  RUST_LOG                     the log level, as with --log-level; the flag wins

exit codes:
  0  stopped in good order
  1  could not start: every fault of the configuration is told, or what could not be reached
  2  the arguments were not understood
"""

CHECK: Final = "Tell every fault of configurations and EventSchema manifests: where it is, and what to write."

CHECK_MORE: Final = """\
examples:
  $ avisod check config.yaml
  $ avisod check schemas
  $ avisod check config.yaml schemas --json

What a file is shows in what it holds: a manifest has 'kind', a configuration has blocks such as 'application'.
A file may hold several manifests. Of a folder every .yaml, .yml and .json file is read, and no folder inside.
Manifests that are given together are taken to be served together: names and topic bases must not meet.
A configuration is checked as 'avisod serve --config' would load it, with AVISOSERVER_ variables applied.
A value that cannot be read hides faults of what it belongs to: check once more after mending it.

exit codes:
  0  no faults
  1  faults, one after the other on standard output
  2  a file could not be read, or the arguments were not understood
"""

SCHEMA: Final = "Work on versions of event types."

SCHEMA_MORE: Final = """\
examples:
  $ avisod schema diff old.yaml new.yaml
"""

DIFF: Final = (
    "Tell what changed between two versions of event types, and what of it would break those who use them."
)

DIFF_MORE: Final = """\
examples:
  $ avisod schema diff old.yaml new.yaml
  $ avisod schema diff old.yaml schemas --json

OLD and NEW are files or folders of EventSchema manifests, or configurations with a notification_schema.
A change breaks something when a notification that was accepted would be refused or mean something else, when a
filter would be refused or select something else, or when stored events would not be found any more.

exit codes:
  0  compatible
  1  incompatible
  2  a file could not be read or has faults, or the arguments were not understood
"""

VERSION: Final = "Print the versions of avisod and of the Python that runs it."
