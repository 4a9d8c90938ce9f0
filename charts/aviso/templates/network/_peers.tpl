{{/* What is said of single components. */}}
{{- define "aviso.network.operatorIngress" -}}
{{ include "aviso.network.fromMonitoring" (dict "root" . "port" 8080) }}
{{- if .Values.networkPolicy.monitoring }}
- from:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "check")) | nindent 4 }}
  ports: [{port: 8080, protocol: TCP}]
{{- end }}
{{- end -}}

{{- define "aviso.network.toServices" -}}
- to:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "ingest" "gateway" "schema")) | nindent 4 }}
  ports: [{port: 8000, protocol: TCP}]
{{- end -}}

{{- define "aviso.network.natsIngress" -}}
- from:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "operator" "ingest" "gateway" "schema")) | nindent 4 }}
  ports: [{port: 4222, protocol: TCP}]
- from:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "nats")) | nindent 4 }}
  ports: [{port: 6222, protocol: TCP}]
{{ include "aviso.network.fromMonitoring" (dict "root" . "port" 8222) }}
{{- end -}}

{{- define "aviso.network.natsEgress" -}}
- to:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "nats")) | nindent 4 }}
  ports: [{port: 6222, protocol: TCP}]
{{- end -}}

{{/* The pods of hooks and of helm test. */}}
{{- define "aviso.network.checkEgress" -}}
{{ include "aviso.network.toServices" . }}
- to:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "edge" "operator")) | nindent 4 }}
  ports: [{port: 8080, protocol: TCP}]
{{ include "aviso.network.toApiServer" . }}
{{- end -}}
