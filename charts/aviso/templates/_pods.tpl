{{/* What all pods have in common. */}}

{{- define "aviso.podMetadata" -}}
labels:
  {{- merge (include "aviso.selectorLabels" . | fromYaml) (index .root.Values .component).podLabels .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) (index .root.Values .component).podAnnotations (default (dict) .checksums) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Placement, security and what is switched off, of a component's pod. */}}
{{- define "aviso.podSpec" -}}
{{- $values := index .root.Values .component -}}
serviceAccountName: {{ include "aviso.serviceAccountName" . }}
automountServiceAccountToken: {{ default false .usesCluster }}
enableServiceLinks: false
{{- include "aviso.podSecurity" . }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "aviso.selectorLabels" . | nindent 8 }}
  {{- end }}
{{- end -}}

{{- define "aviso.podSecurity" }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The beginning of a container: takes image (a map). */}}
{{- define "aviso.container" -}}
image: {{ include "aviso.image" . | quote }}
imagePullPolicy: {{ .image.pullPolicy }}
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- end -}}

{{/* The least grace that lets a pod end in good order, or what was set if that is not less: takes needed (seconds). */}}
{{- define "aviso.grace" -}}
{{- $set := (index .root.Values .component).terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $set -}}
{{- .needed -}}
{{- else if lt (int $set) (int .needed) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds is %d, and the pods need %d to end in good order: raise it, leave it away, or lower %s" .component (int $set) (int .needed) .because) -}}
{{- else -}}
{{- int $set -}}
{{- end -}}
{{- end -}}

{{/* Probes of something that answers HTTP: takes live, ready (paths) and port (a name). */}}
{{- define "aviso.probes" -}}
startupProbe:
  httpGet: {path: {{ .live }}, port: {{ .port }}}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 60
readinessProbe:
  httpGet: {path: {{ .ready }}, port: {{ .port }}}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet: {path: {{ .live }}, port: {{ .port }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "aviso.pdb" -}}
{{- $values := index .root.Values .component -}}
{{- if $values.pdb.enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "aviso.metadata" (dict "root" .root "component" .component "name" (include "aviso.componentName" .)) | nindent 2 }}
spec:
  maxUnavailable: {{ $values.pdb.maxUnavailable }}
  # A pod that is not ready serves nobody, and must not keep a node from being emptied.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "aviso.selectorLabels" . | nindent 6 }}
{{- end -}}
{{- end -}}
