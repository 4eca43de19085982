{{/* What things are called, and how they are found. */}}

{{- define "pointsman.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* The Service's name, and the beginning of all others; with the longest ending, -operator, it
     stays within the 63 characters of a DNS label. Dots, which a release may have, become hyphens. */}}
{{- define "pointsman.fullname" -}}
{{- $name := include "pointsman.name" . }}
{{- $own := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- $full := .Values.fullnameOverride | default $own | replace "." "-" | trunc 52 | trimSuffix "-" }}
{{- if not (regexMatch "^[a-z]" $full) }}
{{- fail (printf "fullnameOverride must be set where the release's name begins with a digit: a Service %s would be refused" $full) }}
{{- end }}
{{- $full }}
{{- end }}

{{/* Cluster-scoped names, and those in other releases' namespaces: a colon is in neither half, so
     that no two releases share one. */}}
{{- define "pointsman.farname" -}}
{{ .Release.Namespace }}:{{ include "pointsman.fullname" . }}-operator
{{- end }}

{{- define "pointsman.selector" -}}
app.kubernetes.io/name: {{ include "pointsman.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "pointsman.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "pointsman.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: pointsman
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{/* The account of a component: ours, or the one that it is given. */}}
{{- define "pointsman.account" -}}
{{- $account := (index .root.Values .component).serviceAccount }}
{{- if not (or $account.create $account.name) }}
{{- fail (printf "%s.serviceAccount.name must name the account to use where %s.serviceAccount.create is false" .component .component) }}
{{- end }}
{{- $account.name | default (printf "%s-%s" (include "pointsman.fullname" .root) .component) }}
{{- end }}

{{/* Which image all containers run. */}}
{{- define "pointsman.image" -}}
{{- with .Values.image }}
{{- if not .repository }}
{{- fail "image.repository must name the image to run, for example --set image.repository=registry.example/pointsman: none is published, README.md says how to build it" }}
{{- end }}
{{- if .digest }}
{{- .repository }}@{{ .digest }}
{{- else }}
{{- .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}
