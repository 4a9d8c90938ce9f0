{{/* As aviso.role, for an account of a hook or a test. */}}
{{- define "aviso.hook.role" -}}
{{- $kind := ternary "ClusterRole" "Role" (default false .isClusterWide) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  {{- include "aviso.hook.metadata" (merge (dict "weight" -9) .) | nindent 2 }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  {{- include "aviso.hook.metadata" (merge (dict "weight" -8) .) | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .account }}, namespace: {{ .root.Release.Namespace }}}
{{- end -}}
