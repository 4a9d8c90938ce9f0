{{/*
A job for the operator of Kubeflow. Without its webhook it ignores env, volumes, security contexts and tolerations beside
the template, in silence; so all of it stands in the template, which it does not ignore.
*/}}
{{- define "aviso.spark.kubeflow" }}
{{- $spark := .root.Values.spark }}
{{- $account := $spark.serviceAccountName }}
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata:
  {{- include "aviso.metadata" . | nindent 2 }}
spec:
  type: Python
  mode: cluster
  sparkVersion: {{ $spark.sparkVersion | quote }}
  image: {{ include "aviso.spark.image" . | quote }}
  imagePullPolicy: {{ $spark.image.pullPolicy }}
  mainApplicationFile: {{ $spark.mainApplicationFile }}
  arguments: {{ toJson .job.arguments }}
  restartPolicy:
    type: OnFailure
    onFailureRetries: {{ int64 .job.retries }}
    onFailureRetryInterval: 30
    onSubmissionFailureRetries: 3
    onSubmissionFailureRetryInterval: 20
  timeToLiveSeconds: {{ int64 .job.keepSeconds }}
  sparkConf:
    {{- include "aviso.spark.conf" . | nindent 4 }}
  driver:
    cores: {{ int64 .job.driver.cores }}
    {{- with .job.driver.coreRequest }}
    coreRequest: {{ . | quote }}
    {{- end }}
    memory: {{ .job.driver.memory }}
    serviceAccount: {{ $account }}
    template:
      spec:
        {{- include "aviso.spark.template" (merge (dict "role" "driver") .) | nindent 8 }}
  executor:
    instances: {{ int64 .job.executors }}
    cores: {{ int64 .job.executor.cores }}
    {{- with .job.executor.coreRequest }}
    coreRequest: {{ . | quote }}
    {{- end }}
    memory: {{ .job.executor.memory }}
    serviceAccount: {{ $account }}-executor
    template:
      spec:
        {{- include "aviso.spark.template" (merge (dict "role" "executor") .) | nindent 8 }}
{{- end }}
