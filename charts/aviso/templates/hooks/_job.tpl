{{/* Pods that look at the installation: hooks and tests. They run the operator's image, which has what they need. */}}

{{/* The metadata of what belongs to a hook: takes name, hook, weight, and optionally namespace, policy and isClusterWide. */}}
{{- define "aviso.hook.metadata" -}}
{{- $annotations := dict "helm.sh/hook" .hook "helm.sh/hook-weight" (toString (default 0 .weight)) "helm.sh/hook-delete-policy" (default "before-hook-creation,hook-succeeded" .policy) "helm.sh/hook-output-log-policy" "hook-failed" -}}
{{- include "aviso.metadata" (merge (dict "annotations" $annotations) .) -}}
{{- end -}}

{{/* The pod's spec: takes command, and optionally account, usesCluster, audience (of a token in a file). */}}
{{- define "aviso.hook.podSpec" -}}
restartPolicy: Never
serviceAccountName: {{ default "default" .account }}
automountServiceAccountToken: {{ default false .usesCluster }}
enableServiceLinks: false
{{- include "aviso.podSecurity" . }}
{{- with .root.Values.operator.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.operator.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: check
    {{- include "aviso.container" (dict "root" .root "image" .root.Values.operator.image) | nindent 4 }}
    command: {{ toJson .command }}
    {{- if .audience }}
    env:
      - {name: AVISO_TOKEN_FILE, value: /run/aviso/token}
    {{- end }}
    resources:
      {{- toYaml .root.Values.hooks.resources | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- if .audience }}
      - {name: token, mountPath: /run/aviso, readOnly: true}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: 16Mi}
  {{- with .audience }}
  - name: token
    projected: {sources: [{serviceAccountToken: {path: token, audience: {{ . | quote }}, expirationSeconds: 600}}]}
  {{- end }}
{{- end -}}

{{/* A job that is a hook, with the pod's arguments besides: takes deadlineSeconds, and optionally retries. */}}
{{- define "aviso.hook.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "aviso.hook.metadata" . | nindent 2 }}
spec:
  backoffLimit: {{ default 0 .retries }}
  activeDeadlineSeconds: {{ .deadlineSeconds }}
  template:
    metadata:
      labels:
        {{- include "aviso.selectorLabels" . | nindent 8 }}
    spec:
      {{- include "aviso.hook.podSpec" . | nindent 6 }}
{{- end -}}

{{/* The workloads of the release, as JSON in {"deployments": […], "statefulsets": […]}. */}}
{{- define "aviso.workloads" -}}
{{- $fullname := include "aviso.fullname" . -}}
{{- $deployments := list -}}
{{- range concat (list "operator" "ingest" "gateway" "schema") (ternary (list "edge") list (not (empty (include "aviso.hasEdge" .)))) -}}
{{- $deployments = append $deployments (printf "%s-%s" $fullname .) -}}
{{- end -}}
{{- dict "deployments" $deployments "statefulsets" (ternary (list (printf "%s-nats" $fullname)) list .Values.nats.enabled) | toJson -}}
{{- end -}}

{{/* Where each part says whether it is ready, as JSON in {"addresses": […]}. */}}
{{- define "aviso.readyAddresses" -}}
{{- $fullname := include "aviso.fullname" . -}}
{{- $addresses := list (printf "operator=http://%s-operator:8080/readyz" $fullname) -}}
{{- range list "ingest" "gateway" "schema" -}}
{{- $addresses = append $addresses (printf "%s=http://%s-%s/ready" . $fullname .) -}}
{{- end -}}
{{- if include "aviso.hasEdge" . -}}
{{- $addresses = append $addresses (printf "edge=%s/ready" (include "aviso.edgeUrl" .)) -}}
{{- end -}}
{{- dict "addresses" $addresses | toJson -}}
{{- end -}}
