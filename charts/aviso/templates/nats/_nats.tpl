{{/* How much of a disk streams may take. */}}
{{- define "aviso.nats.streamBytes" -}}
{{- with .Values.nats.storage -}}
{{- $size := include "aviso.bytes" .size | int64 -}}
{{- if not .maxStreams -}}
{{- div (mul $size 8) 10 -}}
{{- else if gt (include "aviso.bytes" .maxStreams | int64) $size -}}
{{- fail (printf "nats.storage.maxStreams is %s, and the disks have %s: raise nats.storage.size, or leave nats.storage.maxStreams away for 80 %% of it" .maxStreams .size) -}}
{{- else -}}
{{- include "aviso.bytes" .maxStreams -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Bytes of a quantity such as 10Gi. */}}
{{- define "aviso.bytes" -}}
{{- $power := index (dict "" 0 "k" 1 "Ki" 1 "M" 2 "Mi" 2 "G" 3 "Gi" 3 "T" 4 "Ti" 4) (regexFind "[A-Za-z]*$" .) -}}
{{- $bytes := int64 (regexFind "^[0-9]+" .) -}}
{{- range until $power -}}
{{- $bytes = mul $bytes (ternary 1024 1000 (hasSuffix "i" $)) -}}
{{- end -}}
{{- $bytes -}}
{{- end -}}

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
  max_memory_store: {{ include "aviso.bytes" $nats.storage.maxMemory }}
  max_file_store: {{ include "aviso.nats.streamBytes" . }}
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

{{/* What a claim says of the cluster that its disk belongs to. */}}
{{- define "aviso.nats.serversLabel" -}}
aviso.dev/servers
{{- end -}}

{{/* Three servers take the streams of one for remains and delete them; one has no majority for those of three. */}}
{{- define "aviso.nats.refuseOtherServers" -}}
{{- $name := printf "%s-nats" (include "aviso.fullname" .) -}}
{{- $wanted := int .Values.nats.replicas -}}
{{- $found := list -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
{{- $found = append $found (int .spec.replicas) -}}
{{- end -}}
{{- range $number := until 3 -}}
{{- with lookup "v1" "PersistentVolumeClaim" $.Release.Namespace (printf "data-%s-%d" $name $number) -}}
{{- $found = append $found (int (index (default dict .metadata.labels) (include "aviso.nats.serversLabel" $))) -}}
{{- end -}}
{{- end -}}
{{- range without $found 0 $wanted -}}
{{- fail (printf "nats.replicas is %d, and there are disks of %d: their messages would be lost. Leave nats.replicas at %d; for another number install a second release and move to it, or delete the StatefulSet %s and the claims data-%s-… to begin without messages" $wanted . . $name $name) -}}
{{- end -}}
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
