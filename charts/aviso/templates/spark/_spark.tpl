{{/* Pieces of Spark's pods. They take (dict "root" $ "job" …), and driver or executor as role. */}}

{{- define "aviso.spark.url" -}}
{{- if .Values.spark.url -}}
{{- .Values.spark.url -}}
{{- else if include "aviso.hasEdge" . -}}
{{- include "aviso.edgeUrl" . -}}
{{- else -}}
{{- fail "spark.url is where jobs find the service: set it, as there is no edge" -}}
{{- end -}}
{{- end -}}

{{/* The user that Spark's images have by name; another one fails. */}}
{{- define "aviso.spark.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 185
runAsGroup: 185
fsGroup: 185
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "aviso.spark.env" -}}
- {name: AVISO_URL, value: {{ include "aviso.spark.url" .root | quote }}}
- {name: AVISO_TOKEN_FILE, value: /run/aviso/token}
{{- with .job.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "aviso.spark.volumeMounts" -}}
- {name: work, mountPath: /work}
- {name: tmp, mountPath: /tmp}
- {name: token, mountPath: /run/aviso, readOnly: true}
{{- with .job.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "aviso.spark.volumes" -}}
- {name: work, emptyDir: {}}
- {name: tmp, emptyDir: {}}
- name: token
  projected: {sources: [{serviceAccountToken: {path: token, audience: {{ .root.Values.auth.kubernetes.audience | quote }}, expirationSeconds: 3600}}]}
{{- with .job.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The spec of a pod of which Spark fills in the rest, by the names of its containers. */}}
{{- define "aviso.spark.template" -}}
{{- if eq .role "executor" }}
# An executor asks the cluster nothing.
automountServiceAccountToken: false
{{- end }}
enableServiceLinks: false
securityContext:
  {{- include "aviso.spark.podSecurityContext" . | nindent 2 }}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: spark-kubernetes-{{ .role }}
    securityContext:
      {{- toYaml .root.Values.containerSecurityContext | nindent 6 }}
    env:
      {{- include "aviso.spark.env" . | nindent 6 }}
    volumeMounts:
      {{- include "aviso.spark.volumeMounts" . | nindent 6 }}
volumes:
  {{- include "aviso.spark.volumes" . | nindent 2 }}
{{- end -}}

{{/* Settings of every job, as YAML; a job's own go before them. */}}
{{- define "aviso.spark.conf" -}}
{{- $conf := dict "spark.ui.enabled" "false" "spark.kubernetes.container.image.pullPolicy" .root.Values.spark.image.pullPolicy -}}
{{- /* Spark would make a NetworkPolicy for each job, and neither operator is granted that; the chart has one for all. */ -}}
{{- $_ := set $conf "spark.kubernetes.driver.pod.excludedFeatureSteps" "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep" -}}
{{- /* Which finds its pods by these. */ -}}
{{- range $key, $value := include "aviso.selectorLabels" . | fromYaml -}}
{{- $_ := set $conf (printf "spark.kubernetes.driver.label.%s" $key) $value -}}
{{- $_ := set $conf (printf "spark.kubernetes.executor.label.%s" $key) $value -}}
{{- end -}}
{{- merge (dict) (default (dict) .job.sparkConf) $conf | toYaml -}}
{{- end -}}

{{- define "aviso.spark.image" -}}
{{- include "aviso.image" (dict "root" .root "image" .root.Values.spark.image) -}}
{{- end -}}

{{/* A job with what it leaves out, and with arguments that are texts, which both definitions ask for. */}}
{{- define "aviso.spark.job" -}}
{{- $defaults := dict "arguments" list "executors" 2 "driver" (dict "cores" 1 "memory" "1g") "executor" (dict "cores" 1 "memory" "1g") "retries" 2 "keepSeconds" 86400 -}}
{{- $job := mergeOverwrite $defaults (deepCopy .job) -}}
{{- $arguments := list -}}
{{- range $job.arguments -}}
{{- $arguments = append $arguments (include "aviso.spark.text" .) -}}
{{- end -}}
{{- set $job "arguments" $arguments | toYaml -}}
{{- end -}}

{{/* A value as it was written: numbers come as floats, of which large ones would be shown with an exponent. */}}
{{- define "aviso.spark.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}
