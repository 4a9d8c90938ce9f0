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
  the event types of a configuration as manifests for a cluster:
    $ avisod schema import config.yaml --output manifests

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

SCHEMA: Final = "Work on event types: what a change means to others, and how they move into a cluster."

SCHEMA_MORE: Final = """\
examples:
  $ avisod schema diff old.yaml new.yaml
  $ avisod schema diff new.yaml --live --config services.yaml
  $ avisod schema import config.yaml --output manifests
"""

DIFF: Final = (
    "Tell what changed between two versions of event types, and what of it would break those who use them."
)

DIFF_MORE: Final = """\
examples:
  $ avisod schema diff old.yaml new.yaml
  $ avisod schema diff old.yaml schemas --json
  $ avisod schema diff new.yaml --live --config services.yaml
  $ avisod schema diff schemas --live --log nats://localhost:4222 --namespace weather

OLD and NEW are files or folders of EventSchema manifests, or configurations with a notification_schema.
A change breaks something when a notification that was accepted would be refused or mean something else, when a
filter would be refused or select something else, or when stored events would not be found any more.

with --live:
  OLD holds manifests, and is compared with what the broker has. For each of them it is told
    what is published and stored now, and which processes serve it
    what the operator would do, in its order, and what it would refuse to do
    how many stored messages would be lost, and what would break producers and readers
  Nothing is changed, and no cluster is needed: only the broker is asked.
  The broker, and what streams are like by default, come from where 'avisod serve' has its settings: --config or
  the usual files, then AVISOSERVER_ variables, then --log.
  A manifest that names no namespace is that of --namespace, or of where its event type is published from.

exit codes:
  0  compatible; with --live, it would be done as a whole and nobody would lose anything by it
  1  incompatible; with --live, something would be refused, lost or broken
  2  a file could not be read or has faults, the broker was not reached, or the arguments were not understood
"""

IMPORT: Final = "Make EventSchema manifests of what a configuration declares, and tell what they cannot say."

IMPORT_MORE: Final = """\
examples:
  $ avisod schema import config.yaml
  $ avisod schema import config.yaml --output manifests
  $ avisod schema import config.yaml --output manifests --adopt
  $ avisod schema import config.yaml --json

FILE is the configuration file of an existing server, or any other that 'avisod serve --config' takes.
The manifests go to standard output or into the folder; what there is to say about them goes to standard error,
with file and line:
  note      it is written otherwise and means the same, or stays where it is
  changed   it cannot be said in a manifest: what the manifest says instead, and what to do about it
  left out  no manifest can be made of the event type as it is

A file in the folder that says something else is not written over.
Streams that are there belong to nobody the operator knows. With --adopt each manifest names the stream of its
topic base, so that it is taken over with all that it holds; without, such a stream is left alone, and the event
type waits.

exit codes:
  0  the manifests mean what the configuration meant
  1  something was changed or left out: it is told on standard error
  2  the file could not be read or has faults, nothing could be written, or the arguments were not understood
"""

VERSION: Final = "Print the versions of avisod and of the Python that runs it."
