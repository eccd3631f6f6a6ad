{{- define "css.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "css.tag" -}}
{{- .Values.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "css.build" -}}
{{- .Values.workerVersioning.buildId | default (include "css.tag" .) -}}
{{- end -}}

{{/* The build as part of names and labels. */}}
{{- define "css.buildName" -}}
{{- mustRegexReplaceAll "[^a-z0-9]+" (include "css.build" . | lower) "-" | trunc 40 | trimAll "-" -}}
{{- end -}}

{{/* What selects pods: never changes. Takes (dict "root" $ "component" name). */}}
{{- define "css.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "css.labels" -}}
{{ include "css.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* The Secret with the certificate that Temporal wants; empty: none. */}}
{{- define "css.temporalCertificate" -}}
{{- if .Values.temporal.tls.enabled }}{{ .Values.temporal.tls.secret }}{{ end -}}
{{- end -}}

{{/* What all pods have in common, from securityContext to nodeSelector. Takes the root. */}}
{{- define "css.podBasics" -}}
automountServiceAccountToken: false
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
enableServiceLinks: false
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
{{- if include "css.temporalCertificate" . }}
  - name: temporal-tls
    secret: { secretName: {{ .Values.temporal.tls.secret }}, defaultMode: 0444 }
{{- end }}
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What all containers have in common. Takes the root. */}}
{{- define "css.containerBasics" -}}
image: "{{ .Values.image.repository }}:{{ include "css.tag" . }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
envFrom:
  - secretRef: { name: {{ required "existingSecret: name the Secret with DATABASE_URL and SECRETS_KEYS" .Values.existingSecret }} }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- if include "css.temporalCertificate" . }}
  - { name: temporal-tls, mountPath: /etc/temporal-tls, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Variables of every process. Takes the root. */}}
{{- define "css.env" -}}
- name: TEMPORAL_ADDRESS
  value: {{ required "temporal.address: host:port of Temporal" .Values.temporal.address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .Values.temporal.namespace | quote }}
{{- with .Values.temporal.tls }}
{{- if .enabled }}
- name: TEMPORAL_TLS
  value: "true"
{{- if .secret }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /etc/temporal-tls/tls.crt
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /etc/temporal-tls/tls.key
{{- if .ca }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /etc/temporal-tls/ca.crt
{{- end }}
{{- end }}
{{- with .serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.publicUrl }}
- name: PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- if .Values.metrics.enabled }}
- name: METRICS_PORT
  value: {{ .Values.metrics.port | quote }}
{{- end }}
{{- if .Values.workerVersioning.enabled }}
- name: CSS_DEPLOYMENT_NAME
  value: {{ .Values.workerVersioning.deploymentName | default (include "css.fullname" .) | quote }}
- name: CSS_BUILD_ID
  value: {{ include "css.build" . | quote }}
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* A process that is silent for 5 s is replaced; at its start it has 60 s. Takes (dict "port" name "live" path "ready" path). */}}
{{- define "css.probes" -}}
startupProbe:
  httpGet: { path: {{ .live }}, port: {{ .port }} }
  periodSeconds: 1
  timeoutSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: {{ .live }}, port: {{ .port }} }
  periodSeconds: 1
  timeoutSeconds: 1
  failureThreshold: 5
readinessProbe:
  httpGet: { path: {{ .ready }}, port: {{ .port }} }
  periodSeconds: 2
  # The process itself gives its database 2 s.
  timeoutSeconds: 3
  failureThreshold: 3
{{- end -}}

{{- define "css.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "css.selector" . | nindent 8 }}
{{- end -}}
