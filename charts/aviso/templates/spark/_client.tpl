{{/*
A job without any operator: its pod is the driver, so it ends with the job's own exit code, and needs no rights but the
driver's. Executors follow a template that stands beside it.
*/}}
{{- define "aviso.spark.client" }}
{{- $spark := .root.Values.spark }}
{{- $account := $spark.serviceAccountName }}
{{- /* A Job cannot be changed: one that is to be different is another one. */}}
{{- $job := printf "%s-%s" .name (printf "%s %s %s" (toJson .job) (include "aviso.spark.image" .) (include "aviso.spark.url" .root) | sha256sum | trunc 8) }}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "aviso.metadata" (merge (dict "name" (printf "%s-executor" .name)) .) | nindent 2 }}
data:
  executor.yaml: |
    apiVersion: v1
    kind: Pod
    spec:
      {{- include "aviso.spark.template" (merge (dict "role" "executor") .) | nindent 6 }}
---
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "aviso.metadata" (merge (dict "name" $job) .) | nindent 2 }}
spec:
  backoffLimit: {{ int64 .job.retries }}
  ttlSecondsAfterFinished: {{ int64 .job.keepSeconds }}
  template:
    metadata:
      labels:
        {{- include "aviso.selectorLabels" . | nindent 8 }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ $account }}
      enableServiceLinks: false
      securityContext:
        {{- include "aviso.spark.podSecurityContext" . | nindent 8 }}
      {{- with .root.Values.global.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: driver
          {{- include "aviso.container" (dict "root" .root "image" $spark.image) | nindent 10 }}
          args:
            - spark-submit
            - --master=k8s://https://kubernetes.default.svc
            - --deploy-mode=client
            - --name={{ .name }}
            - --conf=spark.kubernetes.namespace={{ .namespace }}
            - --conf=spark.kubernetes.container.image={{ include "aviso.spark.image" . }}
            - --conf=spark.kubernetes.authenticate.executor.serviceAccountName={{ $account }}-executor
            - --conf=spark.kubernetes.executor.podTemplateFile=/etc/aviso/executor.yaml
            - --conf=spark.kubernetes.driver.pod.name=$(POD_NAME)
            - --conf=spark.driver.host=$(POD_IP)
            - --conf=spark.driver.bindAddress=$(POD_IP)
            - --conf=spark.driver.memory={{ .job.driver.memory }}
            - --conf=spark.executor.instances={{ int64 .job.executors }}
            - --conf=spark.executor.cores={{ int64 .job.executor.cores }}
            - --conf=spark.executor.memory={{ .job.executor.memory }}
            {{- with .job.executor.coreRequest }}
            - --conf=spark.kubernetes.executor.request.cores={{ . }}
            {{- end }}
            {{- range $key, $value := include "aviso.spark.conf" . | fromYaml }}
            - {{ printf "--conf=%s=%s" $key (toString $value) | quote }}
            {{- end }}
            - {{ $spark.mainApplicationFile }}
            {{- range .job.arguments }}
            - {{ . | quote }}
            {{- end }}
          env:
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: POD_IP
              valueFrom: {fieldRef: {fieldPath: status.podIP}}
            {{- include "aviso.spark.env" . | nindent 12 }}
          resources:
            requests: {cpu: {{ default (int64 .job.driver.cores) .job.driver.coreRequest | quote }}}
          volumeMounts:
            - {name: executor, mountPath: /etc/aviso, readOnly: true}
            {{- include "aviso.spark.volumeMounts" . | nindent 12 }}
      volumes:
        - name: executor
          configMap: {name: {{ .name }}-executor}
        {{- include "aviso.spark.volumes" . | nindent 8 }}
{{- end }}
