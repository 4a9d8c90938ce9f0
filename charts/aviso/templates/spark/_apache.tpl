{{/* A job for the operator of Apache Spark, which builds the driver's pod itself. */}}
{{- define "aviso.spark.apache" }}
{{- $spark := .root.Values.spark }}
{{- $account := $spark.serviceAccountName }}
{{- $own := dict
  "spark.kubernetes.namespace" .namespace
  "spark.kubernetes.container.image" (include "aviso.spark.image" .)
  "spark.kubernetes.authenticate.driver.serviceAccountName" $account
  "spark.kubernetes.authenticate.executor.serviceAccountName" (printf "%s-executor" $account)
  "spark.executor.instances" (.job.executors | int64 | toString)
  "spark.driver.cores" (.job.driver.cores | int64 | toString) "spark.driver.memory" .job.driver.memory
  "spark.executor.cores" (.job.executor.cores | int64 | toString) "spark.executor.memory" .job.executor.memory }}
{{- with .job.driver.coreRequest }}{{ $_ := set $own "spark.kubernetes.driver.request.cores" (toString .) }}{{ end }}
{{- with .job.executor.coreRequest }}{{ $_ := set $own "spark.kubernetes.executor.request.cores" (toString .) }}{{ end }}
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata:
  {{- include "aviso.metadata" . | nindent 2 }}
spec:
  runtimeVersions: {sparkVersion: {{ $spark.sparkVersion | quote }}}
  # The main file: without a class the first of these is run.
  pyFiles: {{ $spark.mainApplicationFile }}
  driverArgs: {{ toJson .job.arguments }}
  sparkConf:
    {{- merge (dict) $own (include "aviso.spark.conf" . | fromYaml) | toYaml | nindent 4 }}
  driverSpec:
    podTemplateSpec:
      spec:
        {{- include "aviso.spark.template" (merge (dict "role" "driver") .) | nindent 8 }}
  executorSpec:
    podTemplateSpec:
      spec:
        {{- include "aviso.spark.template" (merge (dict "role" "executor") .) | nindent 8 }}
  applicationTolerations:
    resourceRetainPolicy: OnFailure
    ttlAfterStopMillis: {{ mul 1000 (int64 .job.keepSeconds) }}
    # A job that has failed by itself fails again; only what the cluster took away is begun anew.
    restartConfig: {restartPolicy: OnInfrastructureFailure, maxRestartAttempts: {{ int64 .job.retries }}, restartBackoffMillis: 30000}
{{- end }}
