{{/* One of the three services: a ConfigMap, a Deployment, a Service and what scales it. */}}

{{- define "aviso.service.configMap" -}}
{{- $own := include (printf "aviso.ownConfiguration.%s" .component) .root | fromYaml -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "aviso.metadata" (dict "root" .root "component" .component "name" (include "aviso.componentName" .)) | nindent 2 }}
data:
  config.yaml: |
    {{- include "aviso.configuration" (dict "root" .root "component" .component "own" $own) | nindent 4 }}
{{- end -}}

{{/* As long as a service takes to end: endpoints are told, new requests are still taken for up to two seconds, then
what was accepted has twenty seconds, or as long as streams are ended over and five more; ten are for the machine. */}}
{{- define "aviso.service.grace" -}}
{{- $values := index .root.Values .component -}}
{{- $window := 0 -}}
{{- if eq .component "gateway" }}{{ $window = int $values.stream.drainWindowSeconds }}{{ end -}}
{{- $needed := add (int $values.preStopSeconds) (max 20 (add $window 5)) 10 -}}
{{- $because := ternary "gateway.stream.drainWindowSeconds or gateway.preStopSeconds" (printf "%s.preStopSeconds" .component) (eq .component "gateway") -}}
{{- include "aviso.grace" (dict "root" .root "component" .component "needed" $needed "because" $because) -}}
{{- end -}}

{{- define "aviso.service.deployment" -}}
{{- $root := .root -}}
{{- $values := index $root.Values .component -}}
{{- $grace := include "aviso.service.grace" . -}}
{{- $surges := and (eq .component "gateway") (eq $root.Values.gateway.rollout "surge") -}}
{{- $ready := 0 -}}
{{- if eq .component "gateway" }}{{ $ready = int $values.minReadySeconds }}{{ end -}}
{{- $most := int (ternary $values.autoscaling.maxReplicas $values.replicas $values.autoscaling.enabled) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "aviso.metadata" (dict "root" $root "component" .component "name" (include "aviso.componentName" .)) | nindent 2 }}
spec:
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ int64 $values.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  {{- with $ready }}
  minReadySeconds: {{ . }}
  {{- end }}
  # A rollout that goes pod by pod takes its time, and has not failed for that.
  progressDeadlineSeconds: {{ max 600 (mul $most (add (int $grace) $ready 60)) }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: {{ ternary "100%" 1 $surges }}
  selector:
    matchLabels:
      {{- include "aviso.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      {{- include "aviso.podMetadata" (dict "root" $root "component" .component "checksums" (merge (dict "checksum/config" (include "aviso.service.configMap" . | sha256sum)) (include "aviso.nats.tlsChecksum" $root | fromYaml))) | nindent 6 }}
    spec:
      {{- include "aviso.podSpec" . | nindent 6 }}
      terminationGracePeriodSeconds: {{ $grace }}
      containers:
        - name: {{ .component }}
          {{- include "aviso.container" (dict "root" $root "image" $values.image) | nindent 10 }}
          env:
            - {name: AVISOSERVER_CONFIG_FILE, value: /etc/aviso/config.yaml}
            - name: K8S_POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            {{- include "aviso.nats.env" . | nindent 12 }}
            {{- if and $root.Values.auth.enabled $root.Values.auth.jwtSecret.existingSecret }}
            - name: AVISOSERVER_AUTH__JWT_SECRET
              valueFrom: {secretKeyRef: {name: {{ $root.Values.auth.jwtSecret.existingSecret }}, key: {{ $root.Values.auth.jwtSecret.key }}}}
            {{- end }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - {name: http, containerPort: 8000}
            - {name: metrics, containerPort: 9090}
          {{- include "aviso.probes" (dict "live" "/health" "ready" "/ready" "port" "http") | nindent 10 }}
          {{- with int $values.preStopSeconds }}
          lifecycle:
            preStop: {sleep: {seconds: {{ . }}}}
          {{- end }}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          volumeMounts:
            # By file: a folder would be replaced as a whole, and secrets lie below it.
            - {name: config, mountPath: /etc/aviso/config.yaml, subPath: config.yaml, readOnly: true}
            - {name: tmp, mountPath: /tmp}
            {{- include "aviso.nats.volumeMounts" . | nindent 12 }}
            {{- with $values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          configMap: {name: {{ include "aviso.componentName" . }}}
        - name: tmp
          emptyDir: {sizeLimit: 256Mi}
        {{- include "aviso.nats.volumes" . | nindent 8 }}
        {{- with $values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{- define "aviso.service.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "aviso.metadata" (dict "root" .root "component" .component "name" (include "aviso.componentName" .)) | nindent 2 }}
spec:
  type: ClusterIP
  selector:
    {{- include "aviso.selectorLabels" . | nindent 4 }}
  ports:
    - {name: http, port: 80, targetPort: http, appProtocol: http}
    - {name: metrics, port: 9090, targetPort: metrics}
{{- end -}}

{{- define "aviso.service.hpa" -}}
{{- $values := index .root.Values .component -}}
{{- $isGateway := eq .component "gateway" -}}
{{- if $values.autoscaling.enabled -}}
{{- with $values.autoscaling -}}
{{- if gt (int64 .minReplicas) (int64 .maxReplicas) -}}
{{- fail (printf "%s.autoscaling.minReplicas is %d, and maxReplicas is %d: lower one or raise the other" $.component (int64 .minReplicas) (int64 .maxReplicas)) -}}
{{- end -}}
{{- end }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "aviso.metadata" (dict "root" .root "component" .component "name" (include "aviso.componentName" .)) | nindent 2 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "aviso.componentName" . }}}
  minReplicas: {{ int64 $values.autoscaling.minReplicas }}
  maxReplicas: {{ int64 $values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: {{ int64 $values.autoscaling.cpuUtilization }}}}
    {{- if and $isGateway (gt (int $values.autoscaling.streamsPerPod) 0) }}
    # Streams that have nothing to say use no processor.
    - type: Pods
      pods:
        metric: {name: aviso_sse_connections_active}
        target: {type: AverageValue, averageValue: {{ int64 $values.autoscaling.streamsPerPod | quote }}}
    {{- end }}
  {{- if $isGateway }}
  behavior:
    # New pods begin empty and old streams stay where they are: more at once, fewer one by one.
    scaleUp:
      stabilizationWindowSeconds: 0
      policies: [{type: Percent, value: 100, periodSeconds: 30}]
    scaleDown:
      stabilizationWindowSeconds: {{ int64 $values.autoscaling.scaleDownSeconds }}
      policies: [{type: Pods, value: 1, periodSeconds: {{ max 60 (int $values.stream.drainWindowSeconds) | min 1800 }}}]
  {{- end }}
{{- end -}}
{{- end -}}
