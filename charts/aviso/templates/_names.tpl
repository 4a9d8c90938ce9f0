{{/* Names, labels and images. Templates about a component take (dict "root" $ "component" "ingest"). */}}

{{- define "aviso.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of a component's objects. The edge is the address of the whole, so it has the plain name. */}}
{{- define "aviso.componentName" -}}
{{- $fullname := include "aviso.fullname" .root -}}
{{- if eq .component "edge" -}}{{ $fullname }}{{- else -}}{{ $fullname }}-{{ .component }}{{- end -}}
{{- end -}}

{{/* What is the name of an object of the whole cluster. No namespace has a dot, so no two releases have one name. */}}
{{- define "aviso.clusterName" -}}
{{- printf "%s.%s" .Release.Namespace (include "aviso.fullname" .) -}}
{{- end -}}

{{- define "aviso.selectorLabels" -}}
app.kubernetes.io/name: aviso
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "aviso.labels" -}}
{{- merge (include "aviso.ownLabels" . | fromYaml) .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{- define "aviso.ownLabels" -}}
app.kubernetes.io/name: aviso
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: aviso
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The metadata of an object: takes name, and optionally namespace, annotations (a map) and labels (a map). */}}
{{- define "aviso.metadata" -}}
name: {{ .name }}
{{- if not .isClusterWide }}
namespace: {{ default .root.Release.Namespace .namespace }}
{{- end }}
labels:
  {{- include "aviso.labels" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The image of a component; ours are of the chart's own version where no tag is given. */}}
{{- define "aviso.image" -}}
{{- $image := .image -}}
{{- $tag := default .root.Chart.AppVersion $image.tag -}}
{{- $name := $image.repository -}}
{{- with .root.Values.global.imageRegistry -}}
{{- $name = printf "%s/%s" (trimSuffix "/" .) $name -}}
{{- end -}}
{{- if $image.digest -}}{{ printf "%s:%s@%s" $name $tag $image.digest }}{{- else -}}{{ printf "%s:%s" $name $tag }}{{- end -}}
{{- end -}}

{{- define "aviso.serviceAccountName" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-%s" (include "aviso.fullname" .root) .component) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end -}}

{{- define "aviso.serviceAccount" -}}
{{- $values := index .root.Values .component -}}
{{- if $values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "aviso.metadata" (dict "root" .root "component" .component "name" (include "aviso.serviceAccountName" .) "annotations" $values.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}

{{/* The namespaces whose EventSchemas are served, as JSON in {"names": […]}; none is the whole cluster. */}}
{{- define "aviso.watchedNamespaces" -}}
{{- if eq .Values.rbac.scope "cluster" -}}
{{- dict "names" (list) | toJson -}}
{{- else -}}
{{- dict "names" (default (list .Release.Namespace) .Values.operator.namespaces | uniq) | toJson -}}
{{- end -}}
{{- end -}}

{{/* Where an EventSchema is tried: in the release's namespace, or in the first of those that the operator serves. */}}
{{- define "aviso.trialNamespace" -}}
{{- $watched := (include "aviso.watchedNamespaces" . | fromJson).names -}}
{{- if and $watched (not (has .Release.Namespace $watched)) }}{{ first $watched }}{{ else }}{{ .Release.Namespace }}{{ end -}}
{{- end -}}

{{/* The namespaces that jobs of Spark run in, as JSON in {"names": […]}. */}}
{{- define "aviso.sparkNamespaces" -}}
{{- if not .Values.spark.namespaces -}}
{{- fail "spark.namespaces says where jobs run: name at least one, as spark.enabled is true" -}}
{{- end -}}
{{- if and (has .Release.Namespace .Values.spark.namespaces) (not .Values.spark.allowReleaseNamespace) -}}
{{- fail (printf "spark.namespaces has %s, the release's own: drivers make pods there, which can mount the broker's passwords and disks. Name another namespace, or set spark.allowReleaseNamespace to say that it is meant" .Release.Namespace) -}}
{{- end -}}
{{- dict "names" (.Values.spark.namespaces | uniq) | toJson -}}
{{- end -}}

{{- define "aviso.hasEdge" -}}
{{- if kindIs "bool" .Values.edge.enabled -}}
{{- if .Values.edge.enabled }}true{{ end -}}
{{- else if not (or .Values.ingress.enabled .Values.httpRoute.enabled) -}}
true
{{- end -}}
{{- end -}}

{{/* The address of the edge inside the cluster. */}}
{{- define "aviso.edgeUrl" -}}
{{- $port := int .Values.edge.service.port -}}
http://{{ include "aviso.fullname" . }}.{{ .Release.Namespace }}.svc{{ if ne $port 80 }}:{{ $port }}{{ end }}
{{- end -}}
