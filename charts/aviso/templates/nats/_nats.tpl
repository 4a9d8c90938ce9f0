{{/* The broker's nats.conf. Passwords come from the environment, so that this holds none. */}}
{{- define "aviso.nats.conf" -}}
{{- $nats := .Values.nats -}}
{{- $name := printf "%s-nats" (include "aviso.fullname" .) -}}
port: 4222
http_port: 8222
server_name: $POD_NAME
pid_file: "/tmp/nats.pid"
lame_duck_grace_period: 5s
lame_duck_duration: 30s
{{- if $nats.tls.enabled }}
tls {
  cert_file: "/etc/nats-tls/tls.crt"
  key_file: "/etc/nats-tls/tls.key"
  ca_file: "/etc/nats-tls/ca.crt"
}
{{- end }}
jetstream {
  store_dir: "/data"
  max_memory_store: {{ $nats.storage.maxMemory }}
  max_file_store: {{ $nats.storage.maxStreams }}
  sync_interval: {{ $nats.syncInterval }}
}
{{- if gt (int $nats.replicas) 1 }}
cluster {
  name: {{ $name }}
  port: 6222
  # Clients know every server by name; addresses of pods would only mislead them, and fit no certificate.
  no_advertise: true
  authorization { user: cluster, password: $CLUSTER_PASSWORD }
  {{- if $nats.tls.enabled }}
  tls {
    cert_file: "/etc/nats-tls/tls.crt"
    key_file: "/etc/nats-tls/tls.key"
    ca_file: "/etc/nats-tls/ca.crt"
  }
  {{- end }}
}
{{- end }}
authorization {
  timeout: 5
  users: [
    {{- include "aviso.nats.users" . | nindent 4 }}
  ]
}
{{- end -}}

{{/*
One user for each component. Only the operator makes streams and writes the registry and the cluster's keys. Ingest writes
events, whose subjects begin with any name; so it is told what it may not write. The others publish no event. A consumer
is something that whoever reads has to make, and its rights are not looked into by the broker any further.
*/}}
{{- define "aviso.nats.users" -}}
{
  user: operator, password: $OPERATOR_PASSWORD
  permissions: {
    publish: {allow: ["$JS.API.STREAM.>", "$JS.API.CONSUMER.>", "$JS.FC.>", "$KV.aviso-schemas.>", "$KV.aviso-keys.>", "$KV.aviso-acks.>"]}
    subscribe: {allow: ["_INBOX.operator.>"]}
  }
}
{
  user: ingest, password: $INGEST_PASSWORD
  permissions: {
    publish: {
      allow: [">"]
      deny: [
        "_INBOX.>", "$SYS.>", "$SRV.>", "$G.>", "$KV.aviso-schemas.>", "$KV.aviso-keys.>"
        "$JS.API.INFO", "$JS.API.ACCOUNT.>", "$JS.API.META.>", "$JS.API.SERVER.>"
        "$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.UPDATE.*", "$JS.API.STREAM.DELETE.*"
        "$JS.API.STREAM.SNAPSHOT.*", "$JS.API.STREAM.RESTORE.*", "$JS.API.STREAM.PEER.REMOVE.*"
        "$JS.API.STREAM.LEADER.STEPDOWN.*", "$JS.API.CONSUMER.DURABLE.>", "$JS.API.CONSUMER.LEADER.>"
        {{- range $bucket := list "aviso-schemas" "aviso-keys" "aviso-acks" }}
        "$JS.API.STREAM.PURGE.KV_{{ $bucket }}", "$JS.API.STREAM.MSG.DELETE.KV_{{ $bucket }}"
        {{- end }}
      ]
    }
    subscribe: {allow: ["_INBOX.ingest.>"]}
  }
}
{
  user: gateway, password: $GATEWAY_PASSWORD
  permissions: {
    publish: {
      allow: [
        "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*", "$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.INFO.>"
        "$JS.API.CONSUMER.DELETE.>", "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.FC.>", "$KV.aviso-acks.>"
      ]
    }
    subscribe: {allow: ["_INBOX.gateway.>"]}
  }
}
{
  user: schema, password: $SCHEMA_PASSWORD
  permissions: {
    publish: {
      allow: [
        {{- range $bucket := list "aviso-schemas" "aviso-keys" "aviso-acks" }}
        "$JS.API.STREAM.INFO.KV_{{ $bucket }}", "$JS.API.STREAM.MSG.GET.KV_{{ $bucket }}"
        "$JS.API.CONSUMER.CREATE.KV_{{ $bucket }}.>", "$JS.API.CONSUMER.DELETE.KV_{{ $bucket }}.>"
        {{- end }}
        "$JS.FC.>", "$KV.aviso-acks.>"
      ]
    }
    subscribe: {allow: ["_INBOX.schema.>"]}
  }
}
{{- end -}}

{{- define "aviso.nats.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "aviso.metadata" (dict "root" . "component" "nats" "name" (printf "%s-nats" (include "aviso.fullname" .))) | nindent 2 }}
data:
  nats.conf: |
    {{- include "aviso.nats.conf" . | nindent 4 }}
{{- end -}}
