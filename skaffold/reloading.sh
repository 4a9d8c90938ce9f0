#!/bin/sh
# The first process of a container in which somebody works on a service: runs the service, and runs it anew after SIGHUP.
# The files of the container stay that way, which they would not where the container were restarted. A service that ends
# by itself, as one with a mistake in it does, waits for the next SIGHUP.
case $PACKAGE in
  aviso-operator) set -- aviso-operator run "$@" ;;
  aviso-all-in-one) set -- avisod "${@:-serve}" ;;
  *) set -- python -m "$(echo "$PACKAGE" | tr - _)" "$@" ;;
esac

child=
next=
tell() {
  next=$1
  [ -z "$child" ] || kill -TERM "$child" 2>/dev/null
}
trap 'tell again' HUP
trap 'tell end' TERM INT

while [ "$next" != end ]; do
  next=
  "$@" &
  child=$!
  # A signal ends the waiting, not what is waited for.
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done
  if [ -z "$next" ]; then
    echo "the service has ended; it starts anew after the next change" >&2
    sleep infinity &
    child=$!
    while [ -z "$next" ]; do wait "$child"; done
    wait "$child"
  fi
done
