{{/* A policy on EventSchemas that are written, and its binding: takes name, validations (YAML), namespaces and exceptNamespaces. */}}
{{- define "aviso.writePolicy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  {{- include "aviso.metadata" (merge (dict "isClusterWide" true) .) | nindent 2 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [aviso.dev]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE]
        resources: [eventschemas]
  matchConditions:
    # What was there before the policy may still be marked, labelled and deleted.
    - name: spec-changes
      expression: oldObject == null || oldObject.spec != object.spec
  {{- .rules | nindent 2 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "aviso.metadata" (merge (dict "isClusterWide" true) .) | nindent 2 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
  {{- if or .namespaces .exceptNamespaces }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        {{- with .namespaces }}
        - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }}}
        {{- end }}
        {{- with .exceptNamespaces }}
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: {{ toJson . }}}
        {{- end }}
  {{- end }}
{{- end -}}

{{/* Seconds of a duration such as 7d. */}}
{{- define "aviso.seconds" -}}
{{- mul (int64 (regexFind "^[0-9]+" .)) (index (dict "s" 1 "m" 60 "h" 3600 "d" 86400 "w" 604800) (regexFind "[smhdw]$" .)) -}}
{{- end -}}
