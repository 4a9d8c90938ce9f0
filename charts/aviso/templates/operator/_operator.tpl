{{- define "aviso.operator.configMap" -}}
{{- $part := dict "root" . "component" "operator" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "aviso.metadata" (dict "root" . "component" "operator" "name" (include "aviso.componentName" $part)) | nindent 2 }}
data:
  # Of the services' configuration it obeys these blocks.
  config.yaml: |
    notification_backend:
      {{- include "aviso.nats.settings" $part | nindent 6 }}
    logging:
      level: {{ .Values.logging.level }}
{{- end -}}
