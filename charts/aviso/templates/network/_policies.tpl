{{/* Pieces of policies. A peer of ours takes (dict "root" $ "components" (list "edge" "check")). */}}
{{- define "aviso.network.pods" -}}
- podSelector:
    matchLabels:
      app.kubernetes.io/name: aviso
      app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
    matchExpressions:
      - {key: app.kubernetes.io/component, operator: In, values: {{ toJson .components }}}
{{- end -}}

{{/* A policy of one component: takes ingress and egress as YAML lists. */}}
{{- define "aviso.network.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "aviso.metadata" (dict "root" .root "component" .component "name" (printf "%s-%s" (include "aviso.fullname" .root) .component)) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "aviso.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- with trim .ingress }}
  ingress:
    {{- . | nindent 4 }}
  {{- end }}
  egress:
    - ports:
        {{- range .root.Values.networkPolicy.dnsPorts }}
        - {port: {{ . }}, protocol: UDP}
        - {port: {{ . }}, protocol: TCP}
        {{- end }}
    {{- trim .egress | nindent 4 }}
    {{- with .root.Values.networkPolicy.extraEgress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "aviso.network.fromMonitoring" -}}
- {{ with .root.Values.networkPolicy.monitoring }}from:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports: [{port: {{ .port }}, protocol: TCP}]
{{- end -}}

{{- define "aviso.network.toBroker" -}}
{{- if .Values.nats.enabled -}}
- to:
    {{- include "aviso.network.pods" (dict "root" . "components" (list "nats")) | nindent 4 }}
  ports: [{port: 4222, protocol: TCP}]
{{- else -}}
- {{ with .Values.networkPolicy.externalNats }}to:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports: [{port: {{ .Values.networkPolicy.externalNatsPort }}, protocol: TCP}]
{{- end -}}
{{- end -}}

{{- define "aviso.network.toApiServer" -}}
- {{ with .Values.networkPolicy.apiServer }}to:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- end -}}

{{/* Who may call a service, or the edge: takes components (of ours), spark (whether jobs may) and port. */}}
{{- define "aviso.network.fromClients" -}}
{{- $values := .root.Values -}}
{{- if not $values.networkPolicy.clients -}}
- ports: [{port: {{ .port }}, protocol: TCP}]
{{- else -}}
- from:
    {{- include "aviso.network.pods" . | nindent 4 }}
    {{- toYaml $values.networkPolicy.clients | nindent 4 }}
    {{- if and .spark $values.spark.enabled }}
    - namespaceSelector:
        matchExpressions:
          - {key: kubernetes.io/metadata.name, operator: In, values: {{ (include "aviso.sparkNamespaces" .root | fromJson).names | toJson }}}
    {{- end }}
  ports: [{port: {{ .port }}, protocol: TCP}]
{{- end -}}
{{- end -}}
