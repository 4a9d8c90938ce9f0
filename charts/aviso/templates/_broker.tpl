{{/* The broker, as its clients see it: the chart's own or another. */}}

{{- define "aviso.nats.replicas" -}}
{{- if .Values.nats.enabled }}{{ .Values.nats.replicas }}{{ else }}{{ .Values.externalNats.replicas }}{{ end -}}
{{- end -}}

{{- define "aviso.nats.secretName" -}}
{{- default (printf "%s-nats-auth" (include "aviso.fullname" .)) .Values.nats.auth.existingSecret -}}
{{- end -}}

{{/* With several servers each is named, so that a client finds another one without being told addresses of pods. */}}
{{- define "aviso.nats.url" -}}
{{- if .Values.nats.enabled -}}
{{- $scheme := ternary "tls" "nats" .Values.nats.tls.enabled -}}
{{- $name := printf "%s-nats" (include "aviso.fullname" .) -}}
{{- if eq (int .Values.nats.replicas) 1 -}}
{{ $scheme }}://{{ $name }}:4222
{{- else -}}
{{- $servers := list -}}
{{- range $number := until (int .Values.nats.replicas) -}}
{{- $servers = append $servers (printf "%s://%s-%d.%s-headless:4222" $scheme $name $number $name) -}}
{{- end -}}
{{ join "," $servers }}
{{- end -}}
{{- else -}}
{{ required "externalNats.url says where the broker is, as nats.enabled is false" .Values.externalNats.url }}
{{- end -}}
{{- end -}}

{{/* The block notification_backend of a component's configuration, as YAML. */}}
{{- define "aviso.nats.settings" -}}
{{- $root := .root -}}
{{- $jetstream := dict "nats_url" (include "aviso.nats.url" $root) "replicas" (int (include "aviso.nats.replicas" $root)) -}}
{{- if $root.Values.nats.enabled -}}
{{- $_ := set $jetstream "user" .component -}}
{{- if $root.Values.nats.tls.enabled -}}
{{- $_ := set $jetstream "tls_ca_file" "/etc/aviso/nats-tls/ca.crt" -}}
{{- end -}}
{{- else -}}
{{- $external := $root.Values.externalNats -}}
{{- if eq $external.auth.kind "password" -}}
{{- $_ := set $jetstream "user" (index $external.auth.users .component) -}}
{{- else if eq $external.auth.kind "credentials" -}}
{{- $_ := set $jetstream "credentials_file" (printf "/etc/aviso/nats/%s.creds" .component) -}}
{{- end -}}
{{- if and $external.tls.clientCertificate (not $external.tls.existingSecret) -}}
{{- fail "externalNats.tls.existingSecret names the Secret with the certificate, as externalNats.tls.clientCertificate is true" -}}
{{- end -}}
{{- if $external.tls.existingSecret -}}
{{- $_ := set $jetstream "tls_ca_file" "/etc/aviso/nats-tls/ca.crt" -}}
{{- if $external.tls.clientCertificate -}}
{{- $_ := set $jetstream "tls_certificate_file" "/etc/aviso/nats-tls/tls.crt" -}}
{{- $_ := set $jetstream "tls_key_file" "/etc/aviso/nats-tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $root.Values.streams -}}
{{- with .maxMessages }}{{ $_ := set $jetstream "max_messages" (int64 .) }}{{ end -}}
{{- with .maxBytes }}{{ $_ := set $jetstream "max_bytes" (int64 .) }}{{ end -}}
{{- end -}}
{{- dict "kind" "jetstream" "jetstream" $jetstream | toYaml -}}
{{- end -}}

{{/* What a client of the broker has in its environment: its password. */}}
{{- define "aviso.nats.env" -}}
{{- $auth := .root.Values.externalNats.auth -}}
{{- if .root.Values.nats.enabled }}
- name: AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__PASSWORD
  valueFrom: {secretKeyRef: {name: {{ include "aviso.nats.secretName" .root }}, key: {{ .component }}-password}}
{{- else if eq $auth.kind "password" }}
- name: AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__PASSWORD
  valueFrom: {secretKeyRef: {name: {{ include "aviso.nats.externalSecret" .root }}, key: {{ .component }}-password}}
{{- else if eq $auth.kind "token" }}
- name: AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "aviso.nats.externalSecret" .root }}, key: token}}
{{- end }}
{{- end -}}

{{- define "aviso.nats.externalSecret" -}}
{{- required (printf "externalNats.auth.existingSecret names the Secret for externalNats.auth.kind %s" .Values.externalNats.auth.kind) .Values.externalNats.auth.existingSecret -}}
{{- end -}}

{{/* The Secret with the certificates of the broker, if there is one. */}}
{{- define "aviso.nats.tlsSecret" -}}
{{- if not .Values.nats.enabled -}}
{{- .Values.externalNats.tls.existingSecret -}}
{{- else if .Values.nats.tls.enabled -}}
{{- required "nats.tls.existingSecret names the Secret with the certificate, as nats.tls.enabled is true" .Values.nats.tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{/* The sum of those certificates, as annotations of pods: who reads them at its start is started anew by a changed one. */}}
{{- define "aviso.nats.tlsChecksum" -}}
{{- with include "aviso.nats.tlsSecret" . -}}
{{- with lookup "v1" "Secret" $.Release.Namespace . -}}
checksum/nats-tls: {{ toJson .data | sha256sum }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "aviso.nats.usesCredentials" -}}
{{- if and (not .Values.nats.enabled) (eq .Values.externalNats.auth.kind "credentials") }}true{{ end -}}
{{- end -}}

{{- define "aviso.nats.volumeMounts" -}}
{{- if include "aviso.nats.tlsSecret" .root }}
- {name: nats-tls, mountPath: /etc/aviso/nats-tls, readOnly: true}
{{- end }}
{{- if include "aviso.nats.usesCredentials" .root }}
- {name: nats-credentials, mountPath: /etc/aviso/nats, readOnly: true}
{{- end }}
{{- end -}}

{{- define "aviso.nats.volumes" -}}
{{- with include "aviso.nats.tlsSecret" .root }}
- name: nats-tls
  secret:
    secretName: {{ . }}
    {{- if or $.root.Values.nats.enabled (not $.root.Values.externalNats.tls.clientCertificate) }}
    # The key is the broker's; its clients need to know who signed it.
    items: [{key: ca.crt, path: ca.crt}]
    {{- end }}
{{- end }}
{{- if include "aviso.nats.usesCredentials" .root }}
- name: nats-credentials
  secret:
    secretName: {{ include "aviso.nats.externalSecret" .root }}
    items: [{key: {{ .component }}.creds, path: {{ .component }}.creds}]
{{- end }}
{{- end -}}
