{{/* The services' own configuration, from values. */}}

{{/* Who administers: what is given, or the account that is made for it. */}}
{{- define "aviso.adminRoles" -}}
{{- if .Values.auth.adminRoles -}}
{{- toYaml .Values.auth.adminRoles -}}
{{- else -}}
{{- dict .Values.auth.kubernetes.realm (list (printf "%s:%s-admin" .Release.Namespace (include "aviso.fullname" .))) | toYaml -}}
{{- end -}}
{{- end -}}

{{- define "aviso.authSettings" -}}
{{- $auth := .Values.auth -}}
enabled: {{ $auth.enabled }}
{{- if $auth.enabled }}
mode: {{ $auth.mode }}
admin_roles:
  {{- include "aviso.adminRoles" . | nindent 2 }}
{{- if eq $auth.mode "direct" }}
auth_o_tron_url: {{ required "auth.authOTronUrl is where the auth service is, as auth.mode is direct" $auth.authOTronUrl | quote }}
{{- end }}
{{- with $auth.issuers }}
issuers:
  {{- toYaml . | nindent 2 }}
{{- end }}
kubernetes:
  enabled: {{ $auth.kubernetes.enabled }}
  audience: {{ $auth.kubernetes.audience | quote }}
  realm: {{ $auth.kubernetes.realm | quote }}
{{- if and (not $auth.kubernetes.enabled) (not $auth.issuers) (not $auth.jwtSecret.existingSecret) }}
{{- fail "auth is on and nobody's tokens are believed: set auth.kubernetes.enabled, auth.issuers or auth.jwtSecret.existingSecret" }}
{{- end }}
{{- if and (not $auth.kubernetes.enabled) (not $auth.adminRoles) }}
{{- fail "auth.adminRoles says who administers: set it, as auth.kubernetes.enabled is false" }}
{{- end }}
{{- if and (eq $auth.mode "direct") (not $auth.jwtSecret.existingSecret) }}
{{- fail "auth.jwtSecret.existingSecret names the Secret with the key, as auth.mode is direct" }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "aviso.publicUrl" -}}
{{- $url := .Values.baseUrl -}}
{{- if $url -}}
{{- $url -}}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ first .Values.ingress.hosts }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
https://{{ first .Values.httpRoute.hostnames }}
{{- else if include "aviso.hasEdge" . -}}
{{- include "aviso.edgeUrl" . -}}
{{- else -}}
{{- fail "baseUrl is the address that users know: set it, as neither the edge nor a host name says it" -}}
{{- end -}}
{{- end -}}

{{/* What the chart computes because other objects go by it, and the value to set instead, if there is one. */}}
{{- define "aviso.computed" -}}
application.host: ""
application.port: ""
application.base_url: baseUrl
auth.enabled: auth.enabled
auth.mode: auth.mode
auth.admin_roles: auth.adminRoles
auth.auth_o_tron_url: auth.authOTronUrl
auth.issuers: auth.issuers
auth.jwt_secret: auth.jwtSecret.existingSecret
auth.kubernetes.enabled: auth.kubernetes.enabled
auth.kubernetes.audience: auth.kubernetes.audience
auth.kubernetes.realm: auth.kubernetes.realm
metrics.enabled: ""
metrics.host: ""
metrics.port: ""
registry.kind: ""
notification_backend.kind: ""
notification_backend.jetstream.nats_url: externalNats.url
notification_backend.jetstream.replicas: nats.replicas or externalNats.replicas
notification_backend.jetstream.user: externalNats.auth.users
notification_backend.jetstream.password: nats.auth.existingSecret or externalNats.auth.existingSecret
notification_backend.jetstream.token: externalNats.auth.existingSecret
notification_backend.jetstream.credentials_file: externalNats.auth.existingSecret
notification_backend.jetstream.tls_ca_file: nats.tls.existingSecret or externalNats.tls.existingSecret
notification_backend.jetstream.tls_certificate_file: externalNats.tls.clientCertificate
notification_backend.jetstream.tls_key_file: externalNats.tls.clientCertificate
notification_backend.jetstream.max_messages: streams.maxMessages
notification_backend.jetstream.max_bytes: streams.maxBytes
ingest.batch_max_records: ingest.batch.maxRecords
ingest.batch_max_bytes: ingest.batch.maxBytes
ingest.max_bytes_in_flight: ingest.maxBytesInFlight
watch_endpoint.sse_heartbeat_interval_sec: gateway.stream.heartbeatSeconds
watch_endpoint.connection_max_duration_sec: gateway.stream.maxConnectionSeconds
live_sets.heartbeat_seconds: gateway.stream.heartbeatSeconds
streams.max_streams: gateway.stream.maxStreams
streams.max_streams_per_user: gateway.stream.maxStreamsPerUser
streams.max_streams_per_address: gateway.stream.maxStreamsPerAddress
streams.lifetime_jitter_percent: gateway.stream.lifetimeJitterPercent
streams.drain_seconds: gateway.stream.drainWindowSeconds
streams.trusted_proxy_hops: gateway.trustedProxyHops
{{- end -}}

{{/* Takes given (a map) and where (the value that it is). */}}
{{- define "aviso.refuseComputed" -}}
{{- range $path, $instead := include "aviso.computed" . | fromYaml -}}
{{- $found := $.given -}}
{{- range splitList "." $path -}}
{{- if kindIs "map" $found }}{{ $found = get $found . }}{{ end -}}
{{- end -}}
{{- if ne (toJson $found) (toJson "") -}}
{{- fail (printf "%s.%s is %s, and other objects go by what the chart writes there: %s" $.where $path (toJson $found) (empty $instead | ternary "leave it away" (printf "set %s instead" $instead))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The whole configuration of a component, as YAML: takes own, the blocks that only this component has. */}}
{{- define "aviso.configuration" -}}
{{- $root := .root -}}
{{- $settings := dict
  "application" (dict "host" "0.0.0.0" "port" 8000 "base_url" (include "aviso.publicUrl" $root))
  "notification_backend" (include "aviso.nats.settings" . | fromYaml)
  "registry" (dict "kind" "jetstream")
  "auth" (include "aviso.authSettings" $root | fromYaml)
  "metrics" (dict "enabled" true "host" "0.0.0.0" "port" 9090)
  "logging" (dict "level" $root.Values.logging.level)
-}}
{{- $given := (index $root.Values .component).config -}}
{{- include "aviso.refuseComputed" (dict "given" $root.Values.config "where" "config") -}}
{{- include "aviso.refuseComputed" (dict "given" $given "where" (printf "%s.config" .component)) -}}
{{- $more := mergeOverwrite (deepCopy $root.Values.config) (deepCopy $given) -}}
{{- mergeOverwrite $settings (default (dict) .own) $more | toYaml -}}
{{- end -}}

{{/* The blocks that only a component has. */}}
{{- define "aviso.ownConfiguration.ingest" -}}
{{- with .Values.ingest -}}
ingest:
  batch_max_records: {{ int64 .batch.maxRecords }}
  batch_max_bytes: {{ int64 .batch.maxBytes }}
  max_bytes_in_flight: {{ int64 .maxBytesInFlight }}
{{- end }}
{{- end -}}

{{- define "aviso.ownConfiguration.gateway" -}}
{{- $hops := .Values.gateway.trustedProxyHops -}}
{{- $isRouted := or (include "aviso.hasEdge" .) .Values.ingress.enabled .Values.httpRoute.enabled -}}
{{- with .Values.gateway -}}
watch_endpoint:
  sse_heartbeat_interval_sec: {{ int64 .stream.heartbeatSeconds }}
  connection_max_duration_sec: {{ int64 .stream.maxConnectionSeconds }}
live_sets:
  heartbeat_seconds: {{ int64 .stream.heartbeatSeconds }}
streams:
  max_streams: {{ int64 .stream.maxStreams }}
  max_streams_per_user: {{ int64 .stream.maxStreamsPerUser }}
  max_streams_per_address: {{ int64 .stream.maxStreamsPerAddress }}
  lifetime_jitter_percent: {{ int64 .stream.lifetimeJitterPercent }}
  drain_seconds: {{ int64 .stream.drainWindowSeconds }}
  trusted_proxy_hops: {{ if kindIs "invalid" $hops }}{{ ternary 1 0 (not (empty $isRouted)) }}{{ else }}{{ int64 $hops }}{{ end }}
{{- end }}
{{- end -}}

{{- define "aviso.ownConfiguration.schema" -}}
{}
{{- end -}}
