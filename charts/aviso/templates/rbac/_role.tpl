{{/* A role and who has it: takes name, namespace or isClusterWide, rules, account (of the release's namespace, or of accountNamespace). */}}
{{- define "aviso.role" -}}
{{- $kind := ternary "ClusterRole" "Role" (default false .isClusterWide) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  {{- include "aviso.metadata" . | nindent 2 }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  {{- include "aviso.metadata" . | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .account }}, namespace: {{ default .root.Release.Namespace .accountNamespace }}}
{{- end -}}
