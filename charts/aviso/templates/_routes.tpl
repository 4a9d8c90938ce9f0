{{/*
Who answers what: the one table that the edge, an Ingress and an HTTPRoute are made from, as JSON in {"routes": […]}.
What is not in it, below or above, is the schema service's: pages, documents, and the answer that there is no such path.
A route is matched exactly, or with everything below it.
*/}}
{{- define "aviso.routes" -}}
routes:
  - {path: /api/v1/notification, match: Exact, component: ingest}
  - {path: /api/v1/notifications, match: Exact, component: ingest}
  - {path: /api/v1/events, match: Exact, component: ingest}
  - {path: /api/v1/admin, match: Prefix, component: ingest}
  - {path: /api/v1/watch, match: Exact, component: gateway}
  - {path: /api/v1/replay, match: Exact, component: gateway}
  - {path: /api/v1/explain, match: Exact, component: gateway}
  - {path: /api/v1/positions, match: Prefix, component: gateway}
  - {path: /, match: Prefix, component: schema}
{{- end -}}

{{/* The most bytes that are passed on to ingest: twice what it takes, so that refusals are its own. */}}
{{- define "aviso.largestRequest" -}}
{{- mul 2 (max 2097152 (int64 .Values.ingest.batch.maxBytes)) -}}
{{- end -}}
