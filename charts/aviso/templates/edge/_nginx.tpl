{{/* The edge's nginx.conf. */}}
{{- define "aviso.edge.nginx" -}}
{{- $fullname := include "aviso.fullname" . -}}
worker_processes 2;
# Connections are files, of which a container may by itself have far fewer.
worker_rlimit_nofile {{ add (int .Values.edge.workerConnections) 1024 }};
pid /tmp/nginx.pid;
error_log stderr warn;
worker_shutdown_timeout {{ int64 .Values.edge.drainSeconds }}s;

events {
  worker_connections {{ int .Values.edge.workerConnections }};
}

http {
  server_tokens off;
  {{- if .Values.edge.accessLog }}
  # Paths and no more: queries, bodies and tokens are nobody's business.
  log_format paths '$time_iso8601 $request_method $uri $status $bytes_sent $request_time $upstream_addr';
  access_log /dev/stdout paths;
  {{- else }}
  access_log off;
  {{- end }}
  client_body_temp_path /tmp/client;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;

  # Tokens are long.
  large_client_header_buffers 4 32k;
  # A path goes on as it came, and two slashes are two.
  merge_slashes off;
  tcp_nodelay on;
  keepalive_timeout 65s;
  # An answer of nginx itself looks like one of the services.
  default_type application/json;
  {{- range $component := list "ingest" "gateway" "schema" }}

  upstream {{ $component }} {
    server {{ $fullname }}-{{ $component }}:80 max_fails=0;
    # Shorter than the services keep theirs, so that it is nginx that closes.
    keepalive 64;
    keepalive_timeout 30s;
  }
  {{- end }}

  server {
    listen 8080 backlog=2048;

    # HTTP/1.1, over connections that are kept. Nothing is held back: not an answer, of which each piece is an event, and
    # not a request, which the service is to refuse before all of it is here.
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_connect_timeout 5s;
    # A request that may have been taken is not sent again: only its sender knows whether that is harmless.
    proxy_next_upstream off;
    # Streams, quiet ones too, have heartbeats; slow readers are the services' affair.
    proxy_read_timeout {{ max 120 (mul 4 (int .Values.gateway.stream.heartbeatSeconds)) }}s;
    proxy_send_timeout 120s;
    send_timeout 300s;
    client_max_body_size 2m;

    error_page 413 = @too-large;
    # With the answer goes its own status, which says that it is worth coming again.
    error_page 502 504 = @away;
    location @too-large {
      internal;
      return 413 '{"code":"PAYLOAD_TOO_LARGE","error":"payload_too_large","message":"The request is larger than any that is taken."}';
    }
    location @away {
      internal;
      add_header Retry-After 1 always;
      return 503 '{"code":"SERVICE_UNAVAILABLE","error":"service_unavailable","message":"The service is away; come again."}';
    }
    {{- range (include "aviso.routes" . | fromYaml).routes }}
    {{- $isPrefix := eq .match "Prefix" }}

    location {{ if or (not $isPrefix) (ne .path "/") }}= {{ end }}{{ .path }} {
      {{- include "aviso.edge.pass" (dict "root" $ "component" .component) | nindent 6 }}
    }
    {{- if and $isPrefix (ne .path "/") }}
    location {{ .path }}/ {
      {{- include "aviso.edge.pass" (dict "root" $ "component" .component) | nindent 6 }}
    }
    {{- end }}
    {{- end }}
  }

  # Whether nginx is there; asked by probes alone.
  server {
    listen 8081;
    location = /healthz {
      return 200 '{"status":"ok"}';
    }
    location / {
      return 404;
    }
  }
}
{{- end -}}

{{- define "aviso.edge.pass" -}}
{{- if eq .component "ingest" -}}
client_max_body_size {{ include "aviso.largestRequest" .root }};
# It waits for room before it answers.
proxy_read_timeout 120s;
{{ end -}}
proxy_pass http://{{ .component }};
{{- end -}}

{{- define "aviso.edge.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "aviso.metadata" (dict "root" . "component" "edge" "name" (printf "%s-edge" (include "aviso.fullname" .))) | nindent 2 }}
data:
  nginx.conf: |
    {{- include "aviso.edge.nginx" . | nindent 4 }}
{{- end -}}
