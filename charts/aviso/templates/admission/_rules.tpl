{{- define "aviso.policy.openAccess" -}}
validations:
  - expression: "!has(object.spec.auth) || !has(object.spec.auth.required) || object.spec.auth.required"
    message: "spec.auth.required: false is not allowed here: everybody could read and write these events"
    reason: Forbidden
{{- end -}}

{{- define "aviso.policy.quota" -}}
{{- $quota := .Values.admissionPolicies.quota -}}
variables:
  - name: retention
    expression: "has(object.spec.storage) && has(object.spec.storage.retention) ? object.spec.storage.retention : ''"
  - name: seconds
    expression: >-
      variables.retention == '' ? 0 : int(variables.retention.substring(0, variables.retention.size() - 1))
      * {'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}[variables.retention.substring(variables.retention.size() - 1)]
validations:
  - expression: "variables.seconds > 0 && variables.seconds <= {{ include "aviso.seconds" $quota.maxRetention }}"
    message: "spec.storage.retention must be there, and at most {{ $quota.maxRetention }}"
    reason: Forbidden
  - expression: >-
      has(object.spec.storage) && has(object.spec.storage.maxBytes)
      && quantity(string(object.spec.storage.maxBytes)).compareTo(quantity('{{ $quota.maxBytes }}')) <= 0
    message: "spec.storage.maxBytes must be there, and at most {{ $quota.maxBytes }}"
    reason: Forbidden
{{- end -}}
